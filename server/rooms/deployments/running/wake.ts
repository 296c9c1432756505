/**
 * Waking what sleeps. That it is to be awake is written down first; then its containers are started and the edge opens it. Killed in between, it is
 * brought up by what keeps stacks running. Where it does not start, visitors are told so by the edge, and it is tried again.
 *
 * One that sleeps has given its processors and memory back, so there may be no room for it when it is asked for. Then it stays asleep: those who wait are
 * told so by the edge, its owner finds it at the environment and in the log, and the next visitor has it tried again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Work } from '../../../kernel/activity.ts';
import { fairLimit, withReserve, type FairLimit } from '../../../kernel/fair-limit.ts';
import { notify } from '../../../kernel/notices.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Tx } from '../../../kernel/sql.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { amountsThere, holdCapacity, refuseToRunAgain } from '../sizes/capacity.ts';
import { aloneOnStack, whenLeftAlone } from './alone-on-stack.ts';
import { clusterAt } from './keep-running.ts';
import { keptStack, type KeptStack } from './kept-stacks.ts';
import { currentlyDeployed, subjectOf } from '../queries.ts';
import { keptStackAt, markWaking, markWakingUnlessWorkedOn, markWoken, noteStartFailure, startFailureOf } from './sleep-queries.ts';
import { noteFailure, noteSuccess, startStack } from './start-stack.ts';
import { tellEdge } from '../deploy/traffic.ts';

/** A bound on wakings at once: somebody who visits all previews of a machine must not bring it down, nor keep those of other organizations asleep. */
const wakesOfOneMax = 4;
const wakesOn = stateOf<Machine, FairLimit>(() => fairLimit(withReserve(wakesOfOneMax)));
const lookAgainMilliseconds = 100;
const looksPerNotice = 10;
const wakeSecondsMax = 120;
const slowSeconds = 15;
/** How long an activity waits for an environment to wake; it may be about to replace the environment anyway. */
const wakeForWorkSecondsMax = 30;

/**
 * For any process that needs the environment to run: resolves when it does, and throws a Problem where it cannot be started. An environment that is awake, or is not to
 * run at all, is left as it is.
 */
export async function wakeEnvironment({ db }: Pick<Platform, 'db'>, projectId: string, environmentId: string): Promise<void> {
  const deadline = performance.now() + wakeSecondsMax * 1000;
  let looks = 0;
  for (let kept = await keptStack(db, projectId, environmentId); kept && (kept.is_sleeping || kept.is_waking); looks++) {
    // Where there is no room the environment stays asleep. An earlier failure is forgotten, as it says nothing about this attempt.
    if (looks === 0) await noteStartFailure(db, projectId, environmentId, null);
    else if (kept.is_sleeping && kept.has_failed) break;
    if (performance.now() > deadline)
      throw new Problem('unavailable', `The environment ${environmentId} is taking long to wake; try again in a minute.`);
    // The process that has the machine may not be listening yet, so the notice is repeated.
    if (kept.is_sleeping && looks % looksPerNotice === 0) await notify(db, 'wake', clusterAt(kept));
    await sleep(lookAgainMilliseconds);
    kept = await keptStack(db, projectId, environmentId);
  }
  const failure = looks > 0 ? await startFailureOf(db, projectId, environmentId) : null;
  if (failure !== null) throw new Problem('unavailable', `The environment ${environmentId} could not be woken: ${failure}`);
}

/** Wakes the environment that a visitor at the edge, or another process, asked for. */
export const wakeAt = (platform: Platform, cluster: string, signal: AbortSignal): Promise<void> =>
  wakeFound(platform, () => keptStackAt(platform.db, cluster), signal);

/** While an activity works on the environment, it is looked at again and again: the activity wakes it, or leaves it asleep. */
async function wakeFound(platform: Platform, find: () => Promise<KeptStack | undefined>, signal: AbortSignal) {
  const wakes = wakesOn(await platform.machine());
  for (let kept = await find(); kept?.is_sleeping; kept = await find()) {
    const sleeping = kept;
    // An environment that takes long to wake does not keep the others waiting.
    const begun = await wakes.within({ parties: sleeping.parties, part: sleeping.project_id, signal }, async () => {
      const waking = wakeNow(platform, sleeping, signal);
      await Promise.race([waking, sleep(slowSeconds * 1000)]).catch(() => {});
      return { waking };
    });
    if (await begun.waking) return;
    await sleep(lookAgainMilliseconds, undefined, { signal });
  }
}

