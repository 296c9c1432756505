/**
 * The root file system of a container and its place in the network, as the machine has them before runc starts anything.
 *
 * The root is a read-only union of the image, a layer with our init, our df and mount points, and one with what this container needs beside. Volumes
 * are mounted below it so that the users they know on disk are the users inside, whichever range of the machine stands for them.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import { firstUserOf, initPath } from './bundle.ts';
import { type Description, folderOf } from './description.ts';
import { filesAt, filesFolder, linkFiles, writeFiles } from './files.ts';
import { type Attachment, linkBatches, namesAt, namesFolder } from './networks.ts';
import { type RuntimeFolders, bundleOf, layerLinks, makeFolder, netnsOf, rootOf, usersOf, writeWhole } from './runtime-folders.ts';

const init = '/usr/bin/tini-static';
/** Our programs inside containers, by where they are found there. */
const basePrograms: Record<string, string> = {
  [init]: initPath,
  [join(import.meta.dirname, 'df.sh')]: '/usr/local/bin/df',
  [join(import.meta.dirname, 'df.pl')]: '/.offshoot/df.pl',
};
const linksMax = 20;
/** Of /etc/passwd and /etc/group. */
const nameFileBytesMax = 1024 ** 2;

/** Made once for all containers; the layer is whole or absent. */
export function ensureBaseLayer(folders: RuntimeFolders) {
  if (existsSync(folders.baseLayer)) return;
  if (!existsSync(init)) throw new Error(`${init} is missing: apt-get install tini`);
  const scratch = `${folders.baseLayer}.new`;
  rmSync(scratch, { recursive: true, force: true });
  for (const folder of ['', 'proc', 'dev', 'etc', 'usr', 'usr/local', 'usr/local/bin', dirname(namesAt), namesAt])
    makeFolder(join(scratch, folder), 0o755);
  for (const [from, to] of Object.entries(basePrograms)) {
    copyFileSync(from, join(scratch, to));
    chmodSync(join(scratch, to), 0o755);
  }
  for (const file of ['hosts', 'resolv.conf']) symlinkSync(`/${namesAt}/${file}`, join(scratch, 'etc', file));
  renameSync(scratch, folders.baseLayer);
}

interface MountedFolder {
  from: string;
  below?: string | undefined;
  at: string;
  writable: boolean;
}

/** What can begin before anything else is there. */
export const namespaceSteps = (folders: RuntimeFolders, { name }: Description, { slot }: Attachment): string =>
  written([['namespaces', String(firstUserOf(slot)), usersOf(folders, name), netnsOf(folders, name)]]);

/** What can be done once there is a network. */
export function linkSteps(folders: RuntimeFolders, { name }: Description, attachment: Attachment): string {
  const netns = netnsOf(folders, name);
  const { inside, outside } = linkBatches(folders, netns, attachment);
  return written([['links', outside, netns, inside, join(bundleOf(folders, name), 'links')]]);
}

/** The program that starts the container follows. */
export const lastSteps = (argv: readonly string[]): string => written([['go', String(argv.length), ...argv]]);

const written = (steps: readonly string[][]) =>
  steps
    .flat()
    .map((word) => `${word}\0`)
    .join('');

/** Makes what files can make of the root, and gives the steps for the rest. */
export function rootSteps(folders: RuntimeFolders, description: Description, { slot }: Attachment): string {
  const { name } = description;
  const layers = checkedLayers(description);
  const top = join(bundleOf(folders, name), 'top');
  const mountPoints = [...description.writable, ...description.mounts.map(({ at }) => at)].map((at) => resolveInside(layers, at));
  const root = rootOf(folders, name);
  mkdirSync(root, { recursive: true });
  const first = firstUserOf(slot);
  chownSync(dirname(root), first, first);
  chmodSync(dirname(root), 0o700);
  makeFolder(top, 0o755);
  for (const at of mountPoints) if (!mountPoints.some((other) => isBelow(at, other))) makeMountPoint(layers, top, at);
  writeNameFiles(description, layers, top);
  if (description.files) {
    for (const folder of [dirname(filesAt), filesAt]) makeFolder(join(top, folder), 0o755);
    writeFiles(folders, description);
  }
  return written([
    ['overlay', root, ...linkLayers(folders, name, [top, folders.baseLayer, ...layers])],
    ['show', namesFolder(folders, description), namesAt],
    ...(description.files ? [['show', filesFolder(folders, name), filesAt]] : []),
  ]);
}

/** Links layers under short names: a container can read the names that its root was mounted by, and they must tell nothing about the machine. */
function linkLayers(folders: RuntimeFolders, name: string, layers: readonly string[]): [folder: string, lower: string] {
  const folder = layerLinks(bundleOf(folders, name));
  mkdirSync(folder);
  for (const [index, layer] of layers.entries()) symlinkSync(layer, join(folder, String(index)));
  return [folder, layers.map((_, index) => index).join(':')];
}

/** `scratch` is the folder that those that can be written to share. */
export function mountSteps(description: Description, scratch: string | undefined): string {
  const layers = description.layers.toReversed();
  const mounts = [...scratchFolders(description, scratch), ...description.mounts]
    .map((mount) => ({ ...mount, at: resolveInside(layers, mount.at) }))
    .sort((a, b) => a.at.split('/').length - b.at.split('/').length);
  return written(mounts.flatMap((mount) => [nestedStep(mounts, mount), mountStep(mount)]));
}

function checkedLayers({ name, layers, mounts }: Description): string[] {
  const missing = layers.find((layer) => !existsSync(layer));
  if (missing !== undefined)
    throw new Problem('unavailable', `The image of ${name} is not there: its layer ${missing} is missing; build the image again.`);
  const absent = mounts.find(({ from }) => !existsSync(from));
  if (absent) throw new Problem('unavailable', `${absent.from}, which ${name} has at ${absent.at}, is not there.`);
  return layers.toReversed();
}

