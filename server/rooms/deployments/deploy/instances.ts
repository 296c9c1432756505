/** Apps and workers on the machine. One that does not become ready says why, with the last it said itself. */
import { CommandFailed } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import { keepFailedStart } from '../inside/app-logs.ts';
import { instancesOf, isWorker, runnablesOf, userCommand, type Runnable, type WantedContainer } from '../stack/containers.ts';
import { located, type StackLocations } from '../stack/located.ts';
import { runInside } from '../inside/inside.ts';
import type { Deployed } from '../queries.ts';
import { resizeContainer } from './resize.ts';
import { isRunning, serviceAddresses } from './services.ts';
import { endBoost, startBoosted } from './start-boost.ts';
import type { Stack } from '../stack/stack.ts';
import { hiddenValues } from '../stack/hidden-values.ts';
import { appSocket } from '../stack/runtime-variables.ts';

const readySecondsMax = 600;
const lastLinesMax = 20;

export interface InstancesToStart {
  /** Instances that have to become ready during this start, even if something already runs under their names. */
  fresh: ReadonlySet<string>;
  /** Instances that get other limits. */
  resized: ReadonlySet<string>;
}

/** Starts instances that should run and do not. Apps start at the same time; instances of one app one after the other, so that a start that fails is reported only once. */
export async function startInstances(
  machine: Machine,
  locations: StackLocations,
  { stack, generations }: Deployed,
  { fresh, resized }: InstancesToStart,
  signal?: AbortSignal,
): Promise<void> {
  const addresses = await serviceAddresses(machine, stack);
  const start = async (runnable: Runnable) => {
    for (const wanted of instancesOf(stack, generations, runnable, addresses)) {
      signal?.throwIfAborted();
      const isUp = !fresh.has(wanted.name) && (await isRunning(machine, wanted.name));
      if (!isUp) await startInstance(machine, locations, stack, runnable, wanted, signal);
      else if (resized.has(wanted.name)) await resizeContainer(machine.runtime, wanted, titleOf(runnable));
    }
  };
  const started = await Promise.allSettled(runnablesOf(stack).map(start));
  for (const each of started) if (each.status === 'rejected') throw each.reason;
}

async function startInstance(
  machine: Machine,
  locations: StackLocations,
  stack: Stack,
  runnable: Runnable,
  wanted: WantedContainer,
  signal?: AbortSignal,
) {
  const since = new Date();
  const container = wanted.name;
  try {
    await startBoosted(machine.runtime, located(wanted, locations), signal);
    await waitForPostStart(machine, runnable, container, signal);
    await endBoost(machine.runtime, wanted);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const masked = (text: string) => hiddenValues(stack, machine).reduce((seen, secret) => seen.replaceAll(secret, '*****'), text);
    const reason = masked(reasonOf(error, runnable, container));
    const kept = await keepFailedStart(machine, stack, runnable.name, { container, since, reason });
    const lines: string[] = [];
    for await (const { text } of machine.runtime.logs(container, { since, tail: lastLinesMax })) lines.push(masked(text));
    throw inWords(error, [reason, ...saidLines(lines), `All of its output is kept: GET ${kept}`].join('\n'));
  }
}

const titleOf = (runnable: Runnable) => (isWorker(runnable) ? `Worker '${runnable.name}'` : `Application '${runnable.name}'`);

/** The reason without the container's last lines, which the message gives in full at its end. */
const reasonOf = (error: Problem, runnable: Runnable, container: string): string =>
  error.message
    .replace(/ (?:Its last lines:\n.*|It said nothing\.)$/s, '')
    .replaceAll(container, titleOf(runnable))
    .replace('did not listen on its socket', `did not listen on $SOCKET, ${appSocket}, as socket_family: unix requires,`);

const saidLines = (lines: readonly string[]): string[] =>
  lines.length === 0 ? ['It said nothing.'] : ['Its last lines:', ...lines.map((line) => `  ${line}`)];

function inWords(error: Problem, words: string): Problem {
  if (error instanceof CommandFailed) return new CommandFailed(words);
  return new Problem(error.kind, words, { cause: error, ...(error.internal !== undefined && { internal: error.internal }) });
}

/** The instance is ready only when its post-start command has succeeded. */
async function waitForPostStart({ runtime }: Machine, runnable: Runnable, container: string, signal?: AbortSignal) {
  const { post_start } = isWorker(runnable) ? runnable.worker.commands : runnable.web.commands;
  if (post_start === null) return;
  const { code, said } = await runInside(runtime, container, { argv: userCommand(post_start) }, { secondsMax: readySecondsMax, signal });
  if (code !== 0) throw new CommandFailed(`${container} did not become ready: post_start ended with exit code ${code}. ${said}`);
}

/** Stops and removes containers as their descriptions say. Missing ones do not matter, and one that cannot be removed does not stop the rest. */
export async function removeContainers({ runtime }: Pick<Machine, 'runtime'>, names: readonly string[]): Promise<void> {
  const removed = await Promise.allSettled(names.map((name) => runtime.remove(name)));
  for (const each of removed) if (each.status === 'rejected') throw each.reason;
}

/** Removes all containers in the network of the stack, whatever their names. */
export async function removeStackContainers(machine: Pick<Machine, 'runtime'>, stackId: string): Promise<void> {
  const all = (await machine.runtime.list()).filter(({ network }) => network === stackId);
  await removeContainers(
    machine,
    all.map(({ name }) => name),
  );
}
