import { sql, type Insertable, type RawBuilder, type Selectable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { areSlugsKept } from '../builds/public.ts';
import { defaultDomainOf, domainNamesOf, hasDomains, type DomainNames } from '../domain-names/public.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import { isBeingBackedUp } from './being-backed-up.ts';
import { codeSourceOfProject, type CodeSource } from './code-source.ts';
import { environmentLife, type EnvironmentState } from './life-cycle.ts';

type Row = Omit<Selectable<Database['environments']>, 'type' | 'status'> & { type: EnvironmentType; status: EnvironmentState };

/** What is known of an environment beside its row. */
interface Circumstances {
  organization_id: string;
  /** Where the project's code comes from, if not from those who push. */
  code_source: CodeSource | null;
  default_branch: string;
  parent_type: EnvironmentType | null;
  parent_head: string | null;
  is_dirty: boolean;
  is_being_backed_up: boolean;
  has_staged_activities: boolean;
  /** Whether there is an earlier deployment that can be made current again. */
  can_rollback: boolean;
  has_crons: boolean;
  domain_names: DomainNames;
  /** The sizes of the current deployment; null: nothing was ever deployed. */
  sizes: DeployedSizes | null;
  /** The addresses of the environment's routes. */
  urls: string[] | null;
  /** For each app and worker that runs, the role that is needed to get in. */
  ssh_roles: Record<string, string> | null;
}

type Sized = Record<string, { profile_size: string; instance_count: number; disk: number | null }>;
interface DeployedSizes {
  services: Sized;
  webapps: Sized;
  workers: Sized;
  tasks: Sized;
}

/** How the last attempt to deploy went. */
interface LastDeployment {
  successful: boolean;
  /** Why the deployment failed; `shell`: a command of the user's did. */
  reason: 'error' | 'shell' | null;
  commands: { app: string; type: string; exit_code: number }[];
  at: string;
}

export type Environment = ReturnType<typeof present>;

const present = ({ sizes, urls, ssh_roles, domain_names, ...row }: Row & Circumstances, domain: string) => ({
  ...row,
  urls: urls ?? [],
  ssh_roles: ssh_roles ?? {},
  domain,
  name: row.id,
  project: row.project_id,
  is_main: row.id === row.default_branch,
  edge_hostname: `${row.machine_name}-${row.project_id}.${domain}`,
  has_code: row.head_commit !== null,
  default_domain: defaultDomainOf(domain_names, row.type === 'production'),
  has_domains: hasDomains(domain_names, row.type === 'production'),
  has_deployment: sizes !== null,
  can_rolling_deploy: environmentLife.possible(row.status, 'serve') && lastDeploymentOf(row)?.successful === true,
  supports_rolling_deployments: true,
  supports_restrict_robots: hasDomains(domain_names, row.type === 'production'),
  merge_info: {
    commits_ahead: row.commits_ahead,
    commits_behind: row.commits_behind,
    parent_ref: row.parent === null ? null : `refs/heads/${row.parent}`,
  },
  deployment_state: deploymentState(lastDeploymentOf(row), row),
  sizing: {
    services: mapValues(sizes?.services ?? {}, sizing),
    webapps: mapValues(sizes?.webapps ?? {}, webappSizing),
    workers: mapValues(sizes?.workers ?? {}, sizing),
    tasks: mapValues(sizes?.tasks ?? {}, ({ profile_size }) => ({ resources: { profile_size } })),
  },
  resources_overrides: {},
});

const lastDeploymentOf = ({ last_deployment }: Pick<Row, 'last_deployment'>) => last_deployment as LastDeployment | null;

const deploymentState = (
  last: LastDeployment | null,
  {
    last_maintenance_at,
    last_autoscale_up_at,
    last_autoscale_down_at,
    ...row
  }: Pick<
    Row & Circumstances,
    'last_maintenance_at' | 'last_autoscale_up_at' | 'last_autoscale_down_at' | 'sleeping_since' | 'status' | 'has_crons'
  >,
) => ({
  last_state_update_successful: last?.successful ?? false,
  last_deployment_successful: last?.successful ?? false,
  last_deployment_failure_reason: last?.reason ?? null,
  last_deployment_commands: last?.commands ?? [],
  last_deployment_at: last?.at ?? null,
  last_autoscale_up_at,
  last_autoscale_down_at,
  last_maintenance_at,
  crons: { enabled: row.has_crons, status: cronStatus(row) },
});

/** Crons run where the environment runs: they neither wake it nor keep it from being paused. */
const cronStatus = ({ status, sleeping_since }: Pick<Row, 'status' | 'sleeping_since'>) =>
  sleeping_since !== null ? 'sleeping' : environmentLife.possible(status, 'runCron') ? 'running' : 'paused';

const sizing = ({ profile_size, instance_count, disk }: Sized[string]) => ({ resources: { profile_size }, instance_count, disk });
/** The published API lets an app have a disk for objects; here no app has one. */
const webappSizing = ({ profile_size, instance_count, disk }: Sized[string]) => ({
  resources: { profile_size, disk: { object: null } },
  instance_count,
  disk,
});
const mapValues = <T, U>(values: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));

