/** A run of a cron that somebody asks for. Its times stay as they are; one run waits at most, whoever started it. */
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed } from '../activities/public.ts';
import { environmentLife } from '../environments/life-cycle.ts';
import { cronAt, type Cron } from './cron.ts';
import { takeCron } from './queries.ts';
import { startRun } from './start-run.ts';

const isWaiting = ({ last_run }: Pick<Cron, 'last_run'>) => last_run?.state === 'pending';

export const mayRunNow = (cron: Cron) =>
  environmentLife.possible(cron.environment.status, 'runCron') && cron.environment.sleeping_since === null && !isWaiting(cron);

export function notNow(cron: Cron): string {
  const { status, sleeping_since } = cron.environment;
  if (!environmentLife.possible(status, 'runCron')) return environmentLife.otherwise(status, 'runCron');
  return sleeping_since === null ? 'A run of the cron waits for its turn already.' : 'The environment sleeps, and a cron wakes nobody.';
}

export async function runNow({ db, secrets, config }: Platform, cron: Cron, caller: Caller): Promise<Changed<Cron>> {
  const { environment, app, name } = cron;
  const address = { project_id: environment.project_id, environment_id: environment.id, app, name };
  const activity = await db.transaction().execute(async (tx) => {
    if (!(await takeCron(tx, address))) throw new Problem('conflict', 'The cron is not scheduled yet; ask again in a moment.');
    const now = await cronAt(tx, secrets, config.domain, address);
    if (!now || !mayRunNow(now)) throw new Problem('conflict', now ? notNow(now) : 'There is no such cron any more.');
    return startRun(tx, { config }, address, now.definition, { actor: actorOf(caller.user), isOwed: false });
  });
  if (!activity) throw new Problem('not-found', 'No such cron.');
  return changed(cron, environment.organization_id, activity);
}
