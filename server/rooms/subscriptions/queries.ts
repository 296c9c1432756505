import { sql } from 'kysely';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Activity } from '../../kernel/activity.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { forgetDomains } from '../domains/work.ts';
import { environmentsAllowed } from '../projects/public.ts';

/** A project in the words of its contract. */
export interface Contract {
  id: string;
  project_id: string;
  organization_id: string;
  status: string;
  created_at: string;
  updated_at: string;
  owner: string;
  username: string;
  first_name: string;
  last_name: string;
  vendor: string;
  plan: string;
  environments: number;
  storage: number;
  user_licenses: number;
  project_title: string;
  region: string;
  type: string;
  timezone: string;
  default_branch: string;
  contract_options: Record<string, string>;
}

/** The owner is the person who created the project or, if they are gone, the organization's owner. A contract ends as soon as the deletion of its project begins. */
const contracts = (db: Db | Tx) =>
  db
    .selectFrom(
      sql<Contract>`(
        select projects.subscription_id::text as id, projects.id as project_id, projects.organization_id,
          case projects.status when 'deleting' then 'deleted' else projects.status end as status,
          projects.created_at, projects.updated_at, users.id as owner, users.username, users.first_name, users.last_name,
          organizations.vendor, projects.plan, ${environmentsAllowed} as environments, projects.storage_mib as storage,
          projects.user_licenses, projects.title as project_title, projects.region, projects.type, projects.timezone, projects.default_branch, projects.contract_options,
          projects.subscription_id
        from projects join organizations on organizations.id = projects.organization_id
        join users on users.id = coalesce(projects.owner_id, organizations.owner_id))`.as('contracts'),
    )
    .selectAll();

/** A contract can be found until its project has been deleted completely. */
const present = sql<boolean>`exists (select from projects where projects.id = contracts.project_id and projects.status <> 'deleted')`;

export const contractById = (db: Db | Tx, id: string): Promise<Contract | undefined> =>
  contracts(db)
    .where(sql<boolean>`contracts.subscription_id = ${id}::integer`)
    .where(present)
    .executeTakeFirst();

export const contractOf = (db: Db | Tx, projectId: string): Promise<Contract | undefined> =>
  contracts(db).where('contracts.project_id', '=', projectId).where(present).executeTakeFirst();

export const contractsPage = (db: Db, organizationId: string, list: ListRequest): Promise<Page<Contract>> =>
  paged(contracts(db).where('contracts.organization_id', '=', organizationId), withStatus(list), 'project_id');

/** The contracts of these projects, whatever organizations they belong to. */
export const contractsIn = (db: Db, projectIds: readonly string[], list: ListRequest): Promise<Page<Contract>> =>
  paged(contracts(db).where(sql<boolean>`contracts.project_id = any(${projectIds})`), withStatus(list), 'project_id');

export const allContractsIn = (db: Db, projectIds: readonly string[]): Promise<Contract[]> =>
  contracts(db)
    .where(sql<boolean>`contracts.project_id = any(${projectIds})`)
    .where(present)
    .orderBy('created_at')
    .orderBy('project_id')
    .execute();

const columnOf: Record<string, string> = { id: 'project_id', title: 'project_title' };
const inContract = <T extends { field: string }>(part: T): T => ({ ...part, field: columnOf[part.field] ?? part.field });

/** The contracts of an organization, sorted and filtered by the names that projects have for their fields. */
export const projectsPage = (db: Db, organizationId: string, list: ListRequest): Promise<Page<Contract>> =>
  contractsPage(db, organizationId, { ...list, sort: inContract(list.sort), filters: list.filters.map(inContract) });

/** Leaves deleted projects out, unless the caller filters by status. */
function withStatus(list: ListRequest): ListRequest {
  if (list.filters.some(({ field }) => field === 'status')) return list;
  const without = { field: 'status', kind: 'string' as const, operator: 'ne', values: ['deleted'] };
  return { ...list, filters: [...list.filters, without] };
}

/** Ends the creation of a project. The guard on the status keeps a creation that was given up from succeeding later. */
export const endCreation = (db: Db | Tx, id: string, status: 'active' | 'failed') =>
  sql`update projects set status = ${status}, updated_at = now() where id = ${id} and status = 'requested'`.execute(db);

/** Marks projects as failed whose creation was cancelled before it began. */
export const failAbandoned = (db: Db) =>
  sql`update projects set status = 'failed', updated_at = now() where status = 'requested' and not exists (
    select from activities where activities.project_id = projects.id and activities.type = 'project.create'
      and ${activitiesThat('beToCome')})`.execute(db);

/** Marks a project as being deleted; from then on nothing new is begun in it. */
export const beginDeletion = (tx: Tx, id: string) =>
  sql`update projects set status = 'deleting', updated_at = now() where id = ${id} and status <> 'deleted'`.execute(tx);

export const openActivityOf = async (db: Db | Tx, projectId: string, type: string): Promise<Activity | undefined> => {
  const { rows } = await sql<Activity>`
    select * from activities where project_id = ${projectId} and type = ${type} and ${activitiesThat('beUnderWay')} limit 1`.execute(db);
  return rows[0];
};

/** The activities of a project that have not ended, except for one. */
export const openActivitiesBeside = async (db: Db, projectId: string, id: string, most: number): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from activities where project_id = ${projectId} and id <> ${id} and ${activitiesThat('beToCome')}
    order by position limit ${most}`.execute(db);
  return rows.map((row) => row.id);
};

/** Whether a push to the project is under way. Pushes older than `secondsMax` were cut off, and do not count. */
export const isPushUnderWay = async (db: Db, projectId: string, secondsMax: number): Promise<boolean> => {
  const { rows } = await sql`
    select from pushes where project_id = ${projectId} and created_at > now() - make_interval(secs => ${secondsMax}) limit 1`.execute(db);
  return rows.length > 0;
};

/** Deletes all that is known of a project, except for its name and the activity that removes it. */
export async function forgetProject(tx: Tx, id: string, removal: string): Promise<void> {
  await tx.deleteFrom('pushes').where('project_id', '=', id).execute();
  await forgetDomains(tx, id);
  await tx.deleteFrom('environments').where('project_id', '=', id).execute();
  await tx.deleteFrom('project_variables').where('project_id', '=', id).execute();
  await tx.deleteFrom('integrations').where('project_id', '=', id).execute();
  await tx.deleteFrom('user_access').where('project_id', '=', id).execute();
  await tx.deleteFrom('team_access').where('project_id', '=', id).execute();
  await tx.deleteFrom('invitations').where('project_id', '=', id).execute();
  await tx.deleteFrom('activities').where('project_id', '=', id).where('id', '<>', removal).execute();
  await sql`update projects set status = 'deleted', description = '', attributes = '{}', settings = '{}', client_public_key = null,
    client_key_sealed = null, updated_at = now() where id = ${id}`.execute(tx);
}

/** The projects of an organization that are being created, each with the activity that creates it. */
export const creationsIn = async (db: Db, organizationId: string, most: number): Promise<{ project_id: string; activity_id: string }[]> => {
  const { rows } = await sql<{ project_id: string; activity_id: string }>`
    select projects.id as project_id, activities.id as activity_id
    from projects join activities on activities.project_id = projects.id and activities.type = 'project.create'
    where projects.organization_id = ${organizationId} and projects.status = 'requested' order by projects.created_at, projects.id limit ${most}`.execute(
    db,
  );
  return rows;
};
