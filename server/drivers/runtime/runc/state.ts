/** What a container is doing, read from files: a hundred of them are listed without starting a process. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerState, ContainerStatus } from '../runtime.ts';
import { isFrozen, outOfMemoryCount } from './cgroups.ts';
import { type Description, readDescription } from './description.ts';
import { attachedAddress, readAttachment } from './networks.ts';
import { type RuntimeFolders, bundleOf, cgroupOf, durableOf, readText } from './runtime-folders.ts';
import { commandOf, processStart } from './processes.ts';

export interface Running {
  pid: number;
  startedAt: Date;
}

/** What runc writes at the beginning of its own state. */
const runcState = /"init_process_pid":(\d+),"init_process_start":(\d+),"created":"([^"]+)"/;

/** Undefined: no process of the container is alive. */
export function runningOf(folders: RuntimeFolders, name: string): Running | undefined {
  const [, pid, start, created = ''] = runcState.exec(readText(join(folders.runcRoot, name, 'state.json')) ?? '') ?? [];
  if (pid === undefined || processStart(Number(pid)) !== Number(start)) return undefined;
  return { pid: Number(pid), startedAt: new Date(created) };
}

/** Written when the container has become ready; without it nobody starts the container again. */
export const tokenFile = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'token');
/** Says where the machine finds the container's socket. */
export const socketFile = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'socket');
const monitorFile = (bundle: string) => join(bundle, 'monitor-pid');
export const monitorOf = (bundle: string) => Number(readText(monitorFile(bundle)));
export const noteMonitor = (bundle: string, pid: number) => writeFileSync(monitorFile(bundle), String(pid));
/** The process of launch.sh, while it starts a container again. */
export const restarterOf = (bundle: string) => Number(readText(join(bundle, 'restarter')));
/** Whether the process is still the one that works on the bundle: another may have its number by now. */
export const worksOn = (pid: number, bundle: string) => pid > 0 && commandOf(pid).includes(`${bundle}\0`);
/** Whether somebody will see how the container ends, and start it again. */
export function isMonitored(folders: RuntimeFolders, name: string): boolean {
  const bundle = bundleOf(folders, name);
  return worksOn(monitorOf(bundle), bundle) || worksOn(restarterOf(bundle), bundle);
}
export const exitFile = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'exit', name);
export const outOfMemoryMark = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'out-of-memory');
export const previousExit = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'previous-exit');
export const previousOutOfMemory = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'previous-out-of-memory');

export function stateOf(folders: RuntimeFolders, name: string): ContainerState {
  const description = readDescription(folders, name);
  if (!description) return { name, status: 'absent', restarts: 0 };
  const running = runningOf(folders, name);
  const attachment = readAttachment(folders, name);
  const socket = description.socket === undefined ? undefined : readText(socketFile(folders, name));
  const exit = running ? earlierEnd(folders, name) : (lastEnd(folders, name) ?? earlierEnd(folders, name));
  return {
    name,
    status: statusOf(folders, description, running !== undefined),
    network: description.network,
    layers: description.layers,
    ...(attachment && { address: attachedAddress(attachment) }),
    ...(socket !== undefined && { socket }),
    ...(running && { startedAt: running.startedAt }),
    ...(exit && { exit }),
    restarts: restartsOf(folders, name),
  };
}

function statusOf(folders: RuntimeFolders, { name, restart }: Description, alive: boolean): ContainerStatus {
  const ready = existsSync(tokenFile(folders, name));
  if (alive && !ready) return 'starting';
  if (alive) return isFrozen(cgroupOf(folders, name)) ? 'paused' : 'running';
  const end = lastEnd(folders, name);
  const isToRun = restart === 'always' || (restart === 'on-failure' && end?.code !== 0);
  if (ready) return isToRun && isMonitored(folders, name) ? 'restarting' : 'stopped';
  return existsSync(bundleOf(folders, name)) && !end ? 'starting' : 'stopped';
}

export function lastEnd(folders: RuntimeFolders, name: string): ContainerState['exit'] {
  const outOfMemory = existsSync(outOfMemoryMark(folders, name)) || outOfMemoryCount(cgroupOf(folders, name)) > 0;
  return endIn(exitFile(folders, name), outOfMemory);
}

const earlierEnd = (folders: RuntimeFolders, name: string) =>
  endIn(previousExit(folders, name), existsSync(previousOutOfMemory(folders, name)));

function endIn(file: string, outOfMemory: boolean): ContainerState['exit'] {
  const code = readText(file);
  return code === undefined || code === '' ? undefined : { code: Number(code), outOfMemory, at: statSync(file).mtime };
}

const restartsOf = (folders: RuntimeFolders, name: string) =>
  Number((readText(join(durableOf(folders, name), 'restarts')) ?? '0').split(' ')[0]);
