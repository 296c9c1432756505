/**
 * Containers by runc, on this machine, with no daemon: each has a monitor of its own (conmon) that outlives us, and everything else about it
 * is in files and in the kernel. What each file here holds is told in its first lines; stack-places.ts says where things are.
 */
import { existsSync, copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import type { Volumes } from '../../volumes/volumes.ts';
import type { Container, ContainerState, ContainerStats, Limits, OutboundRule, Runtime } from '../runtime.ts';
import { resourcesOf } from './bundle.ts';
import { countersOf, isFrozen, memoryUsed } from './cgroups.ts';
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
import { Frozen } from './frozen.ts';
import { keepDisksTold } from './keep-disks.ts';
import { keepNetworks } from './keep-networks.ts';
import { removeLeftovers } from './leftovers.ts';
import {
  type Machine,
  clearContainer,
  launchedAs,
  monitorsOf,
  networksTurn,
  removeBundle,
  startContainer,
  writeConfig,
} from './lifecycle.ts';
import { keepLogsShort, readLogs } from './logs.ts';
import { keepMonitored } from './monitors.ts';
import { changeRestriction, readAttachment } from './networks.ts';
import { openOutputs } from './output.ts';
import { type Places, type PlacesOptions, cgroupOf, durableOf, entriesOf, makeFolders, openPlaces, readText, scratchOf } from './places.ts';
import { ensureBaseLayer } from './prepare.ts';
import { Preparers } from './preparers.ts';
import { openPrograms, waitUntil } from './processes.ts';
import { waitUntilReady } from './ready.ts';
import { mountRunFolder, unmountRunFolder } from './run-folder.ts';
import { bootedSince, noteBoot } from './slots.ts';
import { runningOf, stateOf, tokenFile } from './state.ts';
import { oneAtATime } from '../../../kernel/limits.ts';

export interface RuncOptions extends PlacesOptions {
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
  const places = openPlaces(folder, where);
  const programs = await openPrograms(join(folder, 'lock'));
  await mountRunFolder(places, programs);
  makeFolders(places);
  if (bootedSince(join(places.runFolder, 'boot'))) forgetBeforeBoot(places);
  ensureBaseLayer(places);
  copyFileSync(join(import.meta.dirname, 'launch.sh'), `${places.launcher}.new`);
  renameSync(`${places.launcher}.new`, places.launcher);
  for (const name of entriesOf(places.runContainers)) endOldExecutions(places, name);
  const stopRotating = keepLogsShort(places);
  const turns = oneAtATime();
  const preparers = new Preparers(programs, monitorsOf(places));
  const outputs = openOutputs(places);
  const frozen = new Frozen(programs, monitorsOf(places));
  const machine: Machine = { places, programs, preparers, volumes, turns, outputs, frozen };
  if (entriesOf(places.runContainers).length > 0) preparers.startAhead();
  const monitoring = keepMonitored(machine);
  const stopKeepingNetworks = keepNetworks(machine, tell);
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
      return turns.run(name, () => removeContainer(machine, name));
    },
    state: async (name) => stateOf(places, name),
    list: async () => statesOf(places),
    exec: async (name, command) => startExecution(places, name, command),
    logs: (name, options) => readLogs(places, name, options),
    stats: (name) => statsOf(machine, name),
    pause: (name) => turns.run(name, () => pause(machine, name)),
    resume: (name) => turns.run(name, async () => frozen.thaw(cgroupOf(places, foundDescription(places, name).name))),
    update: (name, limits) => turns.run(name, () => changeLimits(machine, foundDescription(places, name), limits)),
    updateFiles: (name, files) => turns.run(name, async () => changeFiles(places, foundDescription(places, name), files)),
    updateOutbound: (name, outbound) => turns.run(name, () => changeOutbound(machine, foundDescription(places, name), outbound)),
    removeLeftovers: (keep) => removeLeftovers(machine, keep),
    close: async () => {
      stopRotating();
      monitoring.stop();
      await stopKeepingNetworks();
      await disks.stop();
      for (const controller of waiting.values()) controller.abort();
      await turns.over();
      await outputs.close();
      await preparers.close();
      await frozen.close();
      await unmountRunFolder(places, programs);
      programs.close();
    },
  };
}

