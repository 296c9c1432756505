/** One statement for a whole project. It reads rows that are there already: what was last measured, and the latest deployments and activities, by their indexes. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';

export interface Person {
  id: string;
  username: string;
  first_name: string;
  last_name: string;
  last_active_at: string;
}

export interface Shoot {
  id: string;
  type: EnvironmentType;
  data: { taken_from: string | null; taken_at: string | null; bytes: number | null; own_bytes: number | null };
  uses: { cpu: number | null; memory_bytes: number | null; measured_at: string | null };
  deployments: { at: string; is_successful: boolean }[];
  people: Person[];
}

/** What was measured longer ago than this is not what is used now: the environment is not on the machine any more, or nobody looks. */
const measuredMinutesMax = 5;
/** The platform itself, which did some of it, is no person. */
const uuidPattern = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
const deploymentsMax = 8;
const peopleMax = 3;
/** Who did nothing for so long does not work on it; nor does it matter who was there before so many others. */
const recently = { days: 14, activitiesMax: 1000 };

export async function treeOf(db: Db, projectId: string): Promise<Shoot[]> {
  const { rows } = await sql<Shoot>`
    with recent as (
      select environments[array_upper(environments, 1)] as environment, created_at,
        case when parameters ->> 'user' ~ ${uuidPattern} then (parameters ->> 'user')::uuid end as person
      from activities where project_id = ${projectId} and created_at > now() - make_interval(days => ${recently.days}::integer)
      order by created_at desc, id limit ${recently.activitiesMax}),
    active as (
      select environment, users.id, username, first_name, last_name, max(recent.created_at) as last_active_at,
        row_number() over (partition by environment order by max(recent.created_at) desc) as position
      from recent join users on users.id = recent.person group by environment, users.id),
    workers as (
      select environment, json_agg(json_build_object('id', id, 'username', username, 'first_name', first_name, 'last_name', last_name,
        'last_active_at', ${timeText(sql`last_active_at`)}) order by position) as people
      from active where position <= ${peopleMax} group by environment)
    select environments.id, environments.type,
      json_build_object('taken_from', data_taken_from, 'taken_at', ${timeText(sql`data_taken_at`)}, 'bytes', data_bytes, 'own_bytes', own_bytes) as data,
      json_build_object('cpu', cpu_used, 'memory_bytes', memory_bytes, 'measured_at', ${timeText(sql`measured_at`)}) as uses,
      coalesce(latest.deployments, '[]') as deployments, coalesce(people, '[]') as people
    from environments
    left join environment_use on environment_use.project_id = environments.project_id and environment_use.machine_name = environments.machine_name
      and measured_at > now() - make_interval(mins => ${measuredMinutesMax}::integer)
    left join workers on workers.environment = environments.id
    left join lateral (
      select json_agg(json_build_object('at', ${timeText(sql`created_at`)}, 'is_successful', is_successful) order by created_at desc) as deployments
      from (select created_at, ${deploymentLife.sqlPossible('status', 'show')} as is_successful from deployments
        where deployments.project_id = environments.project_id and deployments.environment_id = environments.id and not is_scaling
          and not ${deploymentLife.sqlPossible('status', 'prepare')}
        order by number desc limit ${deploymentsMax}) as each) as latest on true
    where environments.project_id = ${projectId} order by environments.id`.execute(db);
  return rows;
}

/** As the API writes times, inside of JSON that PostgreSQL makes. */
const timeText = (time: ReturnType<typeof sql>) => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')`;