const scratchFolder = (scratch: string, index: number) => join(scratch, String(index));

/** Where the machine finds the container's socket, on a way without links; undefined where it has none. */
export function socketOutside({ socket, writable }: Description, scratch: string | undefined): string | undefined {
  const index = socket === undefined ? undefined : folderOf(writable, socket);
  if (socket === undefined || scratch === undefined || index === undefined) return undefined;
  return join(scratchFolder(realpathSync(scratch), index), basename(socket));
}

/** The folders belong to the container's user, except those that are everybody's, such as /tmp. */
function scratchFolders(description: Description, scratch: string | undefined): MountedFolder[] {
  if (scratch === undefined) return [];
  const { writable, user } = description;
  const folders = writable.map((at, index) => {
    const from = scratchFolder(scratch, index);
    mkdirSync(from, { recursive: true });
    chownSync(from, user.uid, user.gid);
    chmodSync(from, at.endsWith('/tmp') ? 0o1777 : 0o755);
    return { from, at, writable: true };
  });
  linkFiles(
    description,
    folders.map(({ from }) => from),
  );
  return folders;
}

const isBelow = (at: string, other: string) => at.startsWith(`${other}/`);

/** A mount point inside another mount is made in the folder that is mounted there. */
function nestedStep(mounts: readonly MountedFolder[], { at }: MountedFolder): string[] {
  const around = mounts.findLast((other) => isBelow(at, other.at));
  return around ? ['make', around.from, join(around.below ?? '', at.slice(around.at.length + 1))] : [];
}

function mountStep({ from, below, at, writable }: MountedFolder): string[] {
  const mode = writable ? 'rw' : 'ro';
  return below === undefined ? ['mount', from, at.slice(1), mode] : ['mount-below', from, below, at.slice(1), mode];
}

/** What the topmost layer that has the path has there, itself perhaps a link. */
const topmost = (layers: readonly string[], path: string): string | undefined =>
  layers.map((layer) => withoutLinksIn(layer, path)).find((found) => found !== undefined);

/** Undefined where it is not there, or only behind a link: layers of others are hostile, and on this machine their links lead to files of the machine. */
function withoutLinksIn(layer: string, path: string): string | undefined {
  const parts = path.split('/').filter(Boolean);
  let at = layer;
  for (const [index, part] of parts.entries()) {
    at = join(at, part);
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (!found || (index < parts.length - 1 && !found.isDirectory())) return undefined;
  }
  return at;
}

/** Empty where the image has no such file, or something else in its place. */
function textInside(layers: readonly string[], path: string): string {
  const found = topmost(layers, path);
  const file = found === undefined ? undefined : lstatSync(found);
  return found !== undefined && file?.isFile() && file.size <= nameFileBytesMax ? readFileSync(found, 'utf8') : '';
}

/** Where the image's own symbolic links lead: a folder made over one of them would hide what is behind it. */
function resolveInside(layers: readonly string[], path: string, links = 0): string {
  const parts = path.split('/').slice(1);
  for (let count = 1; count <= parts.length; count++) {
    const at = `/${parts.slice(0, count).join('/')}`;
    const found = topmost(layers, at);
    if (found === undefined || !lstatSync(found).isSymbolicLink()) continue;
    if (links >= linksMax) throw new Problem('invalid-request', `${path} leads in a circle in the image; choose another folder.`);
    const target = readlinkSync(found);
    const resolved = normalize(target.startsWith('/') ? target : join(dirname(at), target));
    return resolveInside(layers, join('/', resolved, ...parts.slice(count)), links + 1);
  }
  return path;
}

/** Folders that the image has too keep the mode they have there. */
function makeMountPoint(layers: readonly string[], top: string, at: string) {
  const parts = at.split('/').slice(1);
  for (let count = 1; count <= parts.length; count++) {
    const path = parts.slice(0, count).join('/');
    const found = topmost(layers, path);
    if (existsSync(join(top, path))) continue;
    mkdirSync(join(top, path));
    chmodSync(join(top, path), found === undefined ? 0o755 : lstatSync(found).mode & 0o7777);
  }
}

/** Programs look up in these files who they are, and the addresses of names before they ask the internet. */
function writeNameFiles({ user: { uid, gid }, workingFolder }: Description, layers: readonly string[], top: string) {
  const home = /[:\n]/.test(workingFolder) ? '/' : workingFolder;
  const textOf = (path: string) => textInside(layers, path);
  const etc = join(top, 'etc');
  makeFolder(etc, 0o755);
  const users = textOf('etc/passwd') || 'root:x:0:0:root:/root:/bin/sh\n';
  if (!new RegExp(String.raw`^[^:\n]*:[^:\n]*:${uid}:`, 'm').test(users))
    writeWhole(join(etc, 'passwd'), `${users}app:x:${uid}:${gid}::${home}:/bin/sh\n`, 0o644);
  else if (!textOf('etc/passwd')) writeWhole(join(etc, 'passwd'), users, 0o644);
  const groups = textOf('etc/group') || 'root:x:0:\n';
  if (!new RegExp(String.raw`^[^:\n]*:[^:\n]*:${gid}:`, 'm').test(groups))
    writeWhole(join(etc, 'group'), `${groups}app:x:${gid}:\n`, 0o644);
  if (topmost(layers, 'etc/nsswitch.conf') === undefined) writeWhole(join(etc, 'nsswitch.conf'), 'hosts: files dns\n', 0o644);
}