const statesOf = (places: Places): ContainerState[] =>
  entriesOf(places.containers)
    .map((name) => stateOf(places, name))
    .filter(({ status }) => status !== 'absent');

/** Opens a way into containers of a runtime that another process may have open. */
export function openRuncInside(folder: string): Pick<Runtime, 'exec' | 'state' | 'list'> {
  const places = openPlaces(folder, {});
  return {
    list: async () => statesOf(places),
    exec: async (name, command) => startExecution(places, name, command),
    state: async (name) => stateOf(places, name),
  };
}

/** After a boot no earlier process, mount or namespace can be there, but their numbers and files could be mistaken for present ones. */
function forgetBeforeBoot(places: Places) {
  for (const name of entriesOf(places.runContainers)) removeBundle(places, name);
  for (const folder of [places.networks, places.runcRoot])
    for (const entry of entriesOf(folder)) rmSync(join(folder, entry), { recursive: true });
  noteBoot(join(places.runFolder, 'boot'));
}

async function ensure(machine: Machine, container: Container, waiting: Map<string, AbortController>): Promise<ContainerState> {
  const { places, turns } = machine;
  const description = checkDescription(container);
  const { name } = description;
  return turns.run(name, async () => {
    const calledOff = new AbortController();
    waiting.set(name, calledOff);
    try {
      await makeSo(machine, description, calledOff.signal);
      return stateOf(places, name);
    } finally {
      waiting.delete(name);
      if (runningOf(places, name)) machine.preparers.startAhead();
    }
  });
}

async function makeSo(machine: Machine, description: Description, calledOff: AbortSignal) {
  const { places } = machine;
  const { name } = description;
  const stored = readDescription(places, name);
  const same = hasBegun(places, name) && launchedAs(places, name).hash === hashOf(description);
  if (same) {
    if (JSON.stringify(stored?.outbound) !== JSON.stringify(description.outbound))
      await changeOutbound(machine, stored ?? description, description.outbound);
    if (JSON.stringify(stored?.limits) !== JSON.stringify(description.limits)) await changeLimits(machine, description, description.limits);
    if (JSON.stringify(stored?.files) !== JSON.stringify(description.files)) changeFiles(places, description, description.files);
    machine.frozen.thaw(cgroupOf(places, name));
    if (readText(tokenFile(places, name)) !== undefined) return;
  }
  try {
    if (!same) {
      await clearContainer(machine, name, stored?.stop);
      writeDescription(places, description);
      machine.outputs.begin(description);
      await startContainer(machine, description);
    }
    await becomeReady(places, description, calledOff);
  } catch (error) {
    await clearContainer(machine, name, undefined);
    throw error;
  }
}

/** False for a container whose first process still waits to be let go on, because whoever was to do that was killed. */
const hasBegun = (places: Places, name: string) =>
  runningOf(places, name) !== undefined &&
  (readText(tokenFile(places, name)) !== undefined || !existsSync(join(places.runcRoot, name, 'exec.fifo')));

async function becomeReady(places: Places, description: Description, calledOff: AbortSignal) {
  const { name } = description;
  const inside = (argv: readonly string[], millisecondsMax: number) => runInside(places, name, argv, millisecondsMax);
  await waitUntilReady(places, description, stateOf(places, name), inside, calledOff);
  writeFileSync(tokenFile(places, name), launchedAs(places, name).token ?? '');
}

async function removeContainer(machine: Machine, name: string) {
  const { places } = machine;
  const description = readDescription(places, name);
  await clearContainer(machine, name, description?.stop);
  await machine.outputs.end(name);
  rmSync(durableOf(places, name), { recursive: true, force: true });
}

