/**
 * How a container comes and goes on the machine. Each part bears being called again, after a kill of this process at any line: what is there
 * is found, not remembered.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, rmdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import { mountPoints } from '../../mounts.ts';
import type { Volumes } from '../../volumes/volumes.ts';
import { bundleConfig } from './bundle.ts';
import { outOfMemoryCount, outOfMemoryFile, processesIn, removeCgroup } from './cgroups.ts';
import { type Description, hashOf } from './description.ts';
import type { FrozenContainers } from './frozen-containers.ts';
import { type Attachment, ensureNetwork, leaveNetwork, liftRestriction, readAttachment, reserveAddress } from './networks.ts';
import type { Outputs } from './output.ts';
import {
  type RuntimeFolders,
  bundleOf,
  cgroupOf,
  cgroupParentOf,
  durableOf,
  earlierNetnsOf,
  entriesOf,
  makeFolder,
  netnsOf,
  readText,
  rootOf,
  scratchOf,
  usersOf,
  vethOf,
  writeWhole,
} from './runtime-folders.ts';
import { lastSteps, linkSteps, mountSteps, namespaceSteps, rootSteps, socketOutside } from './prepare.ts';
import type { Preparers } from './preparers.ts';
import { type Programs, processStart, signalProcess, waitUntil } from './processes.ts';
import {
  exitFile,
  monitorOf,
  outOfMemoryMark,
  previousExit,
  previousOutOfMemory,
  restarterOf,
  runningOf,
  socketFile,
  tokenFile,
  worksOn,
} from './state.ts';
import { removeEach } from './remove-each.ts';
import type { OneAtATime } from '../../../kernel/limits.ts';

export interface Machine {
  folders: RuntimeFolders;
  programs: Programs;
  preparers: Preparers;
  volumes: Volumes;
  queues: OneAtATime;
  outputs: Outputs;
  frozen: FrozenContainers;
}

export const networksQueue = '/networks';
export const monitorsOf = (folders: RuntimeFolders) => `${cgroupParentOf(folders)}-monitors`;
const killMillisecondsMax = 10_000;
const restarterMillisecondsMax = 20_000;
const monitorMillisecondsMax = 10_000;

/** Starts the container and returns, without waiting until it is ready. */
export async function startContainer(machine: Machine, description: Description): Promise<void> {
  const { folders } = machine;
  const { name } = description;
  const bundle = bundleOf(folders, name);
  forgetLastEnd(folders, name);
  makeFolder(bundle, 0o711);
  symlinkSync(durableOf(folders, name), join(bundle, 'durable'));
  symlinkSync(outOfMemoryFile(cgroupOf(folders, name)), join(bundle, 'memory-events'));
  // One at a time: a network that is just being taken down would take the reserved address along.
  const attachment = await machine.queues.run(networksQueue, async () => reserveAddress(folders, description));
  const token = randomBytes(8).toString('hex');
  const launch = ['sh', folders.launcher, 'first', bundle, token, description.restart];
  const preparer = machine.preparers.take();
  const { code, said } = await preparer.tell(async (write) => {
    write(namespaceSteps(folders, description, attachment));
    await together(preparer.joined, prepare(machine, description, attachment, write));
    writeFileSync(join(bundle, 'launched'), `${hashOf(description)} ${token}`);
    write(lastSteps(launch));
  });
  if (code !== 0) throw failedLaunch(description, said);
}

async function prepare(machine: Machine, description: Description, attachment: Attachment, write: (steps: string) => void) {
  const { folders, programs } = machine;
  const joinNetwork = async () => {
    await machine.queues.run(networksQueue, () => ensureNetwork(folders, programs, description, attachment));
    write(linkSteps(folders, description, attachment));
    write(rootSteps(folders, description, attachment));
    writeConfig(folders, description, attachment.slot);
  };
  const [scratch] = await together(ensureScratch(machine, description), joinNetwork());
  const socket = socketOutside(description, scratch);
  if (socket !== undefined) writeFileSync(socketFile(folders, description.name), socket);
  write(mountSteps(description, scratch));
}

/** Like Promise.all, but it fails only when both have ended: what they did is taken back then. */
async function together<First, Second>(first: Promise<First>, second: Promise<Second>): Promise<[First, Second]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

