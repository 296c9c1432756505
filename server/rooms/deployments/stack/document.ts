/**
 * The document of a deployment: the stack, as clients read it. Values of sensitive variables are left out here, and accounts of services are not
 * looked at; the schema in deployment.ts passes on nothing beside what it names.
 */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Tx } from '../../../kernel/sql.ts';
import type { EnvironmentType } from '../../../permissions.ts';
import type { Platform } from '../../../platform.ts';
import type { App, Instance, Service, Task, WorkerDocument } from '../../builds/public.ts';
import { capabilities, projectById, settingsOf, subscriptionOf, type Project } from '../../projects/public.ts';
import { deployedById } from '../queries.ts';
import { clusterOf } from './relationships.ts';
import {
  containerProfiles,
  minimum,
  profileOf,
  profileOfTask,
  sizedApp,
  sizedService,
  stepOf,
  storageOwners,
  usual,
  type Sized,
} from '../sizes/sizes.ts';
import type { Size, Stack } from './stack.ts';
import { workersIn } from './workers.ts';
import { appDirOf } from './runtime-variables.ts';
import type { EnvironmentState } from '../../environments/life-cycle.ts';
import { deploymentLife } from '../life-cycle.ts';

export type Deployment = ReturnType<typeof deploymentDocument>;

/** What the document says beside what the stack holds. */
export interface Circumstances {
  /** `current`, or the deployment's own id. */
  id: string;
  updated_at: string;
  status: EnvironmentState;
  access: { entity_id: string; role: 'admin' | 'contributor' | 'viewer' }[];
  namespace: string | null;
  settings: object;
  subscription: ReturnType<typeof subscriptionOf>;
}

export function deploymentDocument(stack: Stack, { id, updated_at, status, access, namespace, settings, subscription }: Circumstances) {
  const { project, environment, deployment, model, routes } = stack;
  return {
    /** Where the deployment belongs, and to whom; not part of replies. */
    project_id: project.id,
    environment_id: environment.id,
    organization_id: project.organization_id,
    type: environment.type,

    id,
    created_at: deployment.created_at,
    updated_at,
    fingerprint: fingerprintOf(stack),
    cluster_name: clusterOf(stack),
    project_info: { title: project.title, name: project.id, namespace, organization: project.organization_id, capabilities, settings },
    environment_info: {
      name: environment.id,
      status,
      is_main: environment.is_main,
      is_production: environment.type === 'production',
      constraints: {},
      reference: `refs/heads/${environment.id}`,
      machine_name: environment.machine_name,
      environment_type: environment.type,
      links: {},
    },
    deployment_target: 'local',
    vpn: null,
    ...stack.settings,
    variables: toldVariables(stack),
    access,
    subscription,
    services: mapValues(model.services, (service) => serviceDocument(stack, service)),
    routes: mapValues(routes, (route) => ({ ...route, id: route.id ?? route.original_url })),
    webapps: mapValues(model.applications, (app) => webappDocument(stack, app)),
    workers: mapValues(workersIn(model), (worker) => workerDocument(stack, worker)),
    container_profiles: containerProfiles,
    tasks: mapValues(model.tasks, (task) => taskDocument(stack, task)),
  };
}

const mapValues = <T, U>(values: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));

const fingerprintOf = ({ commit_id, model, slugs, sizes, routes, settings }: Stack) =>
  createHash('sha256')
    .update(JSON.stringify([commit_id, model, slugs, sizes, routes, settings]))
    .digest('hex');

const toldVariables = ({ secrets }: Stack) =>
  secrets.variables.map(({ name, value, is_sensitive, is_json, visible_build, visible_runtime }) => ({
    name,
    ...(!is_sensitive && { value }),
    is_sensitive,
    is_json,
    visible_build,
    visible_runtime,
  }));

function serviceDocument({ sizes }: Stack, service: Service) {
  return {
    ...service,
    ...sizeDocument(sizedService(service), sizes.services[service.name], null),
    access: {},
    firewall: null,
    supports_horizontal_scaling: false,
  };
}

function webappDocument(stack: Stack, app: App) {
  return {
    ...app,
    ...containerDocument(stack, app, app.name),
    ...sizeDocument(sizedApp(app, storageOwners(stack.model)), stack.sizes.webapps[app.name], app.resources),
    config_id: stack.slugs[app.name]?.config_id ?? '',
    is_across_submodule: false,
  };
}