async function pause({ places, frozen }: Machine, name: string) {
  foundDescription(places, name);
  if (!runningOf(places, name)) throw new Problem('conflict', `${name} is not running; start it first.`);
  const cgroup = cgroupOf(places, name);
  await frozen.freeze(cgroup);
  await waitUntil(() => isFrozen(cgroup), freezeMillisecondsMax);
}

/** Limits are written down first: a container that starts again by itself starts with them. */
async function changeLimits({ places, programs, volumes }: Machine, description: Description, limits: Limits) {
  checkLimits(limits);
  const { name } = description;
  const changed = { ...description, limits };
  const attachment = readAttachment(places, name);
  if (description.writable.length > 0 && attachment) await resizeScratch(volumes, scratchOf(places, name), limits.diskBytes);
  if (runningOf(places, name)) {
    const { code, said } = await programs.attempt(
      'runc',
      ['--root', places.runcRoot, 'update', '--resources', '-', '--', name],
      JSON.stringify(resourcesOf(limits)),
    );
    if (code !== 0) throw refusedLimits(places, name, limits, said);
  }
  writeDescription(places, changed);
  if (attachment) writeConfig(places, changed, attachment.slot);
}

/** What the container has written is not taken away: a smaller limit only keeps it from writing more. */
async function resizeScratch(volumes: Volumes, scratch: string, bytesMax: number) {
  const { bytes } = await volumes.usage(scratch);
  await volumes.grow(scratch, Math.max(bytes, bytesMax));
}

/** The rules are written down last: after a kill in between, the change is found to be still to do. */
async function changeOutbound(machine: Machine, description: Description, outbound: readonly OutboundRule[] | undefined) {
  const { places, programs, turns } = machine;
  const { outbound: _, ...rest } = description;
  const rules = outbound?.map(({ ips, ports }) => ({ ips: [...ips], ports: [...ports] }));
  const changed: Description = { ...rest, ...(rules && { outbound: rules }) };
  checkAddresses(changed);
  if (readAttachment(places, description.name))
    await turns.run(networksTurn, () => changeRestriction(places, programs, description.name, outbound));
  writeDescription(places, changed);
}

/** Links to the container's files were made when it started, so there can be no further files. */
function changeFiles(places: Places, description: Description, files: Readonly<Record<string, string>> = {}) {
  const known = Object.entries(files).filter(([path]) => description.files && path in description.files);
  const changed = { ...description, files: Object.fromEntries(known) };
  if (description.files && readAttachment(places, description.name)) writeFiles(places, changed);
  if (description.files) writeDescription(places, changed);
}

function refusedLimits(places: Places, name: string, { memoryBytes }: Limits, said: string): Error {
  const used = memoryUsed(cgroupOf(places, name));
  if (used < memoryBytes) return new Error(`The limits of ${name} could not be changed: ${said.trim()}`);
  return new Problem(
    'conflict',
    `${name} uses ${used} bytes of memory and cannot be limited to ${memoryBytes}; restart it with less, or give it more.`,
    { internal: said },
  );
}

async function statsOf({ places, volumes }: Machine, name: string): Promise<ContainerStats> {
  const { writable } = foundDescription(places, name);
  const running = runningOf(places, name);
  if (!running) throw new Problem('conflict', `${name} is not running; start it first.`);
  const scratch = scratchOf(places, name);
  const link = /^\s*eth0:\s*(\d+)(?:\s+\d+){7}\s+(\d+)/m.exec(readText(`/proc/${running.pid}/net/dev`) ?? '');
  return {
    ...countersOf(cgroupOf(places, name)),
    diskUsedBytes: writable.length > 0 ? (await volumes.usage(scratch)).bytes : 0,
    networkReceivedBytes: Number(link?.[1] ?? 0),
    networkSentBytes: Number(link?.[2] ?? 0),
  };
}
