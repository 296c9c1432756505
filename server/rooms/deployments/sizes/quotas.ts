/** What the operator lets an organization, or a single project, have of the machine, and whether an environment still fits into it. */
import { sql, type RawBuilder } from 'kysely';
import { activitiesThat } from '../../../kernel/activity-life-cycle.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { eachOther, inWords, kinds, names, type Amounts, type Kind } from './amounts.ts';
import type { Subject } from '../queries.ts';
import { environmentLife } from '../../environments/life-cycle.ts';

/** Null: no limit. Only organizations have limits of projects, of builds at once and of waiting activities. */
export type Limits = Record<Kind | 'environments' | 'projects' | 'builds' | 'activities', number | null>;

export interface Quota extends Limits {
  of: 'organization' | 'project';
  /** The name of the organization, or the id of the project. */
  name: string;
  /** Builds are not counted here: who has them all waits (builds/build-limit.ts). */
  used: Record<Exclude<keyof Limits, 'builds'>, number>;
}

export interface QuotaOwner {
  organization_id: string | null;
  project_id: string | null;
}

const limitColumns = ['projects', 'environments', 'cpu', 'memory', 'disk', 'builds', 'activities'] as const satisfies (keyof Limits)[];

/** The quota of organizations that have none of their own. */
export const defaultQuota = async (db: Db | Tx): Promise<Limits> => {
  const found = await db
    .selectFrom('quotas')
    .select(limitColumns)
    .where('organization_id', 'is', null)
    .where('project_id', 'is', null)
    .executeTakeFirst();
  return found ?? { projects: null, environments: null, builds: null, activities: null, cpu: null, memory: null, disk: null };
};

/** Changes only the limits that are named. An organization's first quota begins as a copy of the default, which does not apply to it from then on. */
export async function setQuota(db: Db, { organization_id, project_id }: QuotaOwner, limits: Partial<Limits>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const before = organization_id === null ? {} : await defaultQuota(tx);
    await tx
      .insertInto('quotas')
      .values({ organization_id, project_id, ...before, ...limits })
      .onConflict((conflict) => conflict.column(project_id === null ? 'organization_id' : 'project_id').doUpdateSet({ ...limits }))
      .execute();
  });
}

export async function setDefaultQuota(db: Db, limits: Partial<Limits>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto('quotas')
      .values({ organization_id: null, project_id: null })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await tx.updateTable('quotas').set(limits).where('organization_id', 'is', null).where('project_id', 'is', null).execute();
  });
}

/** Each project that has a quota; each organization, with its own or the default. */
const subjectsOfQuotas = sql`
  select project_id, null as organization_id, project_id as name, ${sql.join(limitColumns.map((column) => sql.ref(column)))} from quotas
  where project_id is not null
  union all
  select null, organizations.id, organizations.name, ${sql.join(limitColumns.map((column) => sql.ref(`quotas.${column}`)))}
  from organizations join quotas on quotas.organization_id = organizations.id or (num_nonnulls(quotas.organization_id, quotas.project_id) = 0
    and not exists (select from quotas as own where own.organization_id = organizations.id))`;

/** The quotas with what environments use; one environment can be left out. */
async function quotasWhere(db: Db | Tx, condition: RawBuilder<unknown>, without: { project_id: string; environment_id: string } = nobody) {
  const { rows } = await sql<Omit<Quota, 'used'> & Record<`used_${keyof Quota['used']}`, number>>`
    select case when quotas.project_id is null then 'organization' else 'project' end as of, quotas.name,
      quotas.projects, quotas.environments, quotas.builds, quotas.activities, quotas.cpu, quotas.memory, quotas.disk,
      (select count(*) from activities join projects on projects.id = activities.project_id where ${activitiesThat('wait')}
        and projects.organization_id = quotas.organization_id)::int as used_activities,
      (select count(*) from projects where status not in ('failed', 'deleted')
        and (projects.organization_id = quotas.organization_id or projects.id = quotas.project_id))::int as used_projects,
      count(used.project_id)::int as used_environments, coalesce(sum(used.cpu), 0)::float as used_cpu,
      coalesce(sum(used.memory), 0)::float as used_memory, coalesce(sum(used.disk), 0)::float as used_disk
    from (${subjectsOfQuotas}) as quotas
    left join (
      select each_environment.*, projects.organization_id
      from (${eachOther(without.project_id, without.environment_id)}) as each_environment
      join projects on projects.id = each_environment.project_id
    ) as used on used.project_id = quotas.project_id or used.organization_id = quotas.organization_id
    where ${condition}
    group by quotas.project_id, quotas.organization_id, quotas.name, quotas.projects, quotas.environments, quotas.builds,
      quotas.activities, quotas.cpu, quotas.memory, quotas.disk
    order by 1, 2`.execute(db);
  return rows.map(({ used_projects, used_environments, used_activities, used_cpu, used_memory, used_disk, ...quota }): Quota => ({
    ...quota,
    used: {
      projects: used_projects,
      environments: used_environments,
      activities: used_activities,
      cpu: used_cpu,
      memory: used_memory,
      disk: used_disk,
    },
  }));
}

