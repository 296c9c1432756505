/**
 * A command of people's as the work of an activity, which runs once although the steps around it may run twice: in the first instance of its app, or in
 * a container that only waits where the app has none. Its lines go to the activity's log, and to a log of the app's where there is one for it, without
 * what must not be seen; also after a kill each line comes once, because what is already there is counted.
 */
import { sql } from 'kysely';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { logFile, type LogName } from '../../../drivers/logs/log-folders.ts';
import { readLog } from '../../../drivers/logs/read-log.ts';
import type { ContainerStatus } from '../../../drivers/runtime/runtime.ts';
import { CommandFailed, type Work } from '../../../kernel/activity.ts';
import { Interrupted } from '../../../kernel/activity-run.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import type { App } from '../../builds/public.ts';
import { maskOf, openOutput } from '../../builds/work.ts';
import { addToLog, stackLogs, tellInLog } from './app-logs.ts';
import { onceContainerOf, runnablesOf } from '../stack/containers.ts';
import { located } from '../stack/located.ts';
import { instanceName } from './enter.ts';
import {
  followLasting,
  forgetLasting,
  hasEnded,
  prepareLasting,
  stopLasting,
  type LastingCommand,
  type Stopping,
} from './lasting-command.ts';
import { labelOf } from '../stack/names.ts';
import { locationsOf } from '../stack/stack-locations.ts';
import type { Deployed } from '../queries.ts';
import { serviceAddresses } from '../deploy/services.ts';
import { hiddenValues } from '../stack/hidden-values.ts';

export interface LastingRun extends Pick<LastingCommand, 'argv' | 'env'> {
  deployed: Deployed;
  /** An app, or a worker as `<app>--<worker>`. */
  app: string;
  /** The type of the run among the activity's commands. */
  type: string;
  /** How long the command may take, from its beginning. */
  secondsMax: number;
  stop: Stopping;
  /** The log of the app that also gets the command's lines, under this heading. Only one run at a time may write to it. */
  log?: { name: LogName; heading: string };
}

type LastingWork = Pick<Work<unknown>, 'activity' | 'signal' | 'step' | 'log' | 'command'>;

/**
 * Returns the command's exit code. A command that took too long, or whose container is gone, fails the activity with a sentence. The command's lines are
 * those of the activity's log that begin with four spaces: other lines of the activity must not begin so.
 */
export async function runLasting(work: LastingWork, platform: Platform, run: LastingRun): Promise<number> {
  const machine = await platform.machine();
  const { id } = work.activity;
  const forget = () => leaveNothing(machine, run, id);
  const { container, at } = await work.step('prepare the command', () => prepare(machine, run, id), forget);
  const command: LastingCommand = { id, container, argv: run.argv, ...(run.env && { env: run.env }) };
  const { code, isLate } = await work.step('run the command', async () => {
    const { code, isLate } = await toItsEnd(work, platform, machine, { run, command, until: Date.parse(at) + run.secondsMax * 1000 });
    if (code !== undefined) return { code, isLate };
    throw new Problem(
      'unavailable',
      'The command ended with its container, or because memory ran out; how far it got is not known. It is not run again.',
    );
  });
  // A runner that was killed after this line has already told the exit code.
  if (JSON.stringify(work.activity.commands) === '[]') work.command({ app: run.app, type: run.type, exit_code: code });
  await work.step('clean up after the command', forget);
  if (isLate) throw new CommandFailed(`The command took longer than ${run.secondsMax} s and was stopped.`);
  return code;
}

const appOf = ({ deployed: { stack }, app }: Pick<LastingRun, 'deployed' | 'app'>): App => {
  const found = stack.model.applications[app];
  if (!found) throw new Problem('not-found', `There is no application '${app}' any more.`);
  return found;
};

const hasInstances = ({ deployed: { stack }, app }: LastingRun) => runnablesOf(stack).some(({ name }) => name === app);

/** The name of a container that waits for the command. No deployment makes one of this name, so the reconciler that keeps stacks running leaves it alone. */
const waitingContainer = ({ deployed: { stack }, app }: LastingRun, id: string) => `${stack.id}-command-${labelOf(app)}-${id}`;

const containerOf = (run: LastingRun, id: string) =>
  hasInstances(run) ? instanceName(run.deployed, run.app, 0) : waitingContainer(run, id);

async function prepare(machine: Machine, run: LastingRun, id: string): Promise<{ container: string; at: string }> {
  const { runtime } = machine;
  const { stack } = run.deployed;
  const container = containerOf(run, id);
  if (!hasInstances(run)) {
    const wanted = { ...onceContainerOf(stack, appOf(run), await serviceAddresses(machine, stack)), name: container };
    await runtime.ensure(located(wanted, await locationsOf(machine, stack)));
  } else if (!(await isRunningSoon(machine, container))) {
    throw new Problem('unavailable', `No instance of '${run.app}' is running, so the command cannot be run; try again when one is.`);
  }
  await prepareLasting(runtime, { id, container });
  return { container, at: new Date().toISOString() };
}