/** Only apps and workers that have containers have generations, so those name what one can get into; a worker is `<app>--<worker>`. */
const sshRoles = sql`(
  select json_object_agg(runs, coalesce(
    deployments.model #>> array['applications', runs, 'access', 'ssh'],
    deployments.model #>> array['applications', split_part(runs, '--', 1), 'workers', split_part(runs, '--', 2), 'access', 'ssh']))
  from jsonb_object_keys(deployments.generations) as runs)`;

/** Reads environments and their circumstances in one statement. An environment with an open activity is dirty. */
async function environmentsWhere(db: Db | Tx, domain: string, condition: RawBuilder<unknown>): Promise<Environment[]> {
  const { rows } = await sql<Row & Circumstances>`
    select environments.*, projects.organization_id, projects.default_branch, parents.type as parent_type, parents.head_commit as parent_head,
      exists (select from activity_lanes where activity_lanes.project_id = environments.project_id
        and activity_lanes.lane = environments.id and activity_lanes.is_open and not activity_lanes.is_shared) as is_dirty,
      exists (select from activities where activities.project_id = environments.project_id and ${activitiesThat('release')}
        and activities.staged_in = environments.id) as has_staged_activities,
      exists (select from deployments as earlier where earlier.project_id = environments.project_id
        and earlier.environment_id = environments.id and ${deploymentLife.sqlPossible('earlier.status', 'rollBackTo')} and ${areSlugsKept('earlier')}) as can_rollback,
      ${isBeingBackedUp} as is_being_backed_up,
      exists (select from crons where crons.project_id = environments.project_id and crons.environment_id = environments.id) as has_crons,
      ${domainNamesOf} as domain_names, ${codeSourceOfProject} as code_source, deployments.sizes, array(select json_object_keys(deployments.routes)) as urls, ${sshRoles} as ssh_roles
    from environments join projects on projects.id = environments.project_id and projects.status <> 'deleted'
    left join environments as parents on parents.project_id = environments.project_id and parents.id = environments.parent
    left join deployments on deployments.project_id = environments.project_id and deployments.environment_id = environments.id
      and ${deploymentLife.sqlPossible('deployments.status', 'run')}
    where ${condition} order by environments.id`.execute(db);
  return rows.map((row) => present(row, domain));
}

export const environmentsOf = (db: Db | Tx, domain: string, projectId: string): Promise<Environment[]> =>
  environmentsWhere(db, domain, sql`environments.project_id = ${projectId}`);

export const environmentById = async (db: Db | Tx, domain: string, projectId: string, id: string): Promise<Environment | undefined> =>
  (await environmentsWhere(db, domain, sql`environments.project_id = ${projectId} and environments.id = ${id}`))[0];

/** The texts of the environment's staged activities, oldest first. */
export const stagedTexts = async (db: Db | Tx, projectId: string, id: string): Promise<string[]> => {
  const { rows } = await sql<{ text: string }>`
    select coalesce(text, type) as text from activities where project_id = ${projectId} and staged_in = ${id} and ${activitiesThat('release')}
    order by position limit ${stagedToldMax}`.execute(db);
  return rows.map(({ text }) => text);
};

const stagedToldMax = 100;

/** Finds an environment by its machine name. */
export const environmentByMachineName = async (db: Db, domain: string, projectId: string, name: string): Promise<Environment | undefined> =>
  (await environmentsWhere(db, domain, sql`environments.project_id = ${projectId} and environments.machine_name = ${name}`))[0];

