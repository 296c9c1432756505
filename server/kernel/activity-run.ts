/** One run of one activity: from its first step without a result to its end, or to where it is interrupted. */
import { Value } from 'typebox/value';
import type { Platform } from '../platform.ts';
import { CommandFailed, type Activity, type ActivityDefinition, type Undo, type Work } from './activity.ts';
import { activityLife, type ActivityEnd } from './activity-life-cycle.ts';
import { openLogWriter, writtenSoFar, type LogWriter } from './activity-log.ts';
import {
  beginUndoing,
  finish,
  LeaseLost,
  leaveLanes,
  releaseLease,
  stepsOf,
  storeStep,
  storeStepWith,
  type Ending,
  type StoredStep,
} from './activity-queries.ts';
import { countEnd } from './own-instruments.ts';
import { Problem } from './problem.ts';

/** Why a run ends before its activity does: somebody cancelled it, this process stops, or another runner has it now. */
export class Interrupted extends Error {
  readonly why: 'cancelled' | 'stopping' | 'lost';
  constructor(why: Interrupted['why']) {
    super(`The activity was interrupted (${why}).`);
    this.why = why;
  }
}

/** Where tests break a run. Whatever is thrown is as if it had been thrown by the step. */
export interface Faults {
  afterWork?(activity: Activity, step: string): Promise<void> | void;
}

const attemptsMax = 5;
const backoffSeconds = (attempt: number) => Math.min(2 ** attempt, 60);

/** Lets the runner take up another activity until the promise settles. */
export type Wait = <T>(others: Promise<T>) => Promise<T>;

interface Surroundings {
  signal: AbortSignal;
  wait: Wait;
  faults?: Faults | undefined;
}

interface Run extends Surroundings {
  activity: Activity;
  platform: Platform;
  writer: LogWriter;
  stored: Map<string, StoredStep>;
  /** How to take back the steps that have begun, in their order. */
  undos: { step: StoredStep; undo: Undo<unknown> | undefined }[];
  /** The lane in which the activity will rest. */
  stagedIn: string | null;
  /** The lines that it writes are in the log already. */
  isReplaying: boolean;
}

export async function carryOut(
  activity: Activity,
  definition: ActivityDefinition | undefined,
  platform: Platform,
  surroundings: Surroundings,
): Promise<void> {
  const { db } = platform;
  const [written, stored] = await Promise.all([writtenSoFar(db, activity.id), stepsOf(db, activity.id)]);
  const writer = openLogWriter(db, activity, written);
  const steps = new Map(stored.map((step) => [step.name, step]));
  const run: Run = { ...surroundings, activity, platform, writer, stored: steps, undos: [], stagedIn: null, isReplaying: false };
  try {
    await (activity.is_undoing ? goOnUndoing(run, definition) : work(run, definition));
  } catch (error) {
    if (!(error instanceof LeaseLost || (error instanceof Interrupted && error.why !== 'cancelled'))) throw error;
    await giveBack(run, error);
  } finally {
    writer.close();
  }
}

async function work(run: Run, definition: ActivityDefinition | undefined) {
  const { activity, platform, writer, signal } = run;
  try {
    if (!definition) throw new Problem('unavailable', 'This version of the platform cannot do this.', { internal: activity.type });
    await definition.run(inHand(run, Value.Parse(definition.input, activity.input)), platform);
    await writer.flush();
    await end(run, {
      ...endOf(run),
      result: 'success',
      failure_reason: null,
      kept_days: definition.keptDays,
    });
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    /** Whatever a step throws when it is aborted, the reason is what counts. */
    const cause = signal.aborted ? (signal.reason as Error) : (error as Error);
    if (cause instanceof Interrupted && cause.why !== 'cancelled') throw cause;
    if (!(cause instanceof Problem || cause instanceof Interrupted) && activity.attempts + 1 < attemptsMax) return tryAgain(run, cause);
    if (!(cause instanceof Problem || cause instanceof Interrupted))
      platform.log.error({ error: cause, activity: activity.id, type: activity.type }, 'an activity failed');
    const failure = failureOf(cause, run);
    await beginUndoing(platform.db, activity, JSON.stringify(failure));
    await undoAll(run, failure, definition);
  }
}

const endOf = ({ stagedIn }: Run): Pick<Ending, 'event' | 'staged_in'> => ({
  event: stagedIn === null ? 'complete' : 'stage',
  staged_in: stagedIn,
});

interface Failure extends Pick<Ending, 'event' | 'staged_in'> {
  failure_reason: 'error' | 'shell' | null;
  sentence: string;
}

function failureOf(cause: Error, run: Run): Failure {
  if (cause instanceof Interrupted)
    return { event: 'stop', staged_in: null, failure_reason: null, sentence: 'The activity was cancelled.' };
  const sentence =
    cause instanceof Problem ? cause.message : 'Something went wrong in the platform; its operator finds the reason in the log.';
  return { ...endOf(run), failure_reason: cause instanceof CommandFailed ? 'shell' : 'error', sentence: `E: ${sentence}` };
}

async function tryAgain({ activity, platform: { db, log }, writer }: Run, error: Error) {
  const attempts = activity.attempts + 1;
  log.warn({ error, activity: activity.id, type: activity.type, attempts }, 'a step of an activity failed and is tried again');
  writer.log(`W: A step failed; it is tried again in ${backoffSeconds(attempts)} s.`);
  await writer.flush();
  await releaseLease(db, activity, backoffSeconds(attempts), attempts);
}

async function giveBack({ activity, platform: { db }, writer }: Run, error: LeaseLost | Interrupted) {
  if (error instanceof LeaseLost || error.why === 'lost') return;
  await writer.flush().catch(() => {});
  await releaseLease(db, activity, 0, activity.attempts).catch(() => {});
}

