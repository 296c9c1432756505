/**
 * Where things of one runtime are, and what they are called on the machine. Every name carries the instance, so that several platforms on
 * one machine never touch each other's.
 *
 *     <folder>/instance                          who we are
 *     <folder>/lock                              held while the runtime is open, and by what it started and has not ended
 *     <folder>/containers/<name>/                the description, logs, how it last ended: survives a reboot
 *     <run folder>/                              a file system in memory (run-folder.ts)
 *     <run folder>/containers/<name>/            the OCI bundle and what runs: as good as gone after a reboot
 *     <run folder>/networks/<network>/           its number, and the hosts file of its containers
 *     /run/offshoot/slots/<number>               whose network has which addresses and user ids, for the whole machine
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface RuntimeFolders {
  readonly instance: string;
  readonly folder: string;
  readonly runFolder: string;
  readonly containers: string;
  readonly runContainers: string;
  readonly networks: string;
  /** The folder in which runc keeps its state. */
  readonly runcRoot: string;
  /** The layer above the image in every root: mount points and programs of ours. */
  readonly baseLayer: string;
  readonly launcher: string;
  readonly allowPrivateAddresses: readonly string[];
}

/** Raised when the base layer changes: containers of an earlier version go on with theirs. */
const baseVersion = 2;

const runFolderOf = (instance: string) => join('/run/offshoot', instance);
export const slotsFolder = '/run/offshoot/slots';
/** Where earlier versions kept network namespaces. The folder belongs to nobody, and anybody's first `ip netns add` mounts all that is in it a second time. */
export const earlierNetnsFolder = '/run/netns';

export interface RuntimeFoldersOptions {
  /** The folder for what need not survive a reboot; by default under /run. */
  runFolder?: string;
  /** Six letters or digits; where absent, made up and kept in the folder. */
  instance?: string;
  /** Addresses and networks that containers reach although they are not public. Those of IPv6 lead nowhere, like all of IPv6. */
  allowPrivateAddresses?: readonly string[];
}

export function openRuntimeFolders(folder: string, options: RuntimeFoldersOptions): RuntimeFolders {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const instance = options.instance ?? readInstance(join(folder, 'instance'));
  const runFolder = options.runFolder ?? runFolderOf(instance);
  return {
    instance,
    folder,
    runFolder,
    containers: join(folder, 'containers'),
    runContainers: join(runFolder, 'containers'),
    networks: join(runFolder, 'networks'),
    runcRoot: join(runFolder, 'runc'),
    baseLayer: join(runFolder, `base-${baseVersion}`),
    launcher: join(runFolder, 'launch.sh'),
    allowPrivateAddresses: options.allowPrivateAddresses ?? [],
  };
}

export function makeFolders(folders: RuntimeFolders) {
  // The root user of a container, who is nobody special on the machine, passes through these to its own root.
  for (const path of [folders.runContainers, folders.networks]) makeFolder(path, 0o711);
  for (const path of [folders.containers, folders.runcRoot]) makeFolder(path, 0o700);
  mkdirSync(slotsFolder, { recursive: true });
}

/** For a runtime that is closed and is to leave nothing behind. The folder stays where there is still a container or a network. */
export function removeRunFolder(folder: string) {
  const runFolder = runFolderOf(readInstance(join(folder, 'instance')));
  const isLeft = ['containers', 'networks'].every((part) => entriesOf(join(runFolder, part)).length === 0);
  if (isLeft) rmSync(runFolder, { recursive: true, force: true });
}

/** One that a power failure has left empty is none. */
function readInstance(file: string): string {
  if (!readText(file)) writeWhole(file, randomBytes(3).toString('hex'));
  return readFileSync(file, 'utf8').trim();
}

/** Makes a folder with this mode, whatever the umask of this process is. */
export function makeFolder(path: string, mode: number) {
  if (mkdirSync(path, { recursive: true, mode }) !== undefined) chmodSync(path, mode);
}

/** A reader sees the old text or the new one, even after a crash of this process. */
export function writeWhole(file: string, text: string, mode = 0o600) {
  writeFileSync(`${file}.new`, text, { mode });
  chmodSync(`${file}.new`, mode);
  renameSync(`${file}.new`, file);
}

export const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR', 'ESRCH', 'ENODEV'].includes(String(error.code)))
      return undefined;
    throw error;
  }
};

export const entriesOf = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

export const durableOf = (folders: RuntimeFolders, name: string) => join(folders.containers, name);
export const bundleOf = (folders: RuntimeFolders, name: string) => join(folders.runContainers, name);
/** The layers that the root of a bundle is made of, by number, the topmost first. */
export const layerLinks = (bundle: string) => join(bundle, 'layers');
/** Only the container's own root user may enter the folder around it. */
export const rootOf = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), rootInBundle);
const rootInBundle = 'private/root';
/** The bundle whose root is mounted there; undefined: it is no root of a container. */
export const bundleOfRoot = (mountPoint: string): string | undefined =>
  mountPoint.endsWith(`/${rootInBundle}`) ? mountPoint.slice(0, -rootInBundle.length - 1) : undefined;
/** Keeps the user namespace. */
export const usersOf = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'users');
/** Keeps the network namespace. */
export const netnsOf = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'network-namespace');
/** The network namespace of a container that an earlier version started. */
export const earlierNetnsOf = (folders: RuntimeFolders, name: string) => join(earlierNetnsFolder, `${earlierNetnsPrefix(folders)}${name}`);
export const earlierNetnsPrefix = (folders: RuntimeFolders) => `offshoot-${folders.instance}-`;
/** Linux allows 15 letters for the name of a bridge. */
export const bridgePrefix = (folders: RuntimeFolders) => `of-${folders.instance}-`;
export const bridgeOf = (folders: RuntimeFolders, slot: number) => `${bridgePrefix(folders)}${slot}`;
export const vethPrefix = (folders: RuntimeFolders) => `ov-${folders.instance}-`;
export const vethOf = (folders: RuntimeFolders, slot: number, host: number) =>
  `${vethPrefix(folders)}${slot.toString(36).padStart(3, '0')}${host.toString(36).padStart(2, '0')}`;
export const scratchPrefix = (folders: RuntimeFolders) => `scratch-${folders.instance}-`;
export const scratchOf = (folders: RuntimeFolders, name: string) => `${scratchPrefix(folders)}${name}`;
/** The path as runc takes it: from the root of each hierarchy. */
export const cgroupParentOf = (folders: RuntimeFolders) => `offshoot-${folders.instance}`;
export const cgroupOf = (folders: RuntimeFolders, name: string) => `${cgroupParentOf(folders)}/${name}`;