export const insertEnvironment = (tx: Tx, environment: Insertable<Database['environments']>) =>
  tx.insertInto('environments').values(environment).returningAll().executeTakeFirstOrThrow();

/** Returns false where the environment cannot be deleted. */
export async function markDeleting(tx: Tx, projectId: string, id: string): Promise<boolean> {
  const { rows } =
    await sql`update environments set status = ${environmentLife.sqlAfter('environments.status', 'delete')}, updated_at = clock_timestamp() from projects
    where projects.id = environments.project_id and projects.default_branch <> environments.id
      and environments.project_id = ${projectId} and environments.id = ${id}
      and ${environmentLife.sqlPossible('environments.status', 'delete')}
    returning environments.id`.execute(tx);
  return rows.length > 0;
}

/** Takes a deletion back. */
export async function keepEnvironment(db: Db, projectId: string, id: string): Promise<void> {
  await sql`update environments set status = ${environmentLife.sqlAfter('status', 'keep')}, updated_at = clock_timestamp()
    where project_id = ${projectId} and id = ${id} and ${environmentLife.sqlPossible('status', 'keep')}`.execute(db);
}

/** The children of the deleted environment become children of its parent. */
export async function deleteEnvironment(tx: Tx, projectId: string, id: string): Promise<void> {
  await sql`update environments set parent = gone.parent, updated_at = clock_timestamp() from environments as gone
    where gone.project_id = ${projectId} and gone.id = ${id}
      and environments.project_id = gone.project_id and environments.parent = gone.id`.execute(tx);
  await tx.deleteFrom('environments').where('project_id', '=', projectId).where('id', '=', id).execute();
}

/** Environments without a branch, whose only activity was to make them and was cancelled before it began. */
export async function unmadeEnvironments(db: Db | Tx): Promise<{ project_id: string; id: string }[]> {
  const { rows } = await sql<{ project_id: string; id: string }>`
    select environments.project_id, environments.id
    from environments
    join projects on projects.id = environments.project_id and projects.default_branch <> environments.id
    join activity_lanes on activity_lanes.project_id = environments.project_id and activity_lanes.lane = environments.id
    join activities on activities.id = activity_lanes.activity_id and activities.created_at >= environments.created_at
    where environments.head_commit is null and environments.stack_id is null
    group by environments.project_id, environments.id
    having bool_and(${activitiesThat('beForNothing')} and activities.started_at is null
      and activities.type in ('environment.branch', 'environment.restore'))`.execute(db);
  return rows;
}

/** Whether the environment is the other one, or is below it in the tree. */
export async function isBelow(tx: Tx, projectId: string, id: string, above: string): Promise<boolean> {
  const { rows } = await sql`
    with recursive line as (
      select id, parent from environments where project_id = ${projectId} and id = ${id}
      union select environments.id, environments.parent from environments join line on environments.id = line.parent
      where environments.project_id = ${projectId})
    select from line where id = ${above}`.execute(tx);
  return rows.length > 0;
}

/** Until the transaction ends, nobody else changes the tree of the project's environments. */
export const lockTree = (tx: Tx, projectId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended('environments ' || ${projectId}, 0))`.execute(tx);

export const hasDedicated = async (db: Db | Tx, projectId: string): Promise<boolean> => {
  const { rows } = await sql`select from environments where project_id = ${projectId} and is_dedicated limit 1`.execute(db);
  return rows.length > 0;
};

export const updateEnvironment = (db: Db | Tx, projectId: string, id: string, change: Updateable<Database['environments']>) =>
  db
    .updateTable('environments')
    .set({ ...change, updated_at: sql<string>`clock_timestamp()` })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();

/** Whether the environment has something to run, asleep or awake. */
export async function isServing({ db }: { db: Db }, projectId: string, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('environments')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .where('status', 'in', environmentLife.statesThat('serve'))
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether an activity of the type waits or runs in the environment. */
export async function isWaiting(tx: Tx, { project_id, id }: Pick<Environment, 'project_id' | 'id'>, type: string): Promise<boolean> {
  const { rows } = await sql`
    select from activities
    where project_id = ${project_id} and type = ${type} and ${id} = any(environments) and ${activitiesThat('beUnderWay')} limit 1`.execute(
    tx,
  );
  return rows.length > 0;
}
