/** The container of one run of a task: beside the others of its environment, from its own slug, with what its configuration says around it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Container } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import { checkLengths, reporterOf, servicesOf, surroundingsOf, withinBounds } from '../stack/containers.ts';
import { located } from '../stack/located.ts';
import { taskContainer } from '../stack/names.ts';
import { locationsOf } from '../stack/stack-locations.ts';
import { sizeOfTask, type TaskRun } from '../sizes/running-tasks.ts';
import { serviceAddresses } from '../deploy/services.ts';
import { taskLimits } from '../sizes/sizes.ts';
import type { Stack } from '../stack/stack.ts';

export interface TaskCommand {
  argv: readonly [string, ...string[]];
  /** The time zone of the project, for a task that names none. */
  timezone: string;
}

/** How long a task may take to end once it is told to, before it is killed. */
export const taskStopSeconds = 15;

export async function containerForTask(machine: Machine, run: TaskRun, command: TaskCommand, signal: AbortSignal): Promise<Container> {
  const { id, stack, task } = run;
  await servicesRunning(machine, stack, Object.values(task.relationships), signal);
  const limits = withinBounds(taskLimits(task, sizeOfTask(stack, task)));
  const around = surroundingsOf(stack, task, await serviceAddresses(machine, stack), limits);
  const env = { TZ: task.timezone ?? command.timezone, ...around.env };
  for (const word of command.argv) checkLengths(task.name, { ...env, 'A hook or command': word });
  const wanted = {
    ...around,
    env,
    name: taskContainer(stack.id, id),
    reporter: reporterOf(stack, task, 0),
    argv: command.argv,
    names: [],
    restart: 'never' as const,
    stop: { signal: 'SIGTERM' as const, secondsMax: taskStopSeconds },
  };
  return located(wanted, await locationsOf(machine, stack));
}

const runningSecondsMax = 120;
const lookAgainMilliseconds = 200;

/** Waits for the task's services, which may still be starting after a boot of the machine. */
async function servicesRunning(
  { runtime }: Machine,
  stack: Stack,
  wanted: readonly { service: string }[],
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + runningSecondsMax * 1000;
  for (const { name, container } of servicesOf(stack)) {
    if (!wanted.some(({ service }) => service === name)) continue;
    while ((await runtime.state(container.name)).status !== 'running') {
      if (performance.now() > deadline)
        throw new Problem('unavailable', `Service '${name}', which the task uses, is not running; try again when it is.`);
      await sleep(lookAgainMilliseconds, undefined, { signal });
    }
  }
}
