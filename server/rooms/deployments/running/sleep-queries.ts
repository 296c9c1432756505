/** What is written down about sleep. An environment is asleep, or to be, from the moment that it says so here; all else follows from that. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { isBusy, keptStack, type KeptStack } from './kept-stacks.ts';
import { environmentLife } from '../../environments/life-cycle.ts';
import { noteAllocatedTo } from '../sizes/allocated.ts';

/** Whether an activity has begun to work on the environment; those that only wait do not touch it. */
const isWorkedOn = sql<boolean>`exists (select from activity_lanes join activities on activities.id = activity_lanes.activity_id
  where activity_lanes.project_id = environments.project_id and lane in (environments.id, '') and is_open and started_at is not null)`;

/** An SSH session that was not seen for this long is gone. */
const sessionSecondsMax = 60;

/** Whether somebody is inside, over SSH. */
const hasSession = sql<boolean>`exists (select from ssh_sessions
  where ssh_sessions.project_id = environments.project_id and environment_id = environments.id
    and seen_at > clock_timestamp() - make_interval(secs => ${sessionSecondsMax}))`;

const isInUse = sql<boolean>`(is_waking or ${isBusy} or ${isWorkedOn} or ${hasSession})`;

export interface AwakePreview {
  project_id: string;
  environment_id: string;
  machine_name: string;
  stack_id: string;
  /** How long the preview has to be without a request before it sleeps. */
  sleep_after_seconds: number;
}

/** Previews that may sleep, as far as the database knows: nobody works on them or in them, and they were neither deployed nor woken of late. */
export async function previewsThatMaySleep(db: Db, standardSeconds: number): Promise<AwakePreview[]> {
  const seconds = sql`coalesce(sleep_after_seconds, ${standardSeconds}::integer)`;
  const { rows } = await sql<AwakePreview>`
    select project_id, id as environment_id, machine_name, stack_id, ${seconds} as sleep_after_seconds
    from environments
    where ${environmentLife.sqlPossible('status', 'sleep')} and type <> 'production' and stack_id is not null and sleeping_since is null and ${seconds} > 0
      and greatest(woken_at, last_active_at) < now() - make_interval(secs => ${seconds}) and not ${isInUse}
    order by project_id, id`.execute(db);
  return rows;
}

/** Returns false where the environment has changed since, or somebody wants to use it. */
export async function markAsleep(db: Db, { project_id, environment_id, stack_id }: AwakePreview): Promise<boolean> {
  const { rows } = await sql`
    update environments set sleeping_since = clock_timestamp(), start_failure = null
    where project_id = ${project_id} and id = ${environment_id} and stack_id = ${stack_id}
      and ${environmentLife.sqlPossible('status', 'sleep')} and type <> 'production'
      and sleeping_since is null and not ${isInUse}
    returning id`.execute(db);
  if (rows.length > 0) await noteAllocatedTo(db, project_id, environment_id);
  return rows.length > 0;
}

/** Marks an environment that was asleep when it was lost: nothing was started when it was brought back. */
export async function markRestoredAsleep(tx: Tx, projectId: string, environmentId: string): Promise<void> {
  await sql`update environments set sleeping_since = clock_timestamp()
    where project_id = ${projectId} and id = ${environmentId} and ${environmentLife.sqlPossible('status', 'sleep')} and type <> 'production'`.execute(
    tx,
  );
  await noteAllocatedTo(tx, projectId, environmentId);
}

/** For callers that have the environment to themselves, so that nobody else can be waking it. */
export async function markWaking(db: Db | Tx, projectId: string, environmentId: string): Promise<void> {
  await sql`update environments set sleeping_since = null, is_waking = true
    where project_id = ${projectId} and id = ${environmentId} and sleeping_since is not null`.execute(db);
  await noteAllocatedTo(db, projectId, environmentId);
}

/** Returns false where the environment does not sleep, or where an activity works on it, which wakes it if need be. */
export async function markWakingUnlessWorkedOn(db: Db | Tx, projectId: string, environmentId: string): Promise<boolean> {
  const { rows } = await sql`
    update environments set sleeping_since = null, is_waking = true
    where project_id = ${projectId} and id = ${environmentId} and sleeping_since is not null and not ${isWorkedOn}
    returning id`.execute(db);
  if (rows.length > 0) await noteAllocatedTo(db, projectId, environmentId);
  return rows.length > 0;
}

/** Marks the end of waking: the environment is awake, or could not be woken. */
export const markWoken = (db: Db, projectId: string, environmentId: string) =>
  sql`update environments set is_waking = false, woken_at = clock_timestamp()
    where project_id = ${projectId} and id = ${environmentId} and is_waking`.execute(db);

/** Finds an environment by its name at the edge. */
export async function keptStackAt(db: Db, cluster: string): Promise<KeptStack | undefined> {
  const [projectId = '', machineName = ''] = cluster.split(/-(.*)/s);
  const row = await db
    .selectFrom('environments')
    .select('id')
    .where('project_id', '=', projectId)
    .where('machine_name', '=', machineName)
    .executeTakeFirst();
  return row && keptStack(db, projectId, row.id);
}

export async function startFailureOf(db: Db, projectId: string, environmentId: string): Promise<string | null> {
  const row = await db
    .selectFrom('environments')
    .select('start_failure')
    .where('project_id', '=', projectId)
    .where('id', '=', environmentId)
    .executeTakeFirst();
  return row?.start_failure ?? null;
}

/** Notes why the environment could not be started; null: it could, after all. */
export const noteStartFailure = (db: Db, projectId: string, environmentId: string, words: string | null) =>
  sql`update environments set start_failure = ${words}
    where project_id = ${projectId} and id = ${environmentId} and start_failure is distinct from ${words}`.execute(db);