function workerDocument(stack: Stack, worker: WorkerDocument) {
  return {
    ...worker,
    // Operations run in the app. A released client that is not told where to run one takes the last container that lists it.
    operations: {},
    ...containerDocument(stack, worker, worker.app),
    ...sizeDocument(sizedApp(worker, storageOwners(stack.model)), stack.sizes.workers[worker.name], worker.resources),
  };
}

/** The profile of a task is an extension of the published API: clients that know it show the right memory. */
function taskDocument({ sizes }: Stack, task: Task) {
  const size = sizes.tasks[task.name];
  return { resources: size ? { profile_size: size.profile_size } : null, container_profile: profileOfTask(task) };
}

const containerDocument = ({ slugs, model }: Stack, { access }: Instance, app: string) => ({
  tree_id: slugs[app]?.tree_id ?? '',
  slug_id: slugs[app]?.slug_id ?? '',
  app_dir: appDirOf({ type: model.applications[app]?.type ?? '' }),
  access,
  authorizations: [],
  egress: null,
  endpoints: null,
  stack: { runtimes: [], packages: [] },
  image: null,
  supports_horizontal_scaling: true,
});

function sizeDocument(sized: Sized, size: Size | undefined, legacy: Instance['resources']) {
  const container_profile = profileOf(sized.type, sized.container_profile);
  const told = (step: Size) => ({ ...stepOf(container_profile, step), disk: step.disk, profile_size: step.profile_size });
  return {
    container_profile,
    disk: size?.disk ?? null,
    instance_count: size?.instance_count ?? null,
    resources: {
      base_memory: legacy?.base_memory ?? null,
      memory_ratio: legacy?.memory_ratio ?? null,
      profile_size: size?.profile_size ?? null,
      minimum: told(minimum(sized)),
      default: told(usual(sized)),
      disk: { temporary: null, instance: null, storage: size?.disk ?? null, object: null },
    },
  };
}

/** Undefined where there is no such deployment, or none any more. */
export async function loadDeployment(
  { db, secrets, config }: Pick<Platform, 'db' | 'secrets' | 'config'>,
  projectId: string,
  environmentId: string,
  id: string,
): Promise<Deployment | undefined> {
  const [found, project] = [await keptDeployment(db, projectId, environmentId, id), await projectById(db, projectId)];
  const deployed = found && project && (await deployedById(db, secrets, found.id));
  if (!deployed) return undefined;
  const circumstances = await circumstancesOf({ db, config }, project, deployed.stack.environment.type);
  return deploymentDocument(deployed.stack, { ...circumstances, id, updated_at: found.updated_at, status: found.status });
}

/** The circumstances that all environments of one type have in common. */
export async function circumstancesOf(
  { db, config }: Pick<Platform, 'db' | 'config'>,
  project: Project,
  type: EnvironmentType,
): Promise<Pick<Circumstances, 'access' | 'namespace' | 'settings' | 'subscription'>> {
  const { project: _, ...settings } = settingsOf(project, config);
  const access = await accessTo(db, project.id, type);
  return { access, namespace: project.namespace, settings, subscription: subscriptionOf(project, config) };
}

/** A deployment that runs or has run, as opposed to one that is being prepared or never came to run. */
async function keptDeployment(db: Db | Tx, projectId: string, environmentId: string, id: string) {
  const { rows } = await sql<{ id: string; updated_at: string; status: EnvironmentState }>`
    select deployments.id, deployments.updated_at, environments.status from deployments
    join environments on environments.project_id = deployments.project_id and environments.id = deployments.environment_id
    where deployments.project_id = ${projectId} and deployments.environment_id = ${environmentId}
      and case when ${id} = 'current' then ${deploymentLife.sqlPossible('deployments.status', 'run')}
        else deployments.id = ${id} and ${deploymentLife.sqlPossible('deployments.status', 'show')} end`.execute(db);
  return rows[0];
}

/** The users with access of their own to the project, each with their strongest role for the type of environment. */
async function accessTo(db: Db | Tx, projectId: string, type: EnvironmentType): Promise<Circumstances['access']> {
  const { rows } = await sql<{ user_id: string; permissions: string[] }>`
    select user_id, permissions from user_access where project_id = ${projectId} order by user_id`.execute(db);
  return rows.flatMap(({ user_id, permissions }) => {
    const holds = (role: string) => permissions.includes(`${type}:${role}`);
    const role = permissions.includes('admin') ? 'admin' : (['admin', 'contributor', 'viewer'] as const).find(holds);
    return role ? [{ entity_id: user_id, role }] : [];
  });
}
