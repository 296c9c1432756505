import { sql } from 'kysely';
import type { Activity } from '../../kernel/activity.ts';
import { activitiesThat, activityLife } from '../../kernel/activity-life-cycle.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { listed, type ListedActivity } from './listed-activity.ts';

type Row = Activity & { organization_id: string };

export async function activityById(db: Db | Tx, projectId: string, id: string): Promise<ListedActivity | undefined> {
  const { rows } = await sql<Row>`
    select activities.*, projects.organization_id from activities join projects on projects.id = activities.project_id
    where activities.id = ${id} and activities.project_id = ${projectId} and projects.status <> 'deleted'`.execute(db);
  return rows[0] && listed(rows[0]);
}

export interface ActivityFilters {
  project_id: string;
  organization_id: string;
  /** When absent, the activities of the whole project are meant. */
  environment?: string;
  /** When present, only activities of this integration. */
  integration?: string;
  /** The types of environments that the caller may see; activities that concern others are left out. */
  visible: readonly string[];
  types: readonly string[] | undefined;
  states: readonly string[] | undefined;
  results: readonly string[] | undefined;
  /** Only activities that were created at this moment or before it. */
  until: string | undefined;
  count: number;
}

/**
 * Activities, the newest first: one range of one index, either of the project or of the environment. A list of an environment that asks for staged
 * activities gets only those that wait in that environment: a merge belongs to the child, too, but waits in the parent.
 */
export async function activitiesWith(db: Db, filters: ActivityFilters): Promise<ListedActivity[]> {
  const { project_id, environment, integration, visible, types, states, results, until, count } = filters;
  const wanted = sql`activities.environment_types <@ ${visible}::text[]
    ${integration === undefined ? sql`` : sql`and activities.integration = ${integration}`}
    ${types ? sql`and activities.type = any(${types}::text[])` : sql``}
    ${states ? sql`and activities.state = any(${states}::text[])` : sql``}
    ${results ? sql`and activities.result = any(${results}::text[])` : sql``}`;
  const { rows } = await (
    environment === undefined
      ? sql<Activity>`
      select activities.* from activities
      where activities.project_id = ${project_id} ${until ? sql`and activities.created_at <= ${until}::timestamptz` : sql``} and ${wanted}
      order by activities.created_at desc, activities.id limit ${count}`
      : sql<Activity>`
      select activities.* from activity_lanes join activities on activities.id = activity_lanes.activity_id
      where activity_lanes.project_id = ${project_id} and activity_lanes.lane = ${environment}
        ${until ? sql`and activity_lanes.created_at <= ${until}::timestamptz` : sql``} and ${wanted}
        ${asksForStaged(states) ? sql`and (not ${activitiesThat('release')} or activities.staged_in = ${environment})` : sql``}
      order by activity_lanes.created_at desc, activity_lanes.activity_id limit ${count}`
  ).execute(db);
  return rows.map((row) => listed({ ...row, organization_id: filters.organization_id }));
}

const asksForStaged = (states: ActivityFilters['states']) => activityLife.statesThat('release').some((state) => states?.includes(state));

/** Deletes expired activities. The newest `keptPerProject` of each project are kept, crons and backups aside, which nobody asks about later. */
export const deleteExpired = (db: Db, keptPerProject: number, most: number) =>
  sql`with expired as (
      select id, type, row_number() over (partition by project_id, type in ('environment.cron', 'environment.backup') order by created_at desc) as age
      from activities where expires_at < now() and ${activitiesThat('beOver')})
    delete from activities where id in (
      select id from expired where type in ('environment.cron', 'environment.backup') or age > ${keptPerProject} limit ${most})`.execute(
    db,
  );