const nobody = { project_id: '', environment_id: '' };

/** The quotas that somebody has set, without the default. */
export const allQuotas = (db: Db) =>
  quotasWhere(
    db,
    sql`quotas.project_id is not null or exists (select from quotas as own where own.organization_id = quotas.organization_id)`,
  );

/** What each of the organizations may have, by its own quota or the default, and has. */
export const quotasOfOrganizations = (db: Db, ids: readonly string[]) => quotasWhere(db, sql`quotas.organization_id = any(${[...ids]})`);

/** The quotas of the environment's project and organization, with what all others use. */
export const quotasOn = (db: Db | Tx, subject: Subject) =>
  quotasWhere(db, sql`quotas.project_id = ${subject.project_id} or quotas.organization_id = ${subject.organization_id}`, subject);

/** Throws a Problem that names the limit, whose it is, and what can be done. An environment that does not grow is never refused. */
export async function refuseOverQuota(db: Db | Tx, subject: Subject, wanted: Amounts, before: Amounts) {
  for (const quota of await quotasOn(db, subject)) {
    const over = kinds.filter((kind) => wanted[kind] > before[kind] && quota.used[kind] + wanted[kind] > (quota[kind] ?? Infinity));
    const details = over.map((kind) => {
      const limit = `${inWords(kind, quota[kind] ?? 0)} are allowed`;
      return `${names[kind]}: ${inWords(kind, wanted[kind])} are needed, its other environments have ${inWords(kind, quota.used[kind])}, and ${limit}`;
    });
    const isOneTooMany =
      environmentLife.possible(subject.status, 'activate') && quota.used.environments + 1 > (quota.environments ?? Infinity);
    if (isOneTooMany) details.unshift(`environments: it has ${quota.used.environments}, and ${quota.environments} are allowed`);
    if (details.length > 0) throw overQuota(quota, details);
  }
}

const overQuota = ({ of, name }: Quota, details: string[]) =>
  new Problem(
    'payment-required',
    `The ${of} ${name} would exceed its quota. ${details.join('; ')}. ` +
      'Choose smaller sizes, pause or delete environments that nobody needs, or ask the operator for more.',
  );

/** A sentence that says why an organization can have no further project: it has all that it may have, or none of its environments could run. */
export async function noFurtherProject(db: Db | Tx, organizationId: string): Promise<string | undefined> {
  const [quota] = await quotasWhere(db, sql`quotas.organization_id = ${organizationId}`);
  if (!quota) return undefined;
  const isFull = (kind: 'projects' | 'environments') => quota.used[kind] >= (quota[kind] ?? Infinity);
  const full = (['projects', 'environments'] as const).find(isFull);
  if (full === undefined) return undefined;
  const what = `${full}: it has ${quota.used[full]}, and ${quota[full]} are allowed`;
  return `The organization ${quota.name} would exceed its quota. ${what}. Delete what nobody needs, or ask the operator for more.`;
}

/** Throws a Problem where the organization can have no further project. Until the transaction ends, no other project of the organization is made. */
export async function refuseFurtherProject(tx: Tx, organizationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`projects of ${organizationId}`}, 0))`.execute(tx);
  const reason = await noFurtherProject(tx, organizationId);
  if (reason !== undefined) throw new Problem('payment-required', reason);
}
