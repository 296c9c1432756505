/** What the operator lets an organization, or a single project, have of the machine, and whether an environment still fits into it. */
import { sql, type RawBuilder } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { eachOther, inWords, kinds, names, type Amounts, type Kind } from './amounts.ts';
import type { Subject } from './queries.ts';

/** Null: no limit. Of projects only organizations have one. */
export type Limits = Record<Kind | 'environments' | 'projects', number | null>;

export interface Quota extends Limits {
  of: 'organization' | 'project';
  /** The name of the organization, or the id of the project. */
  name: string;
  used: Record<keyof Limits, number>;
}

export interface QuotaOwner {
  organization_id: string | null;
  project_id: string | null;
}

/** Only what is named changes. */
export async function setQuota(db: Db, { organization_id, project_id }: QuotaOwner, limits: Partial<Limits>): Promise<void> {
  await db
    .insertInto('quotas')
    .values({ organization_id, project_id, ...limits })
    .onConflict((conflict) => conflict.column(project_id === null ? 'organization_id' : 'project_id').doUpdateSet({ ...limits }))
    .execute();
}

/** With what environments use; one can be left out. */
async function quotasWhere(db: Db | Tx, condition: RawBuilder<unknown>, without: { project_id: string; environment_id: string } = nobody) {
  const { rows } = await sql<Omit<Quota, 'used'> & Record<`used_${keyof Limits}`, number>>`
    select case when quotas.project_id is null then 'organization' else 'project' end as of,
      coalesce(quotas.project_id, organizations.name) as name, quotas.projects, quotas.environments, quotas.cpu, quotas.memory, quotas.disk,
      (select count(*) from projects where status not in ('failed', 'deleted')
        and (projects.organization_id = quotas.organization_id or projects.id = quotas.project_id))::int as used_projects,
      count(used.project_id)::int as used_environments, coalesce(sum(used.cpu), 0)::float as used_cpu,
      coalesce(sum(used.memory), 0)::float as used_memory, coalesce(sum(used.disk), 0)::float as used_disk
    from quotas
    left join organizations on organizations.id = quotas.organization_id
    left join (
      select each_environment.*, projects.organization_id
      from (${eachOther(without.project_id, without.environment_id)}) as each_environment
      join projects on projects.id = each_environment.project_id
    ) as used on used.project_id = quotas.project_id or used.organization_id = quotas.organization_id
    where ${condition}
    group by quotas.project_id, quotas.organization_id, organizations.name, quotas.projects, quotas.environments, quotas.cpu, quotas.memory,
      quotas.disk
    order by 1, 2`.execute(db);
  return rows.map(({ used_projects, used_environments, used_cpu, used_memory, used_disk, ...quota }): Quota => ({
    ...quota,
    used: { projects: used_projects, environments: used_environments, cpu: used_cpu, memory: used_memory, disk: used_disk },
  }));
}

const nobody = { project_id: '', environment_id: '' };

export const allQuotas = (db: Db) => quotasWhere(db, sql`true`);

/** Those of its project and of its organization, with what all others use. */
const quotasOn = (db: Db | Tx, subject: Subject) =>
  quotasWhere(db, sql`quotas.project_id = ${subject.project_id} or quotas.organization_id = ${subject.organization_id}`, subject);

/** A Problem names the limit, whose it is, and what can be done. What does not grow is never refused. */
export async function refuseOverQuota(db: Db | Tx, subject: Subject, wanted: Amounts, before: Amounts) {
  for (const quota of await quotasOn(db, subject)) {
    const over = kinds.filter((kind) => wanted[kind] > before[kind] && quota.used[kind] + wanted[kind] > (quota[kind] ?? Infinity));
    const details = over.map((kind) => {
      const limit = `${inWords(kind, quota[kind] ?? 0)} are allowed`;
      return `${names[kind]}: ${inWords(kind, wanted[kind])} are needed, its other environments have ${inWords(kind, quota.used[kind])}, and ${limit}`;
    });
    const isOneTooMany = subject.status === 'inactive' && quota.used.environments + 1 > (quota.environments ?? Infinity);
    if (isOneTooMany) details.unshift(`environments: it has ${quota.used.environments}, and ${quota.environments} are allowed`);
    if (details.length > 0) throw overQuota(quota, details);
  }
}

const overQuota = ({ of, name }: Quota, details: string[]) =>
  new Problem(
    'payment-required',
    `The ${of} ${name} has no more than its quota. ${details.join('; ')}. ` +
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
  return `The organization ${quota.name} has no more than its quota. ${what}. Delete what nobody needs, or ask the operator for more.`;
}

/** While the transaction lasts nobody else gets one, either. */
export async function refuseFurtherProject(tx: Tx, organizationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`projects of ${organizationId}`}, 0))`.execute(tx);
  const reason = await noFurtherProject(tx, organizationId);
  if (reason !== undefined) throw new Problem('payment-required', reason);
}
