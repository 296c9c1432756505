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
import type { Frozen } from './frozen.ts';
import { type Attachment, ensureNetwork, leaveNetwork, liftRestriction, readAttachment, reserveAddress } from './networks.ts';
import type { Outputs } from './output.ts';
import {
  type Places,
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
} from './places.ts';
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
  places: Places;
  programs: Programs;
  preparers: Preparers;
  volumes: Volumes;
  turns: OneAtATime;
  outputs: Outputs;
  frozen: Frozen;
}

export const networksTurn = '/networks';
export const monitorsOf = (places: Places) => `${cgroupParentOf(places)}-monitors`;
const killMillisecondsMax = 10_000;
const restarterMillisecondsMax = 20_000;
const monitorMillisecondsMax = 10_000;

/** Starts the container and returns, without waiting until it is ready. */
export async function startContainer(machine: Machine, description: Description): Promise<void> {
  const { places } = machine;
  const { name } = description;
  const bundle = bundleOf(places, name);
  forgetLastEnd(places, name);
  makeFolder(bundle, 0o711);
  symlinkSync(durableOf(places, name), join(bundle, 'durable'));
  symlinkSync(outOfMemoryFile(cgroupOf(places, name)), join(bundle, 'memory-events'));
  // In turn: a network that is just being taken down would take the place that was reserved along.
  const attachment = await machine.turns.run(networksTurn, async () => reserveAddress(places, description));
  const token = randomBytes(8).toString('hex');
  const launch = ['sh', places.launcher, 'first', bundle, token, description.restart];
  const preparer = machine.preparers.take();
  const { code, said } = await preparer.tell(async (write) => {
    write(namespaceSteps(places, description, attachment));
    await together(preparer.joined, prepare(machine, description, attachment, write));
    writeFileSync(join(bundle, 'launched'), `${hashOf(description)} ${token}`);
    write(lastSteps(launch));
  });
  if (code !== 0) throw failedLaunch(description, said);
}

async function prepare(machine: Machine, description: Description, attachment: Attachment, write: (steps: string) => void) {
  const { places, programs } = machine;
  const joinNetwork = async () => {
    await machine.turns.run(networksTurn, () => ensureNetwork(places, programs, description, attachment));
    write(linkSteps(places, description, attachment));
    write(rootSteps(places, description, attachment));
    writeConfig(places, description, attachment.slot);
  };
  const [scratch] = await together(ensureScratch(machine, description), joinNetwork());
  const socket = socketOutside(description, scratch);
  if (socket !== undefined) writeFileSync(socketFile(places, description.name), socket);
  write(mountSteps(description, scratch));
}

/** Like Promise.all, but it fails only when both have ended: what they did is taken back then. */
async function together<First, Second>(first: Promise<First>, second: Promise<Second>): Promise<[First, Second]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

export function writeConfig(places: Places, description: Description, slot: number) {
  const { name } = description;
  const file = join(bundleOf(places, name), 'config.json');
  // A container that an earlier version started keeps its namespace where that version put it.
  const earlier = earlierNetnsOf(places, name);
  const netns = readText(file)?.includes(JSON.stringify(earlier)) ? earlier : netnsOf(places, name);
  writeWhole(file, JSON.stringify(bundleConfig(places, description, slot, netns)));
}

/** The hash of the description that was launched, and the word for the token file. */
export function launchedAs(places: Places, name: string): { hash?: string | undefined; token?: string | undefined } {
  const [hash, token] = (readText(join(bundleOf(places, name), 'launched')) ?? '').split(' ');
  return { hash, token };
}

