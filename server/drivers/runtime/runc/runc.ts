/**
 * Containers by runc, on this machine, with no daemon: each has a monitor of its own (conmon) that outlives us, and everything else about it
 * is in files and in the kernel. What each file here holds is told in its first lines; stack-locations.ts says where things are.
 */
import { existsSync, copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import type { Volumes } from '../../volumes/volumes.ts';
import type { Container, ContainerState, ContainerStats, Limits, OutboundRule, Runtime } from '../runtime.ts';
import { resourcesOf } from './bundle.ts';
import { isFrozen, memoryUsed } from './cgroups.ts';
import { openContainerAt } from './container-at.ts';
import {
  type Description,
  checkAddresses,
  checkDescription,
  checkLimits,
  foundDescription,
  hashOf,
  readDescription,
  writeDescription,
} from './description.ts';
import { endOldExecutions, runInside, startExecution } from './exec.ts';
import { writeFiles } from './files.ts';
import { FrozenContainers } from './frozen-containers.ts';
import { keepDisksTold } from './keep-disks.ts';
import { keepNetworks } from './keep-networks.ts';
import { removeLeftovers } from './leftovers.ts';
import {
  type Machine,
  clearContainer,
  launchedAs,
  monitorsOf,
  networksQueue,
  removeBundle,
  startContainer,
  writeConfig,
} from './lifecycle.ts';
import { keepLogsShort, readLogs } from './logs.ts';
import { keepMonitored } from './monitors.ts';
import { admitPort, changeRestriction, readAttachment } from './networks.ts';
import { openOutputs } from './output.ts';
import {
  type RuntimeFolders,
  type RuntimeFoldersOptions,
  cgroupOf,
  durableOf,
  entriesOf,
  makeFolders,
  openRuntimeFolders,
  readText,
  scratchOf,
} from './runtime-folders.ts';
import { ensureBaseLayer } from './prepare.ts';
import { Preparers } from './preparers.ts';
import { openPrograms, waitUntil } from './processes.ts';
import { waitUntilReady } from './ready.ts';
import { mountRunFolder, unmountRunFolder } from './run-folder.ts';
import { bootedSince, noteBoot } from './network-slots.ts';
import { runningOf, stateOf, tokenFile } from './state.ts';
import { openStatistics, readStatistics } from './statistics.ts';
import { oneAtATime } from '../../../kernel/limits.ts';

export interface RuncOptions extends RuntimeFoldersOptions {
  /** The folder for what must survive a reboot. */
  folder: string;
  /** For the folders that containers can write to. */
  volumes: Volumes;
  /** Variables that every container has, unless it says otherwise. */
  env?: Readonly<Record<string, string>>;
  /** Gets sentences for the operator about what others do to the machine. */
  tell?: (sentence: string) => void;
}

const freezeMillisecondsMax = 5000;

export async function openRuncRuntime({ folder, volumes, env = {}, tell = () => {}, ...where }: RuncOptions): Promise<Runtime> {
  const folders = openRuntimeFolders(folder, where);
  const programs = await openPrograms(join(folder, 'lock'));
  await mountRunFolder(folders, programs);
  makeFolders(folders);
  if (bootedSince(join(folders.runFolder, 'boot'))) forgetBeforeBoot(folders);
  ensureBaseLayer(folders);
  copyFileSync(join(import.meta.dirname, 'launch.sh'), `${folders.launcher}.new`);
  renameSync(`${folders.launcher}.new`, folders.launcher);
  for (const name of entriesOf(folders.runContainers)) endOldExecutions(folders, name);
  const stopRotating = keepLogsShort(folders);
  const queues = oneAtATime();
  const preparers = new Preparers(programs, monitorsOf(folders));
  const outputs = openOutputs(folders);
  const frozen = new FrozenContainers(programs, monitorsOf(folders));
  const machine: Machine = { folders, programs, preparers, volumes, queues, outputs, frozen };
  if (entriesOf(folders.runContainers).length > 0) preparers.startAhead();
  const monitoring = keepMonitored(machine);
  const stopKeepingNetworks = keepNetworks(machine, tell);
  const containerAt = openContainerAt(folders);
  const disks = keepDisksTold(machine, tell);
  /** An ensure that waits is called off by a remove. */
  const waiting = new Map<string, AbortController>();

  return {
    ensure: async (container) => {
      const state = await ensure(machine, { ...container, env: { ...env, ...container.env } }, waiting);
      monitoring.keepOpen(container.name);
      disks.now();
      return state;
    },
    remove: (name) => {
      waiting.get(name)?.abort();
      return queues.run(name, () => removeContainer(machine, name));
    },
    state: async (name) => stateOf(folders, name),
    list: async () => statesOf(folders),
    exec: async (name, command) => startExecution(folders, name, command),
    logs: (name, options) => readLogs(folders, name, options),
    stats: (name) => statsOf(machine, name),
    statistics: openStatistics(folders),
    pause: (name) => queues.run(name, () => pause(machine, name)),
    resume: (name) => queues.run(name, async () => frozen.thaw(cgroupOf(folders, foundDescription(folders, name).name))),
    update: (name, limits) => queues.run(name, () => changeLimits(machine, foundDescription(folders, name), limits)),
    updateFiles: (name, files) => queues.run(name, async () => changeFiles(folders, foundDescription(folders, name), files)),
    updateOutbound: (name, outbound) => queues.run(name, () => changeOutbound(machine, foundDescription(folders, name), outbound)),
    admit: (port) => queues.run(networksQueue, () => admitPort(folders, programs, port)),
    containerAt: async (address) => containerAt(address),
    removeLeftovers: (keep) => removeLeftovers(machine, keep),
    close: async () => {
      stopRotating();
      monitoring.stop();
      await stopKeepingNetworks();
      await disks.stop();
      for (const controller of waiting.values()) controller.abort();
      await queues.over();
      await outputs.close();
      await preparers.close();
      await frozen.close();
      await unmountRunFolder(folders, programs);
      programs.close();
    },
  };
}

const statesOf = (folders: RuntimeFolders): ContainerState[] =>
  entriesOf(folders.containers)
    .map((name) => stateOf(folders, name))
    .filter(({ status }) => status !== 'absent');

/** Opens a way into containers of a runtime that another process may have open. */
export function openRuncInside(folder: string): Pick<Runtime, 'exec' | 'state' | 'list'> {
  const folders = openRuntimeFolders(folder, {});
  return {
    list: async () => statesOf(folders),
    exec: async (name, command) => startExecution(folders, name, command),
    state: async (name) => stateOf(folders, name),
  };
}

/** After a boot no earlier process, mount or namespace can be there, but their numbers and files could be mistaken for present ones. */
function forgetBeforeBoot(folders: RuntimeFolders) {
  for (const name of entriesOf(folders.runContainers)) removeBundle(folders, name);
  for (const folder of [folders.networks, folders.runcRoot])
    for (const entry of entriesOf(folder)) rmSync(join(folder, entry), { recursive: true });
  noteBoot(join(folders.runFolder, 'boot'));
}

async function ensure(machine: Machine, container: Container, waiting: Map<string, AbortController>): Promise<ContainerState> {
  const { folders, queues } = machine;
  const description = checkDescription(container);
  const { name } = description;
  return queues.run(name, async () => {
    const calledOff = new AbortController();
    waiting.set(name, calledOff);
    try {
      await makeSo(machine, description, calledOff.signal);
      return stateOf(folders, name);
    } finally {
      waiting.delete(name);
      if (runningOf(folders, name)) machine.preparers.startAhead();
    }
  });
}

async function makeSo(machine: Machine, description: Description, calledOff: AbortSignal) {
  const { folders } = machine;
  const { name } = description;
  const stored = readDescription(folders, name);
  const same = hasBegun(folders, name) && launchedAs(folders, name).hash === hashOf(description);
  if (same) {
    if (JSON.stringify(stored?.outbound) !== JSON.stringify(description.outbound))
      await changeOutbound(machine, stored ?? description, description.outbound);
    if (JSON.stringify(stored?.limits) !== JSON.stringify(description.limits)) await changeLimits(machine, description, description.limits);
    if (JSON.stringify(stored?.files) !== JSON.stringify(description.files)) changeFiles(folders, description, description.files);
    machine.frozen.thaw(cgroupOf(folders, name));
    if (readText(tokenFile(folders, name)) !== undefined) return;
  }
  try {
    if (!same) {
      await clearContainer(machine, name, stored?.stop);
      writeDescription(folders, description);
      machine.outputs.begin(description);
      await startContainer(machine, description);
    }
    await becomeReady(folders, description, calledOff);
  } catch (error) {
    await clearContainer(machine, name, undefined);
    throw error;
  }
}

/** False for a container whose first process still waits to be let go on, because whoever was to do that was killed. */
const hasBegun = (folders: RuntimeFolders, name: string) =>
  runningOf(folders, name) !== undefined &&
  (readText(tokenFile(folders, name)) !== undefined || !existsSync(join(folders.runcRoot, name, 'exec.fifo')));

async function becomeReady(folders: RuntimeFolders, description: Description, calledOff: AbortSignal) {
  const { name } = description;
  const inside = (argv: readonly string[], millisecondsMax: number) => runInside(folders, name, argv, millisecondsMax);
  await waitUntilReady(folders, description, stateOf(folders, name), inside, calledOff);
  writeFileSync(tokenFile(folders, name), launchedAs(folders, name).token ?? '');
}

async function removeContainer(machine: Machine, name: string) {
  const { folders } = machine;
  const description = readDescription(folders, name);
  await clearContainer(machine, name, description?.stop);
  await machine.outputs.end(name);
  rmSync(durableOf(folders, name), { recursive: true, force: true });
}

async function pause({ folders, frozen }: Machine, name: string) {
  foundDescription(folders, name);
  if (!runningOf(folders, name)) throw new Problem('conflict', `${name} is not running; start it first.`);
  const cgroup = cgroupOf(folders, name);
  await frozen.freeze(cgroup);
  await waitUntil(() => isFrozen(cgroup), freezeMillisecondsMax);
}

/** Limits are written down first: a container that starts again by itself starts with them. */
async function changeLimits({ folders, programs, volumes }: Machine, description: Description, limits: Limits) {
  checkLimits(limits);
  const { name } = description;
  const changed = { ...description, limits };
  const attachment = readAttachment(folders, name);
  if (description.writable.length > 0 && attachment) await resizeScratch(volumes, scratchOf(folders, name), limits.diskBytes);
  if (runningOf(folders, name)) {
    const { code, said } = await programs.attempt(
      'runc',
      ['--root', folders.runcRoot, 'update', '--resources', '-', '--', name],
      JSON.stringify(resourcesOf(limits)),
    );
    if (code !== 0) throw refusedLimits(folders, name, limits, said);
  }
  writeDescription(folders, changed);
  if (attachment) writeConfig(folders, changed, attachment.slot);
}

/** What the container has written is not taken away: a smaller limit only keeps it from writing more. */
async function resizeScratch(volumes: Volumes, scratch: string, bytesMax: number) {
  const { bytes } = await volumes.usage(scratch);
  await volumes.grow(scratch, Math.max(bytes, bytesMax));
}

/** The rules are written down last: after a kill in between, the change is found to be still to do. */
async function changeOutbound(machine: Machine, description: Description, outbound: readonly OutboundRule[] | undefined) {
  const { folders, programs, queues } = machine;
  const { outbound: _, ...rest } = description;
  const rules = outbound?.map(({ ips, ports }) => ({ ips: [...ips], ports: [...ports] }));
  const changed: Description = { ...rest, ...(rules && { outbound: rules }) };
  checkAddresses(changed);
  if (readAttachment(folders, description.name))
    await queues.run(networksQueue, () => changeRestriction(folders, programs, description.name, outbound));
  writeDescription(folders, changed);
}

/** Links to the container's files were made when it started, so there can be no further files. */
function changeFiles(folders: RuntimeFolders, description: Description, files: Readonly<Record<string, string>> = {}) {
  const known = Object.entries(files).filter(([path]) => description.files && path in description.files);
  const changed = { ...description, files: Object.fromEntries(known) };
  if (description.files && readAttachment(folders, description.name)) writeFiles(folders, changed);
  if (description.files) writeDescription(folders, changed);
}

function refusedLimits(folders: RuntimeFolders, name: string, { memoryBytes }: Limits, said: string): Error {
  const used = memoryUsed(cgroupOf(folders, name));
  if (used < memoryBytes) return new Error(`The limits of ${name} could not be changed: ${said.trim()}`);
  return new Problem(
    'conflict',
    `${name} uses ${used} bytes of memory and cannot be limited to ${memoryBytes}; restart it with less, or give it more.`,
    { internal: said },
  );
}

async function statsOf({ folders, volumes }: Machine, name: string): Promise<ContainerStats> {
  const { writable } = foundDescription(folders, name);
  const statistics = await readStatistics(folders, name);
  if (!statistics) throw new Problem('conflict', `${name} is not running; start it first.`);
  return { ...statistics, diskUsedBytes: writable.length > 0 ? (await volumes.usage(scratchOf(folders, name))).bytes : 0 };
}