export function writeConfig(folders: RuntimeFolders, description: Description, slot: number) {
  const { name } = description;
  const file = join(bundleOf(folders, name), 'config.json');
  // A container that an earlier version started keeps its namespace where that version put it.
  const earlier = earlierNetnsOf(folders, name);
  const netns = readText(file)?.includes(JSON.stringify(earlier)) ? earlier : netnsOf(folders, name);
  writeWhole(file, JSON.stringify(bundleConfig(folders, description, slot, netns)));
}

/** The hash of the description that was launched, and the word for the token file. */
export function launchedAs(folders: RuntimeFolders, name: string): { hash?: string | undefined; token?: string | undefined } {
  const [hash, token] = (readText(join(bundleOf(folders, name), 'launched')) ?? '').split(' ');
  return { hash, token };
}

async function ensureScratch({ folders, volumes }: Machine, { name, writable, limits }: Description): Promise<string | undefined> {
  if (writable.length === 0) return undefined;
  return (await volumes.create(scratchOf(folders, name), limits.diskBytes)).path;
}

function failedLaunch({ name, limits, workingFolder }: Description, said: string): Problem {
  // The monitor's message quotes runc's words, which hold quotes themselves.
  const reason = said.replaceAll(/\\+n?/g, '');
  if (/OOM|limit too low|cannot allocate memory/i.test(reason))
    return new Problem('unavailable', `${name} cannot start with ${limits.memoryBytes} bytes of memory; raise the limit.`, {
      internal: reason,
    });
  if (/mkdir .*read-only/.test(reason))
    return new Problem('unavailable', `${name} could not be started: its working folder ${workingFolder} is not in the image.`);
  const words = /.*(?:create failed|container process|container init): (.*?)"*\s*\}?\s*$/s.exec(reason)?.[1] ?? reason;
  return new Problem('unavailable', `${name} could not be started: ${words}`, { internal: said });
}

function forgetLastEnd(folders: RuntimeFolders, name: string) {
  mkdirSync(join(durableOf(folders, name), 'exit'), { recursive: true });
  for (const [now, previous] of [
    [exitFile(folders, name), previousExit(folders, name)],
    [outOfMemoryMark(folders, name), previousOutOfMemory(folders, name)],
  ] as const) {
    if (existsSync(now)) renameSync(now, previous);
    else rmSync(previous, { force: true });
  }
  for (const file of ['restarts', 'restarts.new']) rmSync(join(durableOf(folders, name), file), { force: true });
}

/** No process of it is left when this returns, and none will start. */
export async function stopContainer({ folders, programs, frozen }: Machine, name: string, stop: Description['stop'] | undefined) {
  const bundle = bundleOf(folders, name);
  rmSync(tokenFile(folders, name), { force: true });
  await endRestarter(bundle);
  const running = runningOf(folders, name);
  if (running) {
    frozen.thaw(cgroupOf(folders, name));
    const ended = () => processStart(running.pid) === undefined;
    if (stop) signalProcess(running.pid, stop.signal);
    if (!stop || !(await waitUntil(ended, stop.secondsMax * 1000))) signalProcess(running.pid, 'SIGKILL');
    await waitUntil(ended, killMillisecondsMax);
  }
  if (outOfMemoryCount(cgroupOf(folders, name)) > 0) writeFileSync(outOfMemoryMark(folders, name), '');
  // Done under the lock, as a restart may have come this far before its token was gone.
  if (existsSync(join(folders.runcRoot, name)))
    await programs.run('flock', [
      existsSync(bundle) ? join(bundle, 'lock') : join(folders.runFolder, 'lock'),
      'runc',
      '--root',
      folders.runcRoot,
      'delete',
      '--force',
      '--',
      name,
    ]);
  await endMonitor(bundle);
}

/** A restarter ends at once between two starts; in the middle of a start it finishes that first. */
async function endRestarter(bundle: string) {
  const pid = restarterOf(bundle);
  const gone = () => !worksOn(pid, bundle);
  if (gone()) return;
  signalProcess(pid, 'SIGTERM');
  await waitUntil(gone, restarterMillisecondsMax);
}

/** A monitor ends by itself once it has written down how the container ended. */
async function endMonitor(bundle: string) {
  const pid = monitorOf(bundle);
  const gone = () => !worksOn(pid, bundle);
  if (await waitUntil(gone, monitorMillisecondsMax)) return;
  signalProcess(pid, 'SIGKILL');
  await waitUntil(gone, killMillisecondsMax);
}

