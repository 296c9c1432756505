import { sql, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import type { Cron } from '../builds/public.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import { environmentLife } from '../environments/life-cycle.ts';

type Row = Selectable<Database['crons']>;
export type CronAddress = Pick<Row, 'project_id' | 'environment_id' | 'app' | 'name'>;

/** A deployment that became current and whose crons are not scheduled yet. */
export interface Unscheduled {
  id: string;
  project_id: string;
  environment_id: string;
  settings: Record<string, unknown>;
  crons: { app: string; name: string; spec: string; timezone: string | null }[];
}

export const unscheduledDeployments = async (db: Db, most: number): Promise<Unscheduled[]> => {
  const { rows } = await sql<Unscheduled>`
    select deployments.id, deployments.project_id, environment_id, projects.settings, (
      select coalesce(json_agg(json_build_object('app', app.key, 'name', cron.key, 'spec', cron.value ->> 'spec', 'timezone', app.value ->> 'timezone')), '[]')
      from json_each(model -> 'applications') as app, json_each(app.value -> 'crons') as cron) as crons
    from deployments join projects on projects.id = deployments.project_id
    where ${deploymentLife.sqlPossible('deployments.status', 'run')} and not has_crons_scheduled order by deployments.id limit ${most}`.execute(
    db,
  );
  return rows;
};

/** False where another deployment has become current, or where the crons of this one are scheduled already. */
export const markScheduled = async (tx: Tx, deploymentId: string): Promise<boolean> => {
  const { rows } = await sql`update deployments set has_crons_scheduled = true
    where id = ${deploymentId} and ${deploymentLife.sqlPossible('status', 'run')} and not has_crons_scheduled returning id`.execute(tx);
  return rows.length > 0;
};

export interface NewCron extends Pick<Row, 'app' | 'name' | 'spec' | 'timezone'> {
  next_at: string;
}

/** Makes these the only crons of the environment. A cron whose times did not change keeps the slot that it waits for, or has missed. */
export async function replaceCrons(tx: Tx, projectId: string, environmentId: string, crons: readonly NewCron[]): Promise<void> {
  const wanted = sql`jsonb_to_recordset(${JSON.stringify(crons)}::jsonb) as wanted (app text, name text, spec text, timezone text, next_at timestamptz)`;
  await sql`delete from crons where project_id = ${projectId} and environment_id = ${environmentId}
    and not exists (select from ${wanted} where wanted.app = crons.app and wanted.name = crons.name)`.execute(tx);
  await sql`
    insert into crons (project_id, environment_id, app, name, spec, timezone, next_at)
    select ${projectId}, ${environmentId}, app, name, spec, timezone, next_at from ${wanted}
    on conflict (project_id, environment_id, app, name) do update
      set spec = excluded.spec, timezone = excluded.timezone, next_at = excluded.next_at, left_out = 0
      where crons.spec <> excluded.spec or crons.timezone is distinct from excluded.timezone`.execute(tx);
}

export interface DueCron extends Omit<Row, 'timezone'> {
  zone: string;
  settings: Record<string, unknown>;
  environment_type: EnvironmentType;
  machine_name: string;
  /** Whether the environment runs, so that the cron can run in it. */
  can_run: boolean;
  is_deployed: boolean;
  /** Whether the run that was started before still waits for its turn. */
  is_last_waiting: boolean;
  /** Null where the cron cannot run, or where what is deployed does not have it any more. */
  definition: Cron | null;
}

/** The crons whose time has come, oldest first. Crons that are not due cost nothing, however many there are. */
export const dueCrons = async (db: Db, now: Date, most: number): Promise<DueCron[]> => {
  const { rows } = await sql<DueCron>`
    select crons.project_id, crons.environment_id, crons.app, crons.name, crons.spec, crons.next_at, crons.last_at, crons.activity_id, crons.left_out,
      coalesce(crons.timezone, 'UTC') as zone, projects.settings, environments.type as environment_type, environments.machine_name,
      can_run, deployments.id is not null as is_deployed, coalesce(${activitiesThat('wait', 'runs')}, false) as is_last_waiting,
      case when can_run then deployments.model #> array['applications', crons.app, 'crons', crons.name] end as definition
    from crons
    join environments on environments.project_id = crons.project_id and environments.id = crons.environment_id
    join projects on projects.id = crons.project_id
    cross join lateral (
      select ${environmentLife.sqlPossible('environments.status', 'runCron')} and sleeping_since is null and projects.status = 'active' as can_run) as circumstances
    left join activities as runs on runs.id = crons.activity_id
    left join deployments on deployments.project_id = crons.project_id and deployments.environment_id = crons.environment_id
      and ${deploymentLife.sqlPossible('deployments.status', 'run')}
    where crons.next_at <= ${now.toISOString()}::timestamptz order by crons.next_at limit ${most}`.execute(db);
  return rows;
};

type Slot = CronAddress & Pick<Row, 'next_at'>;

/** `runs` starts a run; `waits` leaves the slot out, because an earlier run of the cron still waits for its turn. */
export type Heeding = 'runs' | 'waits';

/** Moves the cron on to its next slot. False where somebody else did so first: each slot is heeded exactly once. */
export async function heedSlot(tx: Tx, cron: Slot, next: Date, heeding: Heeding): Promise<boolean> {
  const { rows } = await sql`
    update crons set next_at = ${next.toISOString()}::timestamptz, last_at = case when ${heeding === 'runs'} then next_at else last_at end,
      left_out = left_out + ${heeding === 'waits' ? 1 : 0}::integer
    where ${at(cron)} and next_at = ${cron.next_at}::timestamptz returning name`.execute(tx);
  return rows.length > 0;
}

/** All slots pass in one statement: there may be many environments in which nothing runs. */
export const passSlots = (db: Db, slots: readonly (Slot & { next: string })[]) =>
  sql`update crons set next_at = passed.next
    from jsonb_to_recordset(${JSON.stringify(slots)}::jsonb)
      as passed (project_id text, environment_id text, app text, name text, next_at timestamptz, next timestamptz)
    where crons.project_id = passed.project_id and crons.environment_id = passed.environment_id and crons.app = passed.app
      and crons.name = passed.name and crons.next_at = passed.next_at`.execute(db);

export const noteRun = (tx: Tx, cron: CronAddress, activityId: string) =>
  sql`update crons set activity_id = ${activityId} where ${at(cron)}`.execute(tx);

export const removeCron = (tx: Tx, cron: CronAddress) => sql`delete from crons where ${at(cron)}`.execute(tx);

const at = ({ project_id, environment_id, app, name }: CronAddress) =>
  sql`project_id = ${project_id} and environment_id = ${environment_id} and app = ${app} and name = ${name}`;

/** How many slots were left out since the last call. */
export async function takeLeftOut(tx: Tx, cron: CronAddress): Promise<number> {
  const { rows } = await sql<{ left_out: number }>`
    with before as (select left_out from crons where ${at(cron)} for update)
    update crons set left_out = 0 from before where ${at(cron)} returning before.left_out`.execute(tx);
  return rows[0]?.left_out ?? 0;
}

/** Lists the activity for so many days from its creation. */
export const keepActivity = (tx: Tx, activityId: string, days: number) =>
  sql`update activities set expires_at = created_at + make_interval(days => ${days}::integer) where id = ${activityId}`.execute(tx);

/** When a cron runs next, when its time came last, and how its last run went, of whoever started it. */
export interface CronTimes extends Pick<Row, 'app' | 'name' | 'next_at' | 'last_at'> {
  last_run: { activity: string; state: string; result: string | null; started_at: string | null; completed_at: string | null } | null;
}

export async function cronTimes(db: Db | Tx, projectId: string, environmentId: string): Promise<CronTimes[]> {
  const { rows } = await sql<CronTimes>`
    select crons.app, crons.name, crons.next_at, crons.last_at,
      case when runs.id is not null then json_build_object('activity', runs.id, 'state', runs.state, 'result', runs.result,
        'started_at', runs.started_at, 'completed_at', runs.completed_at) end as last_run
    from crons left join activities as runs on runs.id = crons.activity_id
    where crons.project_id = ${projectId} and crons.environment_id = ${environmentId}`.execute(db);
  return rows;
}

/** Keeps others from starting a run of the cron until the transaction ends. False where no such cron is scheduled. */
export const takeCron = async (tx: Tx, cron: CronAddress): Promise<boolean> =>
  (await sql`select from crons where ${at(cron)} for update`.execute(tx)).rows.length > 0;
