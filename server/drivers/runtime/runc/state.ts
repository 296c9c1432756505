/** What a container is doing, read from files: a hundred of them are listed without starting a process. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerState, ContainerStatus } from '../runtime.ts';
import { isFrozen, outOfMemoryCount } from './cgroups.ts';
import { type Description, readDescription } from './description.ts';
import { attachedAddress, readAttachment } from './networks.ts';
import { type Places, bundleOf, cgroupOf, durableOf, readText } from './places.ts';
import { commandOf, processStart } from './processes.ts';

export interface Running {
  pid: number;
  startedAt: Date;
}

/** What runc writes at the beginning of its own state. */
const runcState = /"init_process_pid":(\d+),"init_process_start":(\d+),"created":"([^"]+)"/;

/** Undefined: no process of the container is alive. */
export function runningOf(places: Places, name: string): Running | undefined {
  const [, pid, start, created = ''] = runcState.exec(readText(join(places.runcRoot, name, 'state.json')) ?? '') ?? [];
  if (pid === undefined || processStart(Number(pid)) !== Number(start)) return undefined;
  return { pid: Number(pid), startedAt: new Date(created) };
}

/** Written when the container has become ready; without it nobody starts the container again. */
export const tokenFile = (places: Places, name: string) => join(bundleOf(places, name), 'token');
/** Says where the machine finds the container's socket. */
export const socketFile = (places: Places, name: string) => join(bundleOf(places, name), 'socket');
const monitorFile = (bundle: string) => join(bundle, 'monitor-pid');
export const monitorOf = (bundle: string) => Number(readText(monitorFile(bundle)));
export const noteMonitor = (bundle: string, pid: number) => writeFileSync(monitorFile(bundle), String(pid));
/** The process of launch.sh, while it starts a container again. */
export const restarterOf = (bundle: string) => Number(readText(join(bundle, 'restarter')));
/** Whether the process is still the one that works on the bundle: another may have its number by now. */
export const worksOn = (pid: number, bundle: string) => pid > 0 && commandOf(pid).includes(`${bundle}\0`);
/** Whether somebody will see how the container ends, and start it again. */
export function isMonitored(places: Places, name: string): boolean {
  const bundle = bundleOf(places, name);
  return worksOn(monitorOf(bundle), bundle) || worksOn(restarterOf(bundle), bundle);
}
export const exitFile = (places: Places, name: string) => join(durableOf(places, name), 'exit', name);
export const outOfMemoryMark = (places: Places, name: string) => join(durableOf(places, name), 'out-of-memory');
export const previousExit = (places: Places, name: string) => join(durableOf(places, name), 'previous-exit');
export const previousOutOfMemory = (places: Places, name: string) => join(durableOf(places, name), 'previous-out-of-memory');

export function stateOf(places: Places, name: string): ContainerState {
  const description = readDescription(places, name);
  if (!description) return { name, status: 'absent', restarts: 0 };
  const running = runningOf(places, name);
  const attachment = readAttachment(places, name);
  const socket = description.socket === undefined ? undefined : readText(socketFile(places, name));
  const exit = running ? earlierEnd(places, name) : (lastEnd(places, name) ?? earlierEnd(places, name));
  return {
    name,
    status: statusOf(places, description, running !== undefined),
    network: description.network,
    layers: description.layers,
    ...(attachment && { address: attachedAddress(attachment) }),
    ...(socket !== undefined && { socket }),
    ...(running && { startedAt: running.startedAt }),
    ...(exit && { exit }),
    restarts: restartsOf(places, name),
  };
}

function statusOf(places: Places, { name, restart }: Description, alive: boolean): ContainerStatus {
  const ready = existsSync(tokenFile(places, name));
  if (alive && !ready) return 'starting';
  if (alive) return isFrozen(cgroupOf(places, name)) ? 'paused' : 'running';
  const end = lastEnd(places, name);
  const isToRun = restart === 'always' || (restart === 'on-failure' && end?.code !== 0);
  if (ready) return isToRun && isMonitored(places, name) ? 'restarting' : 'stopped';
  return existsSync(bundleOf(places, name)) && !end ? 'starting' : 'stopped';
}

export function lastEnd(places: Places, name: string): ContainerState['exit'] {
  const outOfMemory = existsSync(outOfMemoryMark(places, name)) || outOfMemoryCount(cgroupOf(places, name)) > 0;
  return endIn(exitFile(places, name), outOfMemory);
}

const earlierEnd = (places: Places, name: string) => endIn(previousExit(places, name), existsSync(previousOutOfMemory(places, name)));

function endIn(file: string, outOfMemory: boolean): ContainerState['exit'] {
  const code = readText(file);
  return code === undefined || code === '' ? undefined : { code: Number(code), outOfMemory, at: statSync(file).mtime };
}

const restartsOf = (places: Places, name: string) => Number((readText(join(durableOf(places, name), 'restarts')) ?? '0').split(' ')[0]);