/**
 * Leaves nothing of it on the machine but the description, the logs and how it ended. What others of the machine keep from being removed does not
 * stop the rest: it is told at the end, and whoever calls again finds only that.
 */
export async function clearContainer(machine: Machine, name: string, stop: Description['stop'] | undefined) {
  const { folders, programs, volumes } = machine;
  const attachment = readAttachment(folders, name);
  const stopping = stopContainer(machine, name, stop);
  await stopping.catch(() => {});
  await killRest(name, cgroupOf(folders, name));
  await removeEach(`what runs for ${name}`, [
    [() => stopping],
    [() => unmountAll(machine, name), () => attachment && removeLink(machine, attachment)],
    [() => machine.queues.run(networksQueue, () => liftRestriction(folders, programs, name))],
    [() => removeBundle(folders, name)],
    [() => [cgroupOf(folders, name), cgroupParentOf(folders)].forEach(removeCgroup)],
    [() => endWithTheLast(machine)],
    [
      () => volumes.remove(scratchOf(folders, name)),
      () => attachment && machine.queues.run(networksQueue, () => leaveNetwork(folders, programs, attachment)),
    ],
  ]);
}

async function removeLink({ folders, programs }: Machine, { slot, host }: Attachment) {
  const link = vethOf(folders, slot, host);
  // The link goes together with the namespace at its other end, perhaps meanwhile.
  if (existsSync(`/sys/class/net/${link}`)) await programs.attempt('ip', ['link', 'delete', link]);
}

/** Ends what only runs for containers, where there are none. A container that is about to start has its bundle already. */
async function endWithTheLast({ folders, preparers, frozen }: Machine) {
  const isLast = () => entriesOf(folders.runContainers).length === 0;
  if (isLast()) await Promise.all([preparers.close(), frozen.close()]);
  if (isLast()) removeCgroup(monitorsOf(folders));
}

/** Kills processes that runc no longer knows about, because it was killed itself: what a process still uses must not be taken away. */
async function killRest(name: string, cgroup: string) {
  const isOver = await waitUntil(() => {
    const pids = processesIn(cgroup);
    for (const pid of pids) signalProcess(pid, 'SIGKILL');
    return pids.length === 0;
  }, killMillisecondsMax);
  if (!isOver) throw new Error(`Processes of ${name} do not end: ${processesIn(cgroup).join(', ')}`);
}

/** How many mounts may lie on top of each other, where others have mounted folders that ours are in. */
const mountsMax = 16;

async function unmountAll({ folders, programs }: Machine, name: string) {
  const netns = [netnsOf(folders, name), earlierNetnsOf(folders, name)];
  const paths = [rootOf(folders, name), usersOf(folders, name), ...netns];
  for (let count = 0; count < mountsMax; count++) {
    const mounted = paths.filter((path) => mountPoints().includes(path));
    if (mounted.length === 0) break;
    // A mount that others have covered is listed but cannot be reached; what cannot be unmounted now is found by the next attempt.
    const { code } = await programs.attempt('umount', ['--recursive', '--lazy', '--', ...mounted]);
    if (code !== 0) break;
  }
  removeNamespaceFile(earlierNetnsOf(folders, name));
}

/** Whether the root that the container would be started again from is still mounted; somebody may have unmounted it, and then it has to be made anew. */
export function isMounted(folders: RuntimeFolders, name: string): boolean {
  const mounted = new Set(mountPoints());
  const netns = [netnsOf(folders, name), earlierNetnsOf(folders, name)];
  return [rootOf(folders, name), usersOf(folders, name)].every((path) => mounted.has(path)) && netns.some((path) => mounted.has(path));
}

/** Removes the namespace file of an earlier version. Where others have mounted something over its folder it cannot be removed; an empty file is in nobody's way. */
function removeNamespaceFile(path: string) {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && ['ENOENT', 'EBUSY'].includes(String(error.code)))) throw error;
  }
}

/** The root goes first, and only if it is empty: below it volumes may still be mounted, and removing a tree would go into them. */
export function removeBundle(folders: RuntimeFolders, name: string) {
  const root = rootOf(folders, name);
  if (existsSync(root)) rmdirSync(root);
  rmSync(bundleOf(folders, name), { recursive: true, force: true });
}