const passing: ReadonlySet<ContainerStatus> = new Set(['starting', 'restarting', 'paused']);
const looksMax = 20;
const lookMilliseconds = 500;

/** Looks several times, because the container may be frozen for a moment while its data is copied, or may be restarting. */
async function isRunningSoon({ runtime }: Machine, container: string): Promise<boolean> {
  for (let looks = 1; ; looks++) {
    const { status } = await runtime.state(container);
    if (status === 'running' || looks === looksMax || !passing.has(status)) return status === 'running';
    await sleep(lookMilliseconds);
  }
}

const leaveNothing = ({ runtime }: Machine, run: LastingRun, id: string) => {
  const container = containerOf(run, id);
  return hasInstances(run) ? forgetLasting(runtime, { id, container }) : runtime.remove(container);
};

interface Begun {
  run: LastingRun;
  command: LastingCommand;
  /** Milliseconds since 1970. */
  until: number;
}

/** Follows the command to its end. Cancelling the activity stops the command; a runner that ends leaves the command to the next runner. */
async function toItsEnd({ activity, signal, log }: LastingWork, { db }: Platform, machine: Machine, { run, command, until }: Begun) {
  const [leaving, ended] = [new AbortController(), new AbortController()];
  let stopping: Promise<void> | undefined;
  let isLate = false;
  const stop = () => (stopping ??= stopLasting(machine.runtime, command, run.stop, ended.signal).catch(() => {}));
  const interrupt = () => {
    if (signal.reason instanceof Interrupted && signal.reason.why !== 'cancelled') leaving.abort(signal.reason);
    else void stop();
  };
  /** Stops the command unless it ended in time while no runner was there to notice. */
  const stopLate = async () => {
    if (await hasEnded(machine.runtime, command)) return;
    if (ended.signal.aborted) return;
    isLate = true;
    void stop();
  };
  const late = setTimeout(() => void stopLate(), until - Date.now());
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    const hear = await hearer({ db, machine, run, id: activity.id, log }, leaving.signal);
    const code = await followLasting(machine.runtime, command, hear, leaving.signal);
    signal.throwIfAborted();
    return { code, isLate };
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', interrupt);
    ended.abort();
    await stopping;
  }
}

interface Hearing {
  db: Db;
  machine: Machine;
  run: LastingRun;
  id: string;
  log(line: string): void;
}

/** The output is read again from the beginning; lines that were kept before are skipped. */
async function hearer({ db, machine, run, id, log }: Hearing, leave: AbortSignal): Promise<(said: Readable) => Promise<void>> {
  const { stack } = run.deployed;
  const logged = await linesLogged(db, id);
  const inAppLog = run.log ? await openAppLog(machine, run, run.log, { id, logged }) : undefined;
  let count = 0;
  let appended = Promise.resolve();
  const keep = (line: string) => {
    if (leave.aborted) return;
    count += 1;
    if (count > logged) log(line);
    const [number, text] = [count, `${line.slice(indent.length)}\n`];
    if (inAppLog && number > inAppLog.lines) appended = appended.then(() => addToLog(machine, stack, run.app, inAppLog.name, text));
  };
  const output = openOutput(keep, maskOf(hiddenValues(stack, machine)));
  return async (said) => {
    await output.follow(said, Readable.from([]));
    await appended;
  };
}

const indent = '    ';

async function linesLogged(db: Db, id: string): Promise<number> {
  const { rows } = await sql<{ lines: number }>`
    select count(*)::integer as lines from activity_log where activity_id = ${id} and starts_with(message, ${indent})`.execute(db);
  return rows[0]?.lines ?? 0;
}

/** Counts the command's lines in the app's log. Where the log has grown so much that the heading is gone, the count is that of the activity's log. */
async function openAppLog(
  machine: Machine,
  { deployed: { stack }, app }: LastingRun,
  { name, heading }: NonNullable<LastingRun['log']>,
  { id, logged }: { id: string; logged: number },
): Promise<{ name: LogName; lines: number }> {
  const mark = `(activity ${id})\n`;
  const lines = (await readLog(logFile(stackLogs(machine, stack), app, name), {}))?.lines ?? [];
  const at = lines.findLastIndex((line) => line.toString('utf8').endsWith(mark));
  if (at >= 0) return { name, lines: lines.length - at - 1 };
  if (logged === 0) await tellInLog(machine, stack, app, name, `${heading} ${mark.trim()}`);
  return { name, lines: logged };
}
