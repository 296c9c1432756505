/** Which backups stay and which go: the SQL of remove-old-backups.ts. What an activity is at work on is left to it. */
import { sql } from 'kysely';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Db } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { isBeingMade } from '../environments/public.ts';
import { backupsThat, becoming } from './life-cycle.ts';

const isOpen = (activityId: string) =>
  sql<boolean>`exists (select from activities where activities.id = ${sql.ref(activityId)}
    and ${activitiesThat('beOpen')})`;

const isRestored = sql<boolean>`exists (select from activities where activities.project_id = backups.project_id
  and ${activitiesThat('beOpen')} and type = 'environment.restore' and payload ->> 'backup_name' = backups.id)`;

const hasEnvironment = sql<boolean>`exists (select from environments
  where environments.project_id = backups.project_id and environments.id = backups.environment_id)`;

export const hasBackups = async (db: Db): Promise<boolean> => {
  const { rows } = await sql`select from backups limit 1`.execute(db);
  return rows.length > 0;
};

export const orphanDays = 14;

/** Orphans have no environment any more; where a branch of that name comes back, they belong to it again. A damaged one expires no later than it would have. */
export async function noteOrphans(db: Db): Promise<void> {
  await sql`update backups set orphaned_at = now(), updated_at = clock_timestamp(),
      expires_at = least(case when ${backupsThat('review')} then expires_at end, now() + make_interval(days => ${orphanDays}::integer))
    where orphaned_at is null and ${backupsThat('keep')} and not ${hasEnvironment}`.execute(db);
  await sql`update backups set orphaned_at = null, expires_at = case when ${backupsThat('review')} then expires_at end, updated_at = clock_timestamp()
    where orphaned_at is not null and ${backupsThat('keep')} and ${hasEnvironment}`.execute(db);
}

/** Lets backups expire that have no environment any more, or are damaged. */
export const letExpire = (db: Db) =>
  sql`update backups set ${becoming('letGo')}
    where (orphaned_at is not null or damaged_at is not null) and ${backupsThat('letGo')} and expires_at <= now() and not ${isRestored}`.execute(
    db,
  );

/** A backup that nobody works on any more came to nothing; one whose deletion was cancelled before it began stays. */
export async function settleForgotten(db: Db): Promise<void> {
  await sql`update backups set ${becoming('beForgotten')}
    where ${backupsThat('beForgotten')} and activity_id is not null and not ${isOpen('backups.activity_id')}`.execute(db);
  await sql`update backups set ${becoming('spare')}, deletion_id = null
    from activities where activities.id = backups.deletion_id and ${activitiesThat('beForNothing')} and activities.started_at is null
      and ${backupsThat('spare')}`.execute(db);
}

/** An environment whose backups or retention policy changed since it was last decided which of its backups stay. */
export interface ChangedEnvironment {
  project_id: string;
  environment_id: string;
  type: EnvironmentType;
  timezone: string;
  data_retention: unknown;
  /** A digest of all that the decision depends on: each change of a backup gives it another time, and each removal another count. */
  basis: string;
}

/** Reads one index of the backups that can be restored, and finds nothing where nothing changed. Ordered by name, beginning after `last`. */
export const changedEnvironments = async (db: Db, last: ChangedEnvironment | undefined, most: number): Promise<ChangedEnvironment[]> => {
  const { rows } = await sql<ChangedEnvironment>`
    with kept as (
      select project_id, environment_id, count(*) as backups, max(updated_at) as changed_at from backups
      where ${backupsThat('restore')} and (project_id, environment_id) > (${last?.project_id ?? ''}, ${last?.environment_id ?? ''})
      group by project_id, environment_id)
    select kept.project_id, kept.environment_id, environments.type, projects.timezone, data_retention, basis
    from kept join projects on projects.id = kept.project_id and projects.status = 'active'
    join environments on environments.project_id = kept.project_id and environments.id = kept.environment_id
    cross join lateral (select projects.settings -> 'data_retention' as data_retention) as policy
    cross join lateral (
      select md5(jsonb_build_array(backups, changed_at, environments.type, projects.timezone, data_retention)::text) as basis) as now
    where not exists (select from applied_retention
      where applied_retention.project_id = kept.project_id and applied_retention.environment_id = kept.environment_id
        and applied_retention.basis = now.basis)
    order by kept.project_id, kept.environment_id limit ${most}`.execute(db);
  return rows;
};

export async function noteApplied(db: Db, environments: readonly ChangedEnvironment[]): Promise<void> {
  if (environments.length > 0)
    await sql`insert into applied_retention (project_id, environment_id, basis)
      select project_id, environment_id, basis from ${among(environments)}
      where exists (select from environments where environments.project_id = among.project_id and environments.id = among.environment_id)
      on conflict (project_id, environment_id) do update set basis = excluded.basis`.execute(db);
}

const among = (environments: readonly ChangedEnvironment[]) =>
  sql`jsonb_to_recordset(${JSON.stringify(environments)}::jsonb) as among (project_id text, environment_id text, basis text)`;

/** A backup that can be restored, with what decides how long it stays. */
export interface KeptRow {
  id: string;
  project_id: string;
  environment_id: string;
  automated: boolean;
  at: string;
  expires_at: string | null;
}

export const keptBackups = async (db: Db, environments: readonly ChangedEnvironment[]): Promise<KeptRow[]> => {
  const { rows } = await sql<KeptRow>`
    select backups.id, backups.project_id, backups.environment_id, automated, expires_at,
      coalesce(slot_at, (origin ->> 'imported_at')::timestamptz, created_at) as at
    from ${among(environments)} join backups on backups.project_id = among.project_id and backups.environment_id = among.environment_id
    where ${backupsThat('restore')}`.execute(db);
  return rows;
};

export async function letGo(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await sql`update backups set ${becoming('letGo')}
      where id = any(${ids}) and ${backupsThat('letGo')} and not ${isRestored}`.execute(db);
}

export async function tellExpiry(db: Db, changes: readonly { id: string; expires_at: string | null }[]): Promise<void> {
  if (changes.length > 0)
    await sql`update backups set expires_at = change.expires_at, updated_at = clock_timestamp()
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as change (id text, expires_at timestamptz)
      where backups.id = change.id and ${backupsThat('want')}`.execute(db);
}

/** The backups that may have a copy on the pool. */
export const beingMade = async (db: Db): Promise<Set<string>> => {
  const { rows } = await sql<{ id: string }>`
    select id from backups where ${isBeingMade}`.execute(db);
  return new Set(rows.map(({ id }) => id));
};

/** The backups of one project that are to go. */
export interface ExpiringBackups {
  project_id: string;
  ids: string[];
  /** The project is gone, and these are the last of it. */
  is_last_of_deleted: boolean;
}

export const expiringBackups = async (db: Db): Promise<ExpiringBackups[]> => {
  const { rows } = await sql<ExpiringBackups>`
    select backups.project_id, array_agg(backups.id) as ids, bool_and(coalesce(projects.status, 'deleted') = 'deleted' and not exists (
      select from backups as kept where kept.project_id = backups.project_id and ${backupsThat('want', 'kept')})) as is_last_of_deleted
    from backups left join projects on projects.id = backups.project_id
    where ${backupsThat('remove')} and not ${isOpen('backups.deletion_id')} and not ${isOpen('backups.activity_id')}
    group by backups.project_id`.execute(db);
  return rows;
};