/** Steps with stored results are not done again: they only say how they are undone. */
class EndOfReplay extends Error {}

async function goOnUndoing(run: Run, definition: ActivityDefinition | undefined) {
  const { activity, platform } = run;
  const failure = storedFailure(activity);
  run.isReplaying = true;
  try {
    if (definition) await definition.run(inHand(run, Value.Parse(definition.input, activity.input)), platform);
  } catch (error) {
    if (!(error instanceof EndOfReplay))
      platform.log.warn({ error, activity: activity.id }, 'an activity could not be replayed to the end');
  }
  run.isReplaying = false;
  await undoAll(run, failure, definition);
}

/** What an earlier version began to undo is written down with the state that it ends in. */
function storedFailure({ failure }: Activity): Failure {
  const stored = JSON.parse(failure ?? '{}') as Failure & { state?: string };
  const ends: readonly ActivityEnd[] = ['complete', 'stage', 'stop'];
  const leadsThere = (event: ActivityEnd) =>
    activityLife.statesThat('goOn').some((state) => activityLife.after(state, event) === stored.state);
  return { ...stored, event: stored.event ?? ends.find(leadsThere) ?? 'complete' };
}

async function undoAll(run: Run, failure: Failure, definition: ActivityDefinition | undefined) {
  const { activity, platform, writer, undos } = run;
  if (!activity.is_undoing) {
    writer.log(failure.sentence);
    await writer.flush();
  }
  for (const { step, undo } of undos.toReversed()) {
    if (step.state === 'undone') continue;
    try {
      await undo?.(step.state === 'done' ? step.result : undefined);
    } catch (error) {
      if (activity.attempts + 1 < attemptsMax) {
        platform.log.warn({ error, activity: activity.id, step: step.name }, 'a step could not be undone and is tried again');
        return releaseLease(platform.db, activity, backoffSeconds(activity.attempts + 1), activity.attempts + 1);
      }
      platform.log.error({ error, activity: activity.id, step: step.name }, 'a step could not be undone');
    }
    if (undo) await storeStep(platform.db, activity, { ...step, state: 'undone' });
  }
  await writer.flush();
  const ending: Ending = {
    event: failure.event,
    staged_in: failure.staged_in,
    result: 'failure',
    failure_reason: failure.failure_reason,
    kept_days: definition?.keptDays,
  };
  await end(run, ending);
}

async function end({ platform, activity }: Run, ending: Ending): Promise<void> {
  await finish(platform.db, activity, ending);
  countEnd(platform, activity, ending.event === 'stop' ? 'cancelled' : ending.result);
}

/** To clients, 100 means that the activity is over. */
const percentMax = 99;

function inHand<Input>(run: Run, input: Input): Work<Input> {
  const { activity, platform, signal, wait, writer, stored, undos, faults } = run;

  const begin = async (name: string, undo: Undo<never> | undefined): Promise<StoredStep | undefined> => {
    const known = stored.get(name);
    if (known) undos.push({ step: known, undo: undo as Undo<unknown> | undefined });
    if (activity.is_undoing && known?.state !== 'done') throw new EndOfReplay();
    if (known?.state === 'done') return known;
    if (signal.aborted) throw signal.reason;
    if (known) return undefined;
    const begun: StoredStep = { name, position: stored.size, state: 'begun', result: null };
    stored.set(name, begun);
    undos.push({ step: begun, undo: undo as Undo<unknown> | undefined });
    /** Only what can be undone has to be known before it is done. */
    if (undo) await storeStep(platform.db, activity, begun);
    return undefined;
  };

  const end = async (name: string, result: unknown, startedAt: number, store: (step: StoredStep) => Promise<void>) => {
    const step = stored.get(name);
    if (!step) throw new Error(`Step ${name} ends without having begun`);
    await faults?.afterWork?.(activity, name);
    await store({ ...step, state: 'done', result });
    writer.amend(({ timings }) => (timings[name.replaceAll(' ', '_')] = (Date.now() - startedAt) / 1000));
    return step;
  };
  const settle = (step: StoredStep, result: unknown) => Object.assign(step, { state: 'done', result });

  const record: Work<Input>['record'] = async (name, change, undo) => {
    const known = await begin(name, undo);
    if (known) return known.result as Awaited<ReturnType<typeof change>>;
    const startedAt = Date.now();
    const { step, result } = await platform.db.transaction().execute(async (tx) => {
      const changed = await change(tx);
      return { result: changed, step: await end(name, changed, startedAt, (step) => storeStepWith(tx, activity, step)) };
    });
    settle(step, result);
    return result;
  };

  return {
    activity,
    input,
    signal,
    step: async (name, work, undo) => {
      const known = await begin(name, undo);
      if (known) return known.result as Awaited<ReturnType<typeof work>>;
      const startedAt = Date.now();
      const result = await work(signal);
      settle(await end(name, result, startedAt, (step) => storeStep(platform.db, activity, step)), result);
      return result;
    },
    record,
    log: (text) => run.isReplaying || writer.log(text),
    progress: (percent) => writer.amend((amendments) => (amendments.percent = Math.min(Math.floor(percent), percentMax))),
    command: (command) => writer.amend((amendments) => (amendments.commands = [...amendments.commands, command])),
    tell: (payload) => writer.amend((amendments) => Object.assign(amendments.payload, payload)),
    stage: (lane) => (run.stagedIn = lane),
    wait,
    letOthersPass: () => record('let others pass', (tx) => leaveLanes(tx, activity)),
  };
}
