/** What the operator lets an organization, or a single project, have of the machine, and whether an environment still fits into it. */
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { eachOther, inWords, kinds, names, type Amounts, type Kind } from './amounts.ts';
import type { Subject } from './queries.ts';

/** Null: no limit. */
export type Limits = Record<Kind | 'environments', number | null>;

export interface Quota extends Limits {
  of: 'organization' | 'project';
  /** The name of the organization, or the id of the project. */
  name: string;
  used: Amounts & { environments: number };
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

/** Of a project and its organization, with what other environments than this one use; without a project, all there are. */
async function quotas(db: Db | Tx, projectId: string | null, environmentId: string): Promise<Quota[]> {
  const { rows } = await sql<Omit<Quota, 'used'> & { used_environments: number; used_cpu: number; used_memory: number; used_disk: number }>`
    select case when quotas.project_id is null then 'organization' else 'project' end as of,
      coalesce(quotas.project_id, organizations.name) as name, quotas.environments, quotas.cpu, quotas.memory, quotas.disk,
      count(used.project_id)::int as used_environments, coalesce(sum(used.cpu), 0)::float as used_cpu,
      coalesce(sum(used.memory), 0)::float as used_memory, coalesce(sum(used.disk), 0)::float as used_disk
    from quotas
    left join organizations on organizations.id = quotas.organization_id
    left join (
      select each_environment.*, projects.organization_id from (${eachOther(projectId ?? '', environmentId)}) as each_environment
      join projects on projects.id = each_environment.project_id
    ) as used on used.project_id = quotas.project_id or used.organization_id = quotas.organization_id
    where ${projectId}::text is null or quotas.project_id = ${projectId}
      or quotas.organization_id = (select organization_id from projects where id = ${projectId})
    group by quotas.project_id, quotas.organization_id, organizations.name, quotas.environments, quotas.cpu, quotas.memory, quotas.disk
    order by 1, 2`.execute(db);
  return rows.map(({ used_environments, used_cpu, used_memory, used_disk, ...quota }) => ({
    ...quota,
    used: { environments: used_environments, cpu: used_cpu, memory: used_memory, disk: used_disk },
  }));
}

export const allQuotas = (db: Db) => quotas(db, null, '');

/** A Problem names the limit, whose it is, and what can be done. What does not grow is never refused. */
export async function refuseOverQuota(db: Db | Tx, { project_id, environment_id, status }: Subject, wanted: Amounts, before: Amounts) {
  for (const quota of await quotas(db, project_id, environment_id)) {
    const over = kinds.filter((kind) => wanted[kind] > before[kind] && quota.used[kind] + wanted[kind] > (quota[kind] ?? Infinity));
    const details = over.map((kind) => {
      const limit = `${inWords(kind, quota[kind] ?? 0)} are allowed`;
      return `${names[kind]}: ${inWords(kind, wanted[kind])} are needed, its other environments have ${inWords(kind, quota.used[kind])}, and ${limit}`;
    });
    const isOneTooMany = status === 'inactive' && quota.used.environments + 1 > (quota.environments ?? Infinity);
    if (isOneTooMany) details.unshift(`environments: it has ${quota.used.environments}, and ${quota.environments} are allowed`);
    if (details.length > 0) throw overQuota(quota, details);
  }
}

const overQuota = ({ of, name }: Quota, details: string[]) =>
  new Problem(
    'conflict',
    `Invalid deployment: The ${of} ${name} has no more than its quota. ${details.join('; ')}. ` +
      'Choose smaller sizes, pause or delete environments that nobody needs, or ask the operator for more.',
  );
