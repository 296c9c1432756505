/**
 * What runs follows the suspension of organizations. While one is suspended, each of its environments that runs, or is about to, is paused as a person would
 * pause it, and remembered; once it is resumed, those that are remembered are resumed, and no others. Whatever is killed meanwhile, the next look goes on: an environment is
 * remembered together with the start of its pause, and forgotten together with the start of its return.
 */
import { sql } from 'kysely';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import { startActivity } from '../../kernel/activity.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { actorById, environment as named, person, sentence, strong } from '../activities/public.ts';
import { alignProjects } from '../organizations/public.ts';
import { environmentLife } from './life-cycle.ts';
import { environmentById, isWaiting, lockTree, updateEnvironment, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { pauseActivity, resumeActivity } from './running-activities.ts';

type Mention = ReturnType<typeof strong>;

const atOnceMax = 200;
/** A pause that failed is not tried again at once. */
const retrySeconds = 600;

export const followSuspensions: Reconciler = {
  name: 'follow suspensions',
  everySeconds: 15,
  run: async (platform, signal) => {
    await platform.db.transaction().execute(alignProjects);
    for (const address of await toBePaused(platform.db)) if (!signal.aborted) await pause(platform, address);
    for (const address of await toBeResumed(platform.db)) if (!signal.aborted) await resume(platform, address);
  },
};

type Address = Pick<Environment, 'project_id' | 'id'>;

const activityOf = (type: string, condition: ReturnType<typeof sql>) => sql`exists (select from activities
  where activities.project_id = environments.project_id and activities.type = ${type} and environments.id = any(activities.environments) and ${condition})`;

async function toBePaused(db: Db): Promise<Address[]> {
  const isUnderWay = activitiesThat('beUnderWay');
  const hasFailed = sql`activities.result = 'failure' and activities.completed_at > now() - make_interval(secs => ${retrySeconds})`;
  const { rows } = await sql<Address>`
    select environments.project_id, environments.id
    from organizations join projects on projects.organization_id = organizations.id and projects.status = 'suspended'
    join environments on environments.project_id = projects.id
    where organizations.status = 'suspended'
      and (${environmentLife.sqlPossible('environments.status', 'pause')} or ${activityOf(resumeActivity.type, isUnderWay)})
      and not ${activityOf(pauseActivity.type, isUnderWay)} and not ${activityOf(pauseActivity.type, hasFailed)}
    order by environments.type = 'production' desc, environments.project_id, environments.id limit ${atOnceMax}`.execute(db);
  return rows;
}

async function toBeResumed(db: Db): Promise<Address[]> {
  const { rows } = await sql<Address>`
    select environments.project_id, environments.id
    from environments join projects on projects.id = environments.project_id join organizations on organizations.id = projects.organization_id
    where environments.paused_by_suspension and organizations.status <> 'suspended'
    order by environments.type = 'production' desc, environments.project_id, environments.id limit ${atOnceMax}`.execute(db);
  return rows;
}

const pause = ({ db, config }: Platform, address: Address) =>
  db.transaction().execute(async (tx) => {
    const target = await targetOf(tx, config.domain, address, true);
    if (!target || (await isWaiting(tx, target, pauseActivity.type))) return;
    await updateEnvironment(tx, target.project_id, target.id, { paused_by_suspension: true });
    const reason = strong('its organization is suspended');
    await start(tx, pauseActivity, target, (who, where) => sentence`${who} paused environment ${where}, as ${reason}`);
  });

const resume = ({ db, config }: Platform, address: Address) =>
  db.transaction().execute(async (tx) => {
    const target = await targetOf(tx, config.domain, address, false);
    if (!target?.paused_by_suspension) return;
    await updateEnvironment(tx, target.project_id, target.id, { paused_by_suspension: false });
    // What was deactivated or deleted in the meantime stays so. What is about to be paused is resumed right afterwards.
    const isPaused = environmentLife.possible(target.status, 'resume') || (await isWaiting(tx, target, pauseActivity.type));
    const reason = strong('its organization is no longer suspended');
    if (isPaused) await start(tx, resumeActivity, target, (who, where) => sentence`${who} resumed environment ${where}, as ${reason}`);
  });

/** The environment, where its organization still is what it was found to be, and stays so until the transaction ends. */
async function targetOf(tx: Tx, domain: string, { project_id, id }: Address, isSuspended: boolean): Promise<Environment | undefined> {
  const { rows } = await sql<{ is_suspended: boolean }>`
    select organizations.status = 'suspended' as is_suspended from projects join organizations on organizations.id = projects.organization_id
    where projects.id = ${project_id} for share of organizations`.execute(tx);
  if (rows[0]?.is_suspended !== isSuspended) return undefined;
  await lockTree(tx, project_id);
  return environmentById(tx, domain, project_id, id);
}

async function start(
  tx: Tx,
  activity: typeof pauseActivity,
  target: Environment,
  say: (who: Mention, where: Mention) => ReturnType<typeof sentence>,
) {
  const actor = await actorById(tx, null);
  await startActivity(tx, activity, {
    project_id: target.project_id,
    environments: [target],
    isOwed: true,
    input: { environment: target.id },
    parameters: { user: actor.id, environment: target.id },
    payload: { user: actor, environment: environmentSummary(target) },
    sentence: say(person(actor), named(target)),
  });
}
