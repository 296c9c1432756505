/** Follows a task to its end, from wherever it is. Whoever cancels has it told to end, and hears what it says to that. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerState, Runtime } from '../../drivers/runtime/runtime.ts';
import { Interrupted } from '../../kernel/activity-run.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Machine } from '../../machine.ts';
import { taskContainer } from '../deployments/public.ts';
import type { TaskRun } from '../deployments/work.ts';
import { openTaskOutput, type Part, type Speaking } from './task-output.ts';

export interface Outcome {
  exit_code: number;
  /** The part that ended with this code. */
  part: Part;
  is_late: boolean;
  is_out_of_memory: boolean;
}

const lookMilliseconds = 100;
/** How long a container that has stopped may be without its exit code, which its monitor writes down right after the end. */
const endSecondsMax = 10;

export async function followTask(work: Speaking, machine: Machine, run: TaskRun, signal: AbortSignal): Promise<Outcome> {
  const { runtime } = machine;
  const container = taskContainer(run.stack.id, run.id);
  const output = openTaskOutput(work, run, machine);
  const over = new AbortController();
  const reading = (async () => {
    for await (const line of runtime.logs(container, { follow: over.signal })) output.hear(line);
  })();
  // The failure is thrown by `await reading` below; the next attempt reads again what could not be read.
  reading.catch(() => {});
  let exit: NonNullable<ContainerState['exit']>;
  try {
    exit = await endOf(runtime, container, run.task.name, signal);
  } finally {
    over.abort();
    await reading;
  }
  return { exit_code: exit.code, is_out_of_memory: exit.outOfMemory, ...output.end(exit.code) };
}

async function endOf(runtime: Runtime, container: string, task: string, signal: AbortSignal): Promise<NonNullable<ContainerState['exit']>> {
  let deadSince: number | undefined;
  for (;;) {
    if (signal.aborted) return leave(runtime, container, signal);
    const { status, startedAt, exit } = await runtime.state(container);
    const isAlive = startedAt !== undefined;
    if (!isAlive && exit) return exit;
    deadSince = isAlive ? undefined : (deadSince ?? performance.now());
    if (status === 'absent' || (deadSince !== undefined && performance.now() - deadSince > endSecondsMax * 1000)) throw lost(task);
    await sleep(lookMilliseconds, undefined, { signal }).catch(() => {});
  }
}

/** Whoever cancels ends the task. When only this process ends, the task goes on, and another process follows it. */
async function leave(runtime: Runtime, container: string, { reason }: AbortSignal): Promise<never> {
  if (reason instanceof Interrupted && reason.why === 'cancelled') await runtime.remove(container);
  throw reason;
}

const lost = (task: string) =>
  new Problem(
    'unavailable',
    `Nobody knows how task '${task}' ended: its container is gone, as after ./offshoot shutdown or a restart of the machine, or the platform ended while it started the task. It is not run a second time by itself; run it again if that does no harm.`,
  );