/** Returns false where an activity works on the environment. */
async function wakeNow(platform: Platform, { project_id, environment_id, stack_id }: KeptStack, signal: AbortSignal): Promise<boolean> {
  const machine = await platform.machine();
  return aloneOnStack(machine, stack_id ?? '', async (stop) => {
    const mark = (tx: Tx) => markWakingUnlessWorkedOn(tx, project_id, environment_id);
    const refusal = await markWithRoom(platform, machine, project_id, environment_id, mark);
    if (refusal instanceof Problem) return turnAway(platform, machine, project_id, environment_id, refusal).then(() => true);
    if (!refusal) return false;
    await bringUp(platform, machine, project_id, environment_id, AbortSignal.any([signal, stop]));
    return true;
  });
}

/** Returns what `mark` returns. Where there is no room for the environment, nothing is marked, and a Problem says why. */
async function markWithRoom<T>(
  platform: Platform,
  machine: Machine,
  projectId: string,
  environmentId: string,
  mark: (tx: Tx) => Promise<T>,
) {
  const { db, config } = platform;
  const there = await amountsThere(machine);
  const marking = db.transaction().execute(async (tx) => {
    const subject = await subjectOf(tx, projectId, environmentId);
    await holdCapacity(tx);
    if (subject) await refuseToRunAgain(tx, config, subject, there);
    return mark(tx);
  });
  return marking.catch((error: unknown) => {
    if (error instanceof Problem) return error;
    throw error;
  });
}

/** Has the edge tell visitors that there is no room. A moment later the edge is told that the environment sleeps, so the next visitor has it tried again. */
async function turnAway(platform: Platform, machine: Machine, projectId: string, environmentId: string, refusal: Problem) {
  const deployed = await currentlyDeployed(platform.db, platform.secrets, projectId, environmentId);
  if (!deployed) return;
  await noteFailure(platform, machine, deployed, refusal);
  await tellEdge(machine, deployed, 'full');
}

/**
 * Called before an activity works on environments: from here on they are awake, and nobody else touches them. One that does not start is no reason to give
 * up: what is about to be deployed may be the cure.
 */
export async function wakeForWork(work: Work<unknown>, platform: Platform, environments: readonly string[]): Promise<void> {
  const { project_id } = work.activity;
  for (const environment of environments) {
    const kept = await keptStack(platform.db, project_id, environment);
    if (!kept?.stack_id) continue;
    await whenLeftAlone(await platform.machine(), kept.stack_id);
    await wakeOne(work, platform, environment);
  }
}

async function wakeOne({ activity, log, signal }: Work<unknown>, platform: Platform, environment: string) {
  const { project_id } = activity;
  const kept = await keptStack(platform.db, project_id, environment);
  if (!kept?.is_sleeping) return;
  const machine = await platform.machine();
  const refusal = await markWithRoom(platform, machine, project_id, environment, (tx) => markWaking(tx, project_id, environment));
  if (refusal instanceof Problem) return log(`W: ${environment} stays asleep: ${refusal.message}`);
  log(`Waking environment ${environment}`);
  const late = AbortSignal.timeout(wakeForWorkSecondsMax * 1000);
  try {
    await bringUp(platform, machine, project_id, environment, AbortSignal.any([signal, late]));
  } catch (error) {
    if (signal.aborted || !(late.aborted || error instanceof Problem)) throw error;
    const reason = error instanceof Problem ? error.message : `it was not ready after ${wakeForWorkSecondsMax} seconds`;
    log(`W: ${environment} could not be started as it was: ${reason}`);
  }
}

/** The edge opens the environment even where it did not start: it has a page for that, and nobody waits in vain. */
async function bringUp(platform: Platform, machine: Machine, projectId: string, environmentId: string, signal: AbortSignal) {
  const deployed = await currentlyDeployed(platform.db, platform.secrets, projectId, environmentId);
  if (!deployed) return;
  const startedAt = performance.now();
  try {
    await startStack(machine, deployed, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    await noteFailure(platform, machine, deployed, error);
    await tellEdge(machine, deployed, 'open');
    await markWoken(platform.db, projectId, environmentId);
    throw error;
  }
  await tellEdge(machine, deployed, 'open');
  await noteSuccess(platform, machine, deployed);
  await markWoken(platform.db, projectId, environmentId);
  const milliseconds = Math.round(performance.now() - startedAt);
  platform.log.info({ project: projectId, environment: environmentId, milliseconds }, 'an environment was woken');
}
