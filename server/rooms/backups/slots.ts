/** Which automated backups were begun. An environment has one row, which whoever begins one changes: so each is begun once, whoever else looks. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { isBeingBackedUp } from '../environments/public.ts';
import { environmentLife } from '../environments/life-cycle.ts';

/** How often a failed backup is tried; after the last attempt the next slot is waited for. */
const attemptsMax = 3;
const againMinutes = 20;

/** An environment that runs, to which nothing is happening, and of which no backup is being made. */
export interface Candidate {
  project_id: string;
  environment_id: string;
  type: EnvironmentType;
  timezone: string;
  data_retention: unknown;
  /** Since when there is something to back up. */
  since: string;
  /** The last slot for which a backup was begun; null where there was none. */
  slot_at: string | null;
  is_over: boolean;
}

/** An environment that is younger is still being set up, and has no automated backup yet. */
const youngMinutes = 60;

/** Whether nothing is to be done any more about the slot that was begun last. */
const isOver = sql<boolean>`coalesce(backup_slots.is_done or backup_slots.attempts >= ${attemptsMax}
  or backup_slots.tried_at > now() - make_interval(mins => ${againMinutes}::integer), true)`;

/** An environment that has slept since its last backup is left out, as there is nothing new in it. */
export const candidates = async (db: Db): Promise<Candidate[]> => {
  const { rows } = await sql<Candidate>`
    select environments.project_id, environments.id as environment_id, environments.type, projects.timezone,
      projects.settings -> 'data_retention' as data_retention, environments.created_at + make_interval(mins => ${youngMinutes}::integer) as since,
      backup_slots.slot_at, ${isOver} as is_over
    from environments join projects on projects.id = environments.project_id and projects.status = 'active'
    left join backup_slots on backup_slots.project_id = environments.project_id and backup_slots.environment_id = environments.id
    where ${environmentLife.sqlPossible('environments.status', 'backUp')} and (environments.sleeping_since is null or environments.last_backup_at is null
        or environments.last_backup_at < environments.sleeping_since)
      and (environments.type = 'production' or jsonb_typeof(projects.settings -> 'data_retention') = 'object')
      and not exists (select from activity_lanes
        where activity_lanes.project_id = environments.project_id and lane in (environments.id, '') and is_open)
      and not ${isBeingBackedUp}
    order by environments.project_id, environments.id`.execute(db);
  return rows;
};

/** False where somebody else has begun the slot, or where nothing more is to be done about it. */
export async function claimSlot(tx: Tx, projectId: string, environmentId: string, at: string): Promise<boolean> {
  const { rows } = await sql`
    insert into backup_slots (project_id, environment_id, slot_at) values (${projectId}, ${environmentId}, ${at}::timestamptz)
    on conflict (project_id, environment_id) do update set slot_at = excluded.slot_at, tried_at = clock_timestamp(), is_done = false,
      attempts = case when backup_slots.slot_at = excluded.slot_at then backup_slots.attempts + 1 else 1 end
    where backup_slots.slot_at < excluded.slot_at or (backup_slots.slot_at = excluded.slot_at and not ${isOver})
    returning slot_at`.execute(tx);
  return rows.length > 0;
}

/** The number of the next automated backup of the environment. */
export async function indexInSlots(tx: Tx, projectId: string, environmentId: string): Promise<number> {
  const { rows } = await sql<{ made: number }>`
    select made from backup_slots where project_id = ${projectId} and environment_id = ${environmentId}`.execute(tx);
  return (rows[0]?.made ?? 0) + 1;
}

export const finishSlot = async (tx: Tx, projectId: string, environmentId: string, at: string): Promise<void> =>
  void (await sql`update backup_slots set is_done = true, made = made + 1
    where project_id = ${projectId} and environment_id = ${environmentId} and slot_at = ${at}::timestamptz`.execute(tx));
