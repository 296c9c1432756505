/** Apps and workers on the machine. One that does not become ready says why, with the last it said itself. */
import { CommandFailed } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Machine } from '../../machine.ts';
import { linesSince, logBytes, logFolder } from './app-logs.ts';
import {
  instancesOf,
  isWorker,
  located,
  runnablesOf,
  userCommand,
  type Places,
  type Runnable,
  type WantedContainer,
} from './containers.ts';
import { runInside } from './inside.ts';
import { logsVolume } from './names.ts';
import type { Deployed } from './queries.ts';
import { isRunning, serviceAddresses } from './services.ts';
import { endBoost, startBoosted } from './start-boost.ts';
import { sensitiveValues } from './told-variables.ts';

const readySecondsMax = 600;
const lastLinesMax = 20;
const appLog = 'app.log';

export interface InstancesToStart {
  /** Ready only once they have been seen to be, here, whatever already runs under their names. */
  fresh: ReadonlySet<string>;
  /** To be given other limits. */
  resized: ReadonlySet<string>;
}

/** Those that should run, if they do not. Apps at once; instances of one app one after the other, so that a bad start shows once. */
export async function startInstances(
  machine: Machine,
  places: Places,
  { stack, generations }: Deployed,
  { fresh, resized }: InstancesToStart,
  signal?: AbortSignal,
): Promise<void> {
  const addresses = await serviceAddresses(machine, stack);
  const start = async (runnable: Runnable) => {
    for (const wanted of instancesOf(stack, generations, runnable, addresses)) {
      signal?.throwIfAborted();
      const isUp = !fresh.has(wanted.name) && (await isRunning(machine, wanted.name));
      if (!isUp) await startInstance(machine, places, runnable, wanted, sensitiveValues(stack), signal);
      else if (resized.has(wanted.name)) await machine.runtime.update(wanted.name, wanted.limits);
    }
  };
  const started = await Promise.allSettled(runnablesOf(stack).map(start));
  for (const each of started) if (each.status === 'rejected') throw each.reason;
}

async function startInstance(
  machine: Machine,
  places: Places,
  runnable: Runnable,
  wanted: WantedContainer,
  secrets: readonly string[],
  signal?: AbortSignal,
) {
  const logs = places.folders.get(logsVolume(wanted.network)) ?? '';
  const folder = logFolder(logs, runnable.name);
  const since = await logBytes(folder, appLog);
  try {
    await startBoosted(machine.runtime, located(wanted, places), signal);
    await waitForPostStart(machine, runnable, wanted.name, signal);
    await endBoost(machine.runtime, wanted);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const lines = await linesSince(folder, appLog, since, lastLinesMax);
    throw inWords(error, runnable, wanted.name, lines, secrets);
  }
}

const titleOf = (runnable: Runnable) => (isWorker(runnable) ? `Worker '${runnable.name}'` : `Application '${runnable.name}'`);

/** The runtime knows how it ended; what it said went to its own log. */
function inWords(error: Problem, runnable: Runnable, container: string, lines: readonly string[], secrets: readonly string[]): Problem {
  const reason = error.message.replaceAll(container, titleOf(runnable)).replace(/ It said nothing\.$/, '');
  const said = lines.length === 0 ? ' It said nothing.' : `\nIts last lines:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  const words = secrets.reduce((text, secret) => text.replaceAll(secret, '*****'), reason + said);
  if (error instanceof CommandFailed) return new CommandFailed(words);
  return new Problem(error.kind, words, { cause: error, ...(error.internal !== undefined && { internal: error.internal }) });
}

/** A gate: the instance is ready when it ends well. */
async function waitForPostStart({ runtime }: Machine, runnable: Runnable, container: string, signal?: AbortSignal) {
  const { post_start } = isWorker(runnable) ? runnable.worker.commands : runnable.web.commands;
  if (post_start === null) return;
  const { code, said } = await runInside(runtime, container, { argv: userCommand(post_start) }, { secondsMax: readySecondsMax, signal });
  if (code !== 0) throw new CommandFailed(`${container} did not become ready: post_start ended with exit code ${code}. ${said}`);
}

/** As their descriptions say how; those that are not there are no matter. */
export async function removeContainers({ runtime }: Pick<Machine, 'runtime'>, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => runtime.remove(name)));
}

/** All in the network of the stack, by whatever name. */
export async function removeStackContainers(machine: Pick<Machine, 'runtime'>, stackId: string): Promise<void> {
  const all = (await machine.runtime.list()).filter(({ network }) => network === stackId);
  await removeContainers(
    machine,
    all.map(({ name }) => name),
  );
}
