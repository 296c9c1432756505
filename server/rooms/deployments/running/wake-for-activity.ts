/** For activities that go on beside each other in an environment: it is awake when this resolves, whoever of them has woken it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import { keptStack } from './kept-stacks.ts';
import { startFailureOf } from './sleep-queries.ts';
import { wakeForWork } from './wake.ts';

const wakingSecondsMax = 120;
const lookAgainMilliseconds = 100;

export async function wakeForActivity(work: Work<unknown>, platform: Platform, environment: string): Promise<void> {
  const { project_id } = work.activity;
  const find = () => keptStack(platform.db, project_id, environment);
  if ((await find())?.is_sleeping) await wakeForWork(work, platform, [environment]);
  const deadline = performance.now() + wakingSecondsMax * 1000;
  for (let kept = await find(); kept?.is_sleeping || kept?.is_waking; kept = await find()) {
    const failure = kept.is_sleeping ? await startFailureOf(platform.db, project_id, environment) : null;
    if (kept.is_sleeping || performance.now() > deadline)
      throw new Problem(
        'unavailable',
        `The environment ${environment} could not be woken: ${failure ?? 'it takes too long, or there is no room'}`,
      );
    await sleep(lookAgainMilliseconds, undefined, { signal: work.signal });
  }
}
