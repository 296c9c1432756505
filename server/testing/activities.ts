/** Durable work in tests: carried out to its end, interrupted after each step, failed at each step. */
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Activity, ActivityDefinition } from '../kernel/activity.ts';
import { activitiesThat } from '../kernel/activity-life-cycle.ts';
import { Interrupted, type Faults } from '../kernel/activity-run.ts';
import { Problem } from '../kernel/problem.ts';
import { activitiesOf } from '../kernel/room.ts';
import { startRunner } from '../kernel/runner.ts';
import type { Platform } from '../platform.ts';
import { rooms } from '../rooms.ts';

const waitMillisecondsMax = 300_000;
const lookMilliseconds = 20;

/** Works until nothing waits any more. */
export async function workThrough(platform: Platform, faults?: Faults, definitions: ActivityDefinition[] = activitiesOf(rooms)) {
  const runner = startRunner(definitions, platform, { leaseSeconds: 2, ...(faults && { faults }) });
  try {
    const until = Date.now() + waitMillisecondsMax;
    while (await isWorkLeft(platform)) {
      if (Date.now() > until) throw new Error('The activities did not come to an end');
      await new Promise((resolve) => setTimeout(resolve, lookMilliseconds));
    }
  } finally {
    await runner.close();
  }
}

const isWorkLeft = async ({ db }: Platform) => {
  const { rows } = await sql`select from activities where ${activitiesThat('beUnderWay')} limit 1`.execute(db);
  return rows.length > 0;
};

export const activityRow = async ({ db }: Platform, id: string): Promise<Activity> =>
  db.selectFrom('activities').selectAll().where('id', '=', id).$narrowType<Pick<Activity, 'state'>>().executeTakeFirstOrThrow();

/**
 * Every step is done, then interrupted before its result is stored, and done again by the next run. The activity must end well, and whoever calls
 * looks at whether the outcome is what one run would have left. `meanwhile` happens at each interruption.
 */
export async function eachStepTwice(
  platform: Platform,
  begin: () => Promise<{ id: string }>,
  definitions?: ActivityDefinition[],
  state = 'complete',
  meanwhile?: () => Promise<void>,
) {
  const { id } = await begin();
  const interrupted: string[] = [];
  const afterWork = async (activity: Activity, step: string) => {
    if (activity.id !== id || interrupted.includes(step)) return;
    interrupted.push(step);
    await meanwhile?.();
    throw new Interrupted('stopping');
  };
  await workThrough(platform, { afterWork }, definitions);
  expect(interrupted).not.toEqual([]);
  expect(await activityRow(platform, id)).toMatchObject({ state, result: 'success' });
  return interrupted;
}

/** For each step in turn, an activity that fails right after it: everything must be as it was before. */
export async function failAtEachStep(
  platform: Platform,
  begin: () => Promise<{ id: string }>,
  unchanged: (step: string) => Promise<void>,
  definitions?: ActivityDefinition[],
) {
  const failed: string[] = [];
  for (;;) {
    const { id } = await begin();
    let current: string | undefined;
    const afterWork = (activity: Activity, step: string) => {
      if (activity.id !== id || failed.includes(step)) return;
      current = step;
      throw new Problem('unavailable', 'A test broke this.');
    };
    await workThrough(platform, { afterWork }, definitions);
    if (current === undefined) break;
    failed.push(current);
    expect(await activityRow(platform, id)).toMatchObject({ state: 'complete', result: 'failure', failure_reason: 'error' });
    await unchanged(current);
  }
  expect(failed).not.toEqual([]);
  return failed;
}
