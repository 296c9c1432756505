import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import { daysAfter, dayAt, endOf, type Day } from '../../kernel/days.ts';
import type { DayAccount, Energy } from './energy.ts';
import type { Method } from './method.ts';

/** How long what containers used is kept: an account cannot begin earlier. */
const measuredDays = 30;

export interface NotedMethod {
  since: string;
  method: Method;
}

/** Writes the method down where it is another than the last one. */
export const noteMethod = (db: Db, method: Method, now: number) =>
  sql`insert into carbon_methods (since, method)
    select ${new Date(now).toISOString()}::timestamptz, ${JSON.stringify(method)}::jsonb
    where not exists (
      select from (select method from carbon_methods order by since desc limit 1) as last where last.method = ${JSON.stringify(method)}::jsonb)
    on conflict (since) do nothing`.execute(db);

/** All that were noted, oldest first. */
export const notedMethods = async (db: Db): Promise<NotedMethod[]> => {
  const { rows } = await sql<NotedMethod>`select since, method from carbon_methods order by since`.execute(db);
  return rows;
};

/** The method that held when the day ended; of days before the first was noted, the first. */
export const methodAtEnd = (noted: readonly NotedMethod[], day: Day): NotedMethod | undefined =>
  noted.findLast(({ since }) => Date.parse(since) < endOf(day)) ?? noted[0];

/** The first day that is not closed. */
export async function firstOpenDay(db: Db, now: number): Promise<Day> {
  const { rows } = await sql<{ last: Day | null; installed: string | null }>`
    select (select max(day) from carbon_closings) as last, (select created_at from installation) as installed`.execute(db);
  const { last = null, installed = null } = rows[0] ?? {};
  if (last !== null) return daysAfter(last, 1);
  const measured = daysAfter(dayAt(now), -measuredDays);
  const made = installed?.slice(0, 10) ?? measured;
  return made > measured ? made : measured;
}

/** Writes down what a day was. Whoever comes second, or again, changes nothing. */
export const closeDay = (db: Db, day: Day, { since }: NotedMethod, { environments, own }: DayAccount): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { rows } = await sql`
      insert into carbon_closings (day, method_since, own_energy, own_emissions)
      values (${day}::date, ${since}::timestamptz, ${String(own.energy)}::bigint, ${String(own.emissions)}::bigint)
      on conflict (day) do nothing returning day`.execute(tx);
    if (rows.length > 0 && environments.length > 0) await insertDays(tx, day, environments);
  });

const insertDays = (tx: Tx, day: Day, environments: DayAccount['environments']) =>
  sql`insert into carbon_days (project_id, day, environment, processors, idle, memory, disk, network, emissions)
    select project_id, ${day}::date, environment, processors, idle, memory, disk, network, emissions
    from jsonb_to_recordset(${JSON.stringify(environments.map(asRow))}::jsonb) as charged
      (project_id text, environment text, processors bigint, idle bigint, memory bigint, disk bigint, network bigint, emissions bigint)`.execute(
    tx,
  );

const asRow = ({ project, environment, energy, emissions }: DayAccount['environments'][number]) => ({
  project_id: project,
  environment,
  ...Object.fromEntries(Object.entries(energy).map(([part, amount]) => [part, String(amount)])),
  emissions: String(emissions),
});

export interface ClosedSums extends Record<keyof Energy | 'emissions', string> {
  project_id: string;
  start: Day;
}

/** Of these projects, or of one environment, what was charged in each interval; none of the first begins before `from`. */
export const closedSums = async (
  db: Db,
  { projects, environment }: { projects: readonly string[]; environment?: string | undefined },
  { from, to, interval }: { from: Day; to: Day; interval: string },
): Promise<ClosedSums[]> => {
  const { rows } = await sql<ClosedSums>`
    select project_id, greatest(date_trunc(${interval}, day::timestamp)::date, ${from}::date) as start,
      sum(processors) as processors, sum(idle) as idle, sum(memory) as memory, sum(disk) as disk, sum(network) as network, sum(emissions) as emissions
    from carbon_days
    where project_id = any(${projects}) and day >= ${from}::date and day < ${to}::date
      and (${environment ?? null}::text is null or environment = ${environment ?? null}::text)
    group by 1, 2`.execute(db);
  return rows;
};

export interface AccountedProject {
  id: string;
  title: string;
  is_deleted: boolean;
}

/** The projects of an organization, those that were deleted included. */
export const projectsEverOf = async (db: Db, organizationId: string): Promise<AccountedProject[]> => {
  const { rows } = await sql<AccountedProject>`
    select id, title, status = 'deleted' as is_deleted from projects where organization_id = ${organizationId} order by created_at, id`.execute(
    db,
  );
  return rows;
};

/** Micrograms that an environment was charged with up to the last day that is closed; `environment` is its machine name. */
export async function emissionsSoFar(db: Db, projectId: string, environment: string): Promise<number> {
  const { rows } = await sql<{ micrograms: string | null }>`
    select sum(emissions)::text as micrograms from carbon_days where project_id = ${projectId} and environment = ${environment}`.execute(
    db,
  );
  return Number(rows[0]?.micrograms ?? 0);
}
