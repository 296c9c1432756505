/**
 * Each container has a monitor, and somebody may kill that: the kernel where memory is short, or whoever is root. Its container runs on, but what it says
 * goes nowhere, and nobody would start it again. So monitors are looked at all the time, and one that is gone gets a successor (monitor.pl) that reads on
 * where it stopped; the container is not touched. In between, this process keeps the pipes open, or a program that says something would be ended by that.
 */
import { spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { joinMonitors } from './cgroups.ts';
import { readDescription } from './description.ts';
import { type Machine, isMounted, launchedAs, monitorsOf } from './lifecycle.ts';
import { type RuntimeFolders, bundleOf, entriesOf, readText } from './runtime-folders.ts';
import { isMonitored, noteMonitor, runningOf, tokenFile } from './state.ts';

const program = join(import.meta.dirname, 'monitor.pl');
const lookMilliseconds = 500;
const outputs = [1, 2];

export interface Monitoring {
  /** From now on the container's output always has a reader, even if its monitor is killed this moment. */
  keepOpen(name: string): void;
  stop(): void;
}

/** Looks until it is stopped. */
export function keepMonitored(machine: Machine): Monitoring {
  const { folders, queues } = machine;
  const pipes = new HeldPipes();
  let leftAlone = new Set<string>();
  const look = () => {
    const names = entriesOf(folders.runContainers);
    for (const name of names) pipes.hold(name, runningOf(folders, name)?.pid);
    pipes.keepOnly(new Set(names));
    const before = leftAlone;
    leftAlone = new Set(names.filter((name) => isLeftAlone(folders, name)));
    // Only at the second look: while a monitor turns into the restarter of its container, neither is found for a moment.
    for (const name of leftAlone) if (before.has(name)) void queues.run(name, () => replaceMonitor(machine, name)).catch(() => {});
  };
  look();
  const timer = setInterval(look, lookMilliseconds);
  timer.unref();
  return {
    keepOpen: (name) => pipes.hold(name, runningOf(folders, name)?.pid),
    stop: () => {
      clearInterval(timer);
      pipes.keepOnly(new Set());
    },
  };
}

/** Whether a container that was ready has lost its monitor; one that is still starting is the business of whoever starts it. */
const isLeftAlone = (folders: RuntimeFolders, name: string) =>
  readText(tokenFile(folders, name)) !== undefined &&
  !isMonitored(folders, name) &&
  (runningOf(folders, name) !== undefined || isMounted(folders, name));

async function replaceMonitor({ folders }: Machine, name: string) {
  const description = readDescription(folders, name);
  // The container may have been removed, or started anew, meanwhile.
  if (!description || !isLeftAlone(folders, name)) return;
  const bundle = bundleOf(folders, name);
  const pid = runningOf(folders, name)?.pid ?? 0;
  const { token = '' } = launchedAs(folders, name);
  const successor = spawn('perl', [program, process.arch, bundle, String(pid), token, description.restart], {
    detached: true,
    stdio: 'ignore',
  });
  successor.unref();
  await new Promise((settle) => successor.once('spawn', settle).once('error', settle));
  if (successor.pid === undefined) return;
  noteMonitor(bundle, successor.pid);
  await joinMonitors(monitorsOf(folders), successor.pid);
}

/** Read ends of the pipes that containers write to, so that each always has one. */
class HeldPipes {
  readonly #held = new Map<string, { pid: number; files: number[] }>();

  /** Holds the pipes of the container's present process. */
  hold(name: string, pid: number | undefined) {
    if (this.#held.get(name)?.pid === pid) return;
    this.#letGo(name);
    if (pid !== undefined) this.#held.set(name, { pid, files: outputs.flatMap((output) => openedPipe(`/proc/${pid}/fd/${output}`)) });
  }

  keepOnly(names: ReadonlySet<string>) {
    for (const name of this.#held.keys()) if (!names.has(name)) this.#letGo(name);
  }

  #letGo(name: string) {
    for (const file of this.#held.get(name)?.files ?? []) closeSync(file);
    this.#held.delete(name);
  }
}

function openedPipe(path: string): number[] {
  try {
    return [openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)];
  } catch {
    return []; // it has ended, or closed it
  }
}
