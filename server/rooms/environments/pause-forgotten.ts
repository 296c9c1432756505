/** Previews that nobody has deployed to for long are paused, as a person would pause them. Production never is. */
import { sql } from 'kysely';
import { startActivity } from '../../kernel/activity.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { actorById, environment as named, person, sentence, strong } from '../activities/public.ts';
import { environmentById, lockTree } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { pauseActivity } from './running-activities.ts';
import { isPossible } from './verbs.ts';
import { environmentLife } from './life-cycle.ts';

const atOnceMax = 100;
const daySeconds = 86_400;

export const pauseForgottenPreviews: Reconciler = {
  name: 'pause forgotten previews',
  everySeconds: 600,
  run: async (platform, signal) => {
    const { pauseAfterDays } = platform.config.previews;
    if (pauseAfterDays === 0) return;
    for (const preview of await forgottenPreviews(platform.db, pauseAfterDays)) if (!signal.aborted) await pause(platform, preview);
  },
};

interface Preview {
  project_id: string;
  id: string;
}

/** A deployment that failed counts, too, because it shows that somebody is working on the environment. */
const lastDeployedAt = sql`greatest(last_active_at, (last_deployment ->> 'at')::timestamptz)`;

async function forgottenPreviews(db: Db, days: number): Promise<Preview[]> {
  const { rows } = await sql<Preview>`
    select environments.project_id, environments.id from environments
    join projects on projects.id = environments.project_id and projects.default_branch <> environments.id
    where ${environmentLife.sqlPossible('environments.status', 'pause')} and environments.type <> 'production'
      and ${lastDeployedAt} < now() - make_interval(secs => ${days * daySeconds})
      and not exists (select from activity_lanes
        where activity_lanes.project_id = environments.project_id and lane in (environments.id, '') and is_open)
    order by ${lastDeployedAt} limit ${atOnceMax}`.execute(db);
  return rows;
}

const pause = ({ db, config }: Platform, { project_id, id }: Preview) =>
  db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const target = await environmentById(tx, config.domain, project_id, id);
    if (!target || target.is_dirty || !isPossible('pause', target)) return;
    const actor = await actorById(tx, null);
    const days = config.previews.pauseAfterDays;
    const reason = strong(`nothing was deployed to it for ${days} ${days === 1 ? 'day' : 'days'}`);
    await startActivity(tx, pauseActivity, {
      project_id,
      environments: [target],
      isOwed: true,
      input: { environment: id },
      parameters: { user: actor.id, environment: id },
      payload: { user: actor, environment: environmentSummary(target) },
      sentence: sentence`${person(actor)} paused environment ${named(target)}, as ${reason}`,
    });
  });
