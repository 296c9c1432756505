/** The facts that a month is reckoned from: contracts, metered use, users. What projects and organizations had is known also when they are gone. */
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import { dayAt, daysBetween, startOf, type Day } from '../../kernel/days.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { usageDays } from '../metering/public.ts';
import type { Currency, PriceList } from '../prices/public.ts';
import { regionsOf } from '../regions/public.ts';
import { endOfMonth, type Month } from './month.ts';
import type { MonthFacts, PlanSpan, ProjectFacts, UsersOfDay } from './reckon.ts';

export interface Asked {
  organizationId: string;
  month: Month;
  currency: Currency;
  lists: readonly PriceList[];
  /** What lies after this has not happened yet; Unix milliseconds. */
  until: number;
}

export async function factsOf(db: Db | Tx, config: Pick<Config, 'region' | 'url'>, asked: Asked): Promise<MonthFacts> {
  const { month, currency, lists } = asked;
  return { month, currency, lists, projects: await projectsIn(db, config, asked), users: await usersIn(db, asked) };
}

interface Contracted {
  project_id: string;
  subscription_id: number;
  title: string;
  region: string;
  plan: string;
  contract_options: Record<string, string>;
  status: string;
  started_at: string;
  ended_at: string | null;
}

async function projectsIn(
  db: Db | Tx,
  config: Pick<Config, 'region' | 'url'>,
  { organizationId, month, until }: Asked,
): Promise<ProjectFacts[]> {
  const [from, to] = [month, endOfMonth(month)];
  const { rows } = await sql<Contracted>`
    select project_id, subscription_id, title, region, plan, contract_options, status, started_at, ended_at from plan_records
    where organization_id = ${organizationId} and started_at < ${`${to}T00:00:00Z`} and (ended_at is null or ended_at > ${`${from}T00:00:00Z`})
    order by subscription_id, started_at, id`.execute(db);
  const green = new Set(regionsOf(config).flatMap(({ id, environmental_impact }) => (environmental_impact.green ? [id] : [])));
  const usage = Map.groupBy(await usageDays(db, organizationId, from, to), ({ project_id }) => project_id);
  const contracts = Map.groupBy(rows, ({ project_id }) => project_id);
  return [...new Set([...contracts.keys(), ...usage.keys()])].map((id) => {
    const held = contracts.get(id) ?? [];
    const last = held.at(-1);
    const end = Math.min(until, startOf(to));
    return {
      id,
      subscription_id: last?.subscription_id ?? 0,
      title: last?.title || id,
      isGreen: last !== undefined && green.has(last.region),
      spans: held.flatMap((record) => spanOf(record, startOf(from), end)),
      usage: usage.get(id) ?? [],
    };
  });
}

/** A suspended project keeps its contract, and pays nothing for it. */
function spanOf({ plan, contract_options, status, started_at, ended_at }: Contracted, from: number, to: number): PlanSpan[] {
  const span = { from: Math.max(from, Date.parse(started_at)), to: ended_at === null ? to : Math.min(to, Date.parse(ended_at)) };
  return status === 'active' && span.from < span.to ? [{ plan, options: contract_options, ...span }] : [];
}

/** Days on which nobody looked were like the one before. After the last look at an organization that is gone there were none. */
async function usersIn(db: Db | Tx, { organizationId, month, until }: Asked): Promise<Map<Day, UsersOfDay>> {
  const { rows } = await sql<UsersOfDay & { day: Day }>`
    select day, admin_users, viewer_users, user_management, support_level from billed_users
    where organization_id = ${organizationId} and day < ${endOfMonth(month)}::date
      and day >= coalesce((select max(day) from billed_users where organization_id = ${organizationId} and day < ${month}::date), ${month}::date)
    order by day`.execute(db);
  const { rows: present } = await sql`select from organizations where id = ${organizationId}`.execute(db);
  const lastDay = present.length > 0 ? dayAt(Math.min(until, startOf(endOfMonth(month))) - 1) : (rows.at(-1)?.day ?? month);
  const users = new Map<Day, UsersOfDay>();
  for (const day of daysBetween(month, endOfMonth(month))) {
    const known = rows.findLast((row) => row.day <= day);
    if (known && day <= lastDay) users.set(day, known);
  }
  return users;
}

/** A member who can change anything is charged as an admin user; every other member as a viewer. */
const canChange = sql`(
  members.user_id = organizations.owner_id
  or exists (select from unnest(members.permissions) as held where held <> 'projects:list')
  or exists (select from user_access, unnest(user_access.permissions) as held
    where user_access.organization_id = members.organization_id and user_access.user_id = members.user_id and held !~ 'viewer$')
  or exists (select from team_members join teams on teams.id = team_members.team_id, unnest(teams.project_permissions) as held
    where team_members.organization_id = members.organization_id and team_members.user_id = members.user_id and held !~ 'viewer$'
      and exists (select from team_access where team_access.team_id = teams.id)))`;

const usersNow = sql`
  select organizations.id as organization_id, count(*) filter (where ${canChange})::integer as admin_users,
    count(*) filter (where not ${canChange})::integer as viewer_users, coalesce(user_management, '') as user_management,
    coalesce(support_level, '') as support_level
  from organizations join organization_members as members on members.organization_id = organizations.id
  join users on users.id = members.user_id and not users.deactivated
  left join organization_addons on organization_addons.organization_id = organizations.id
  group by organizations.id, user_management, support_level`;

/** Notes how many users every organization has; of several looks on a day, most count. Levels that change are noted as they do (`noteLevels`). */
export const noteUsers = (db: Db | Tx, day: Day) =>
  sql`
  insert into billed_users (organization_id, day, admin_users, viewer_users, user_management, support_level)
  select organization_id, ${day}::date, admin_users, viewer_users, user_management, support_level from (${usersNow}) as counted
  on conflict (organization_id, day) do update set admin_users = greatest(billed_users.admin_users, excluded.admin_users),
    viewer_users = greatest(billed_users.viewer_users, excluded.viewer_users),
    user_management = coalesce(nullif(billed_users.user_management, ''), excluded.user_management),
    support_level = coalesce(nullif(billed_users.support_level, ''), excluded.support_level)`.execute(db);

type Levels = Pick<UsersOfDay, 'user_management' | 'support_level'>;

/** The levels that an organization is charged for on a day, as noted so far. */
export async function levelsNoted(db: Db | Tx, organizationId: string, day: Day): Promise<Levels | undefined> {
  const { rows } = await sql<Levels>`
    select user_management, support_level from billed_users where organization_id = ${organizationId} and day = ${day}::date`.execute(db);
  return rows[0];
}

export const noteLevels = (db: Db | Tx, organizationId: string, day: Day, { user_management, support_level }: Levels) =>
  sql`
  insert into billed_users (organization_id, day, admin_users, viewer_users, user_management, support_level)
  select organization_id, ${day}::date, admin_users, viewer_users, ${user_management}, ${support_level} from (${usersNow}) as counted
  where organization_id = ${organizationId}
  on conflict (organization_id, day) do update set user_management = excluded.user_management, support_level = excluded.support_level`.execute(
    db,
  );

export async function usersOfOrganization(db: Db | Tx, organizationId: string): Promise<UsersOfDay> {
  const { rows } = await sql<UsersOfDay>`select * from (${usersNow}) as counted where organization_id = ${organizationId}`.execute(db);
  return rows[0] ?? { admin_users: 0, viewer_users: 0, user_management: '', support_level: '' };
}