async function ensureScratch({ places, volumes }: Machine, { name, writable, limits }: Description): Promise<string | undefined> {
  if (writable.length === 0) return undefined;
  return (await volumes.create(scratchOf(places, name), limits.diskBytes)).path;
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

function forgetLastEnd(places: Places, name: string) {
  mkdirSync(join(durableOf(places, name), 'exit'), { recursive: true });
  for (const [now, previous] of [
    [exitFile(places, name), previousExit(places, name)],
    [outOfMemoryMark(places, name), previousOutOfMemory(places, name)],
  ] as const) {
    if (existsSync(now)) renameSync(now, previous);
    else rmSync(previous, { force: true });
  }
  for (const file of ['restarts', 'restarts.new']) rmSync(join(durableOf(places, name), file), { force: true });
}

/** No process of it is left when this returns, and none will start. */
export async function stopContainer({ places, programs, frozen }: Machine, name: string, stop: Description['stop'] | undefined) {
  const bundle = bundleOf(places, name);
  rmSync(tokenFile(places, name), { force: true });
  await endRestarter(bundle);
  const running = runningOf(places, name);
  if (running) {
    frozen.thaw(cgroupOf(places, name));
    const ended = () => processStart(running.pid) === undefined;
    if (stop) signalProcess(running.pid, stop.signal);
    if (!stop || !(await waitUntil(ended, stop.secondsMax * 1000))) signalProcess(running.pid, 'SIGKILL');
    await waitUntil(ended, killMillisecondsMax);
  }
  if (outOfMemoryCount(cgroupOf(places, name)) > 0) writeFileSync(outOfMemoryMark(places, name), '');
  // Done under the lock, as a restart may have come this far before its token was gone.
  if (existsSync(join(places.runcRoot, name)))
    await programs.run('flock', [
      existsSync(bundle) ? join(bundle, 'lock') : join(places.runFolder, 'lock'),
      'runc',
      '--root',
      places.runcRoot,
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
  const { places, programs, volumes } = machine;
  const attachment = readAttachment(places, name);
  const stopping = stopContainer(machine, name, stop);
  await stopping.catch(() => {});
  await killRest(name, cgroupOf(places, name));
  await removeEach(`what runs for ${name}`, [
    [() => stopping],
    [() => unmountAll(machine, name), () => attachment && removeLink(machine, attachment)],
    [() => machine.turns.run(networksTurn, () => liftRestriction(places, programs, name))],
    [() => removeBundle(places, name)],
    [() => [cgroupOf(places, name), cgroupParentOf(places)].forEach(removeCgroup)],
    [() => endWithTheLast(machine)],
    [
      () => volumes.remove(scratchOf(places, name)),
      () => attachment && machine.turns.run(networksTurn, () => leaveNetwork(places, programs, attachment)),
    ],
  ]);
}

async function removeLink({ places, programs }: Machine, { slot, host }: Attachment) {
  const link = vethOf(places, slot, host);
  // The link goes together with the namespace at its other end, perhaps meanwhile.
  if (existsSync(`/sys/class/net/${link}`)) await programs.attempt('ip', ['link', 'delete', link]);
}

/** Ends what only runs for containers, where there are none. A container that is about to start has its bundle already. */
async function endWithTheLast({ places, preparers, frozen }: Machine) {
  const isLast = () => entriesOf(places.runContainers).length === 0;
  if (isLast()) await Promise.all([preparers.close(), frozen.close()]);
  if (isLast()) removeCgroup(monitorsOf(places));
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

async function unmountAll({ places, programs }: Machine, name: string) {
  const netns = [netnsOf(places, name), earlierNetnsOf(places, name)];
  const paths = [rootOf(places, name), usersOf(places, name), ...netns];
  for (let count = 0; count < mountsMax; count++) {
    const mounted = paths.filter((path) => mountPoints().includes(path));
    if (mounted.length === 0) break;
    // A mount that others have covered is listed but cannot be reached; what cannot be unmounted now is found by the next attempt.
    const { code } = await programs.attempt('umount', ['--recursive', '--lazy', '--', ...mounted]);
    if (code !== 0) break;
  }
  removeNamespaceFile(earlierNetnsOf(places, name));
}

/** Whether the root that the container would be started again from is still mounted; somebody may have unmounted it, and then it has to be made anew. */
export function isMounted(places: Places, name: string): boolean {
  const mounted = new Set(mountPoints());
  const netns = [netnsOf(places, name), earlierNetnsOf(places, name)];
  return [rootOf(places, name), usersOf(places, name)].every((path) => mounted.has(path)) && netns.some((path) => mounted.has(path));
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
export function removeBundle(places: Places, name: string) {
  const root = rootOf(places, name);
  if (existsSync(root)) rmdirSync(root);
  rmSync(bundleOf(places, name), { recursive: true, force: true });
}
