/** What is written down about deployments, and what of environments and projects goes into them. */
import { sql, type RawBuilder } from 'kysely';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import { releaseStaged } from '../../kernel/activity-queries.ts';
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { randomSecret, type Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { domainNamesOf, type DomainNames } from '../domain-names/public.ts';
import type { EnvironmentType } from '../../permissions.ts';
import type { HttpAccess } from '../../../edge/routing/table.ts';
import { noteAllocatedTo } from './sizes/allocated.ts';
import { amountsOf } from './sizes/capacity.ts';
import type { ScaledDirections } from './sizes/autoscaled.ts';
import { settleSizes } from './sizes/chosen-sizes.ts';
import { claimsOfEnvironment, settleHosts, type Claims } from './deploy/claim-hosts.ts';
import { environmentLife, type EnvironmentState } from '../environments/life-cycle.ts';
import { deploymentLife } from './life-cycle.ts';
import type { Sizes, Stack } from './stack/stack.ts';

/** For each app and worker, the number of the deployment that its containers were started for. */
export type Generations = Record<string, number>;

/** A stack with what its instances are called, and the hosts that its environment has. */
export interface Deployed {
  stack: Stack;
  generations: Generations;
  hosts: Claims;
}

/** The environment and the project, as far as a deployment follows from them. */
export interface Subject {
  project_id: string;
  project_title: string;
  organization_id: string;
  environment_id: string;
  machine_name: string;
  type: EnvironmentType;
  is_main: boolean;
  status: EnvironmentState;
  parent: string | null;
  clone_parent_on_create: boolean;
  head_commit: string | null;
  /** The commit that is deployed instead of the branch's head, after a rollback. */
  pinned_commit: string | null;
  created_at: string;
  stack_id: string | null;
  http_access: HttpAccess;
  enable_smtp: boolean;
  restrict_robots: boolean;
  /** Whether changes wait until somebody deploys them. */
  enable_manual_deployments: boolean;
  /** What its routes are resolved with. */
  domain_names: DomainNames;
}

export async function subjectOf(db: Db | Tx, projectId: string, environmentId: string): Promise<Subject | undefined> {
  const { rows } = await sql<Subject>`
    select projects.id as project_id, projects.title as project_title, projects.organization_id, environments.id as environment_id, machine_name,
      environments.type, projects.default_branch = environments.id as is_main, environments.status, parent,
      clone_parent_on_create, head_commit, pinned_commit, environments.created_at, stack_id, http_access, enable_smtp, restrict_robots,
      enable_manual_deployments, ${domainNamesOf} as domain_names
    from environments join projects on projects.id = environments.project_id
    where environments.project_id = ${projectId} and environments.id = ${environmentId}`.execute(db);
  return rows[0];
}

/** Whether new commits wait for somebody to deploy them. */
export const stagesCode = async (db: Db | Tx, projectId: string, environmentId: string): Promise<boolean> => {
  const { rows } = await sql`
    select from activities where project_id = ${projectId} and staged_in = ${environmentId} and ${activitiesThat('release')}
      and type in ('environment.push', 'environment.merge', 'environment.source-operation') limit 1`.execute(db);
  return rows.length > 0;
};

type Kept = Pick<Stack, 'model' | 'slugs' | 'sizes' | 'routes' | 'settings' | 'commit_id'>;

type Row = Kept &
  Pick<Subject, 'project_id' | 'project_title' | 'organization_id' | 'environment_id' | 'machine_name' | 'type' | 'is_main'> & {
    id: string;
    stack_id: string;
    number: number;
    created_at: string;
    generations: Generations;
    hosts: Claims;
    told_routes: Stack['routes'] | null;
    domain_names: DomainNames | null;
    secrets_sealed: string;
    entropy_sealed: string;
  };

const secretsPurpose = (deploymentId: string) => `deployment ${deploymentId}`;
const entropyPurpose = (projectId: string) => `entropy of project ${projectId}`;

async function deployedWhere(db: Db | Tx, secrets: Secrets, condition: RawBuilder<unknown>): Promise<Deployed[]> {
  const { rows } = await sql<Row>`
    select deployments.id, deployments.project_id, deployments.environment_id, deployments.stack_id, number, commit_id, model, slugs, sizes,
      generations, routes, told_routes, deployments.domain_names, deployments.settings, secrets_sealed, deployments.created_at, projects.title as project_title, projects.organization_id,
      projects.entropy_sealed, environments.machine_name, environments.type, projects.default_branch = environments.id as is_main,
      ${claimsOfEnvironment} as hosts
    from deployments
    join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    join projects on projects.id = deployments.project_id
    where ${condition} order by deployments.stack_id, number`.execute(db);
  return rows.map((row) => opened(row, secrets));
}

function opened(row: Row, secrets: Secrets): Deployed {
  const { id, number, created_at, model, slugs, sizes, routes, settings, commit_id, generations, hosts } = row;
  return {
    generations,
    hosts,
    stack: {
      id: row.stack_id,
      deployment: { id, number, created_at },
      project: {
        id: row.project_id,
        title: row.project_title,
        organization_id: row.organization_id,
        entropy: secrets.open(entropyPurpose(row.project_id), row.entropy_sealed),
      },
      environment: { id: row.environment_id, machine_name: row.machine_name, type: row.type, is_main: row.is_main },
      commit_id,
      model,
      slugs,
      sizes,
      routes,
      ...(row.domain_names && { domain_names: row.domain_names }),
      ...(row.told_routes && { told_routes: row.told_routes }),
      settings,
      secrets: JSON.parse(secrets.open(secretsPurpose(id), row.secrets_sealed)),
    },
  };
}

export const deployedById = async (db: Db | Tx, secrets: Secrets, deploymentId: string): Promise<Deployed | undefined> =>
  (await deployedWhere(db, secrets, sql`deployments.id = ${deploymentId}`))[0];

/** What the environment runs, or would run if it were not paused. */
export const currentlyDeployed = async (
  db: Db | Tx,
  secrets: Secrets,
  projectId: string,
  environmentId: string,
): Promise<Deployed | undefined> =>
  (
    await deployedWhere(
      db,
      secrets,
      sql`deployments.project_id = ${projectId} and environment_id = ${environmentId} and ${deploymentLife.sqlPossible('deployments.status', 'run')}`,
    )
  )[0];

export const currentStack = async (db: Db | Tx, secrets: Secrets, projectId: string, environmentId: string): Promise<Stack | undefined> =>
  (await currentlyDeployed(db, secrets, projectId, environmentId))?.stack;

export const currentSizes = async (db: Db | Tx, projectId: string, environmentId: string): Promise<Sizes | undefined> => {
  const { rows } = await sql<{ sizes: Sizes }>`
    select sizes from deployments
    where project_id = ${projectId} and environment_id = ${environmentId} and ${deploymentLife.sqlPossible('status', 'run')}`.execute(db);
  return rows[0]?.sizes;
};

/** The entropy of a project: made with its first deployment, and the same for its whole life. */
export async function ensureEntropy(tx: Tx, secrets: Secrets, projectId: string): Promise<string> {
  const sealed = secrets.seal(entropyPurpose(projectId), randomSecret(entropyBytes));
  const { rows } = await sql<{ entropy_sealed: string }>`
    update projects set entropy_sealed = coalesce(entropy_sealed, ${sealed}) where id = ${projectId} returning entropy_sealed`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error(`There is no project ${projectId}`);
  return secrets.open(entropyPurpose(projectId), row.entropy_sealed);
}

/** 42 bytes are 56 characters in base64. */
const entropyBytes = 42;

export const nextNumber = async (tx: Tx, projectId: string, environmentId: string): Promise<number> => {
  const { rows } = await sql<{ number: number }>`
    select coalesce(max(number), 0) + 1 as number from deployments
    where project_id = ${projectId} and environment_id = ${environmentId}`.execute(tx);
  return rows[0]?.number ?? 1;
};

export async function insertDeployment(
  tx: Tx,
  secrets: Secrets,
  { stack, generations }: Omit<Deployed, 'hosts'>,
  activityId: string,
  isScaling = false,
): Promise<void> {
  const { model, slugs, sizes, routes, told_routes, settings } = stack;
  const { cpu, memory, disk } = amountsOf(model, sizes);
  await tx
    .insertInto('deployments')
    .values({
      id: stack.deployment.id,
      project_id: stack.project.id,
      environment_id: stack.environment.id,
      stack_id: stack.id,
      number: stack.deployment.number,
      commit_id: stack.commit_id,
      model: JSON.stringify(model),
      slugs: JSON.stringify(slugs),
      sizes: JSON.stringify(sizes),
      generations: JSON.stringify(generations),
      routes: JSON.stringify(routes),
      domain_names: stack.domain_names ? JSON.stringify(stack.domain_names) : null,
      ...(told_routes && { told_routes: JSON.stringify(told_routes) }),
      settings: JSON.stringify(settings),
      secrets_sealed: secrets.seal(secretsPurpose(stack.deployment.id), JSON.stringify(stack.secrets)),
      activity_id: activityId,
      is_scaling: isScaling,
      cpu,
      memory,
      disk,
      created_at: stack.deployment.created_at,
    })
    .execute();
}

export const newDeployment = (number: number): Stack['deployment'] => ({ id: shortId(), number, created_at: new Date().toISOString() });

/** From here on the environment runs this deployment, and the previous one is history. Fails where the environment is being deleted, because nobody would remove what runs. */
export async function makeCurrent(tx: Tx, stack: Stack): Promise<void> {
  const { id, deployment, project, environment } = stack;
  await replaceCurrent(tx, project.id, environment.id);
  const settled = await sql`update deployments set status = ${deploymentLife.sqlAfter('status', 'settle')}, updated_at = clock_timestamp()
    where id = ${deployment.id} and ${deploymentLife.sqlPossible('status', 'settle')} returning id`.execute(tx);
  if (settled.rows.length === 0) throw new Problem('conflict', `Deployment ${deployment.number} of ${environment.id} has ended already.`);
  const { rows } =
    await sql`update environments set status = ${environmentLife.sqlAfter('status', 'run')}, stack_id = ${id}, sleeping_since = null, is_waking = false, start_failure = null, last_active_at = clock_timestamp(),
      updated_at = clock_timestamp()
    where project_id = ${project.id} and id = ${environment.id} and ${environmentLife.sqlPossible('status', 'run')} returning id`.execute(
      tx,
    );
  if (rows.length === 0) throw new Problem('conflict', `The environment ${environment.id} is being deleted.`);
  await settleSizes(tx, stack);
  await settleHosts(tx, stack);
  await noteAllocatedTo(tx, project.id, environment.id);
}

/** Marks the current deployment as replaced. */
const replaceCurrent = (tx: Tx, projectId: string, environmentId: string) =>
  sql`update deployments set status = ${deploymentLife.sqlAfter('status', 'replace')}, updated_at = clock_timestamp()
    where project_id = ${projectId} and environment_id = ${environmentId} and ${deploymentLife.sqlPossible('status', 'replace')}`.execute(
    tx,
  );

/** Whose data an environment has had, as of when; itself for a backup of its own. */
export interface TakenData {
  from: string;
  /** Undefined: it is not known any more. */
  at?: string | undefined;
}

export const noteTakenData = (tx: Tx, projectId: string, environmentId: string, { from, at }: TakenData) =>
  sql`update environments set data_taken_from = ${from}, data_taken_at = coalesce(${at ?? null}::timestamptz, clock_timestamp())
    where project_id = ${projectId} and id = ${environmentId}`.execute(tx);

/** Sets the commit that is deployed from now on instead of the branch's head; null: the head is deployed again. */
export const pinCommit = (tx: Tx, projectId: string, environmentId: string, commit: string | null) =>
  sql`update environments set pinned_commit = case when head_commit = ${commit} then null else ${commit}::text end
    where project_id = ${projectId} and id = ${environmentId}`.execute(tx);

export const noteMaintenance = (tx: Tx, projectId: string, environmentId: string) =>
  sql`update environments set last_maintenance_at = clock_timestamp()
    where project_id = ${projectId} and id = ${environmentId}`.execute(tx);

/** Notes when the platform last scaled the environment, and in which directions. */
export const noteScaling = (tx: Tx, projectId: string, environmentId: string, { up, down }: ScaledDirections) =>
  sql`update environments set last_autoscale_up_at = case when ${up}::boolean then clock_timestamp() else last_autoscale_up_at end,
      last_autoscale_down_at = case when ${down}::boolean then clock_timestamp() else last_autoscale_down_at end
    where project_id = ${projectId} and id = ${environmentId}`.execute(tx);

export const markFailed = (db: Db | Tx, deploymentId: string) =>
  sql`update deployments set status = ${deploymentLife.sqlAfter('status', 'fail')}, updated_at = clock_timestamp()
    where id = ${deploymentId} and ${deploymentLife.sqlPossible('status', 'fail')}`.execute(db);

/** Whether the activity's deployment has become current; from then on nothing of it is taken back. */
export const isSettled = async (db: Db | Tx, activityId: string): Promise<boolean> => {
  const { rows } =
    await sql`select from deployments where activity_id = ${activityId} and ${deploymentLife.sqlPossible('status', 'run')}`.execute(db);
  return rows.length > 0;
};

/** The column `last_deployment` of an environment. */
export interface LastDeployment {
  successful: boolean;
  reason: string | null;
  commands: { app: string; type: string; exit_code: number }[];
  at: string;
}

export const noteOutcome = (db: Db | Tx, projectId: string, environmentId: string, outcome: LastDeployment) =>
  sql`update environments set last_deployment = ${JSON.stringify(outcome)}::jsonb
    where project_id = ${projectId} and id = ${environmentId}`.execute(db);

/** What is recorded of an activity's failure; known once the activity is being undone. */
export async function failureOf(db: Db, activityId: string): Promise<Pick<LastDeployment, 'reason' | 'commands'>> {
  const { rows } = await sql<{ sentence: string | null; commands: LastDeployment['commands'] }>`
    select failure::jsonb ->> 'sentence' as sentence, commands from activities where id = ${activityId}`.execute(db);
  return { reason: rows[0]?.sentence?.replace(/^E: /, '') ?? null, commands: rows[0]?.commands ?? [] };
}

/** Pauses or resumes the environment; does nothing where its state does not allow that. */
export async function changeState(tx: Tx, projectId: string, environmentId: string, event: 'pause' | 'resume'): Promise<void> {
  await sql`update environments set status = ${environmentLife.sqlAfter('status', event)}, sleeping_since = null, is_waking = false,
      updated_at = clock_timestamp()
    where project_id = ${projectId} and id = ${environmentId} and ${environmentLife.sqlPossible('status', event)}`.execute(tx);
  await noteAllocatedTo(tx, projectId, environmentId);
}

/** From here on nothing on the machine belongs to the environment. Returns the id of the stack that did. */
export async function forgetStack(tx: Tx, projectId: string, environmentId: string): Promise<string | null> {
  const { rows } = await sql<{ stack_id: string | null }>`
    with before as (select stack_id from environments where project_id = ${projectId} and id = ${environmentId} for update)
    update environments set stack_id = null, status = ${environmentLife.sqlAfter('status', 'forget')}, last_deployment = null,
      pinned_commit = null, sleeping_since = null, is_waking = false, start_failure = null,
      chosen_sizes = '{}', sizes_by_hand = false, data_taken_at = null, data_taken_from = null,
      updated_at = clock_timestamp()
    from before where project_id = ${projectId} and id = ${environmentId} returning before.stack_id`.execute(tx);
  await replaceCurrent(tx, projectId, environmentId);
  await releaseStaged(tx, projectId, environmentId);
  await noteAllocatedTo(tx, projectId, environmentId);
  return rows[0]?.stack_id ?? null;
}

export const environmentsWithStacks = async (tx: Tx, projectId: string): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from environments where project_id = ${projectId} and stack_id is not null order by id`.execute(tx);
  return rows.map(({ id }) => id);
};
