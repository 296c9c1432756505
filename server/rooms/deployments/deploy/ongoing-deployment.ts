/**
 * A deployment under way: the stack that is wanted, the one that runs, and the plan between the two. It begins with a row in the database, from which
 * all of it can be had again after a kill; secrets are nowhere else.
 */
import type { Work } from '../../../kernel/activity.ts';
import { shortId } from '../../../kernel/id.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { resolveRoutes, type ProjectModel, type Slug } from '../../builds/public.ts';
import { hostsToResolveWith } from '../../domain-names/public.ts';
import { effectiveVariables } from '../../variables/public.ts';
import { accountsFor } from './accounts.ts';
import { holdCapacity, refuseOverCapacity } from '../sizes/capacity.ts';
import { autoscaledIn, instanceCountsOf, scaledSizes } from '../sizes/autoscaled.ts';
import { chosenSizes } from '../sizes/chosen-sizes.ts';
import { claimHosts, giveBackHosts } from './claim-hosts.ts';
import {
  cloneSource,
  isRollingWanted,
  isScaling,
  leavesStaged,
  renewsImages,
  replacedBy,
  replacesData,
  restartsApps,
  restoringOf,
  sizesRequestOf,
  type DeployRequest,
  type SizesRequest,
} from './deploy-request.ts';
import { generatedHost } from '../stack/host-names.ts';
import { checkVersions, planDeployment, type Plan } from '../stack/plan.ts';
import {
  currentSizes,
  currentlyDeployed,
  deployedById,
  ensureEntropy,
  insertDeployment,
  isSettled,
  markFailed,
  newDeployment,
  nextNumber,
  subjectOf,
  type Deployed,
  type Subject,
} from '../queries.ts';
import { refuseUnfit, restoredVolumes, sizesBefore } from './restoring.ts';
import { sizesFor, type SizesFrom } from '../sizes/sizes.ts';
import { cloningsOf, type Cloning } from './stack-volumes.ts';
import type { Sizes, Stack } from '../stack/stack.ts';
import { environmentLife } from '../../environments/life-cycle.ts';

export interface OngoingDeployment {
  work: Work<unknown>;
  platform: Platform;
  machine: Machine;
  request: DeployRequest;
  wanted: Deployed;
  /** What runs now; undefined: nothing has run so far. */
  current: Deployed | undefined;
  wasPaused: boolean;
  plan: Plan;
  /** The environment whose data the deployed one gets, and the volumes concerned. */
  source: Deployed | undefined;
  clonings: Cloning[];
  /** New instances stand beside the old ones; otherwise requests wait while they are replaced. */
  isRolling: boolean;
}

/** What the activity stores of an ongoing deployment: ids of deployments. */
interface Prepared {
  deployment: string;
  previous: string | null;
  source: string | null;
  wasPaused: boolean;
}

/** What is to be deployed, ready to run. */
export interface Built {
  model: ProjectModel;
  slugs: Record<string, Slug>;
  /** The earlier stack that the builds are taken from, where they were deployed before. */
  base?: Stack;
}

export async function prepareDeployment(
  work: Work<unknown>,
  platform: Platform,
  request: DeployRequest,
  built: Built,
): Promise<OngoingDeployment> {
  const { db } = platform;
  const prepared = await work.record(
    'prepare deployment',
    (tx) => prepare(tx, platform, work.activity, request, built),
    async (result) => {
      if (!result) return;
      await markFailed(db, result.deployment);
      await giveBackHosts(db, work.activity.project_id, request.environment);
    },
  );
  return opened(work, platform, request, prepared);
}

export async function environmentFor(db: Parameters<typeof subjectOf>[0], projectId: string, environment: string): Promise<Subject> {
  const subject = await subjectOf(db, projectId, environment);
  if (!subject || !environmentLife.possible(subject.status, 'run'))
    throw new Problem('conflict', `There is no environment ${environment} to deploy.`);
  return subject;
}

async function prepare(
  tx: Tx,
  platform: Platform,
  { id: activityId, project_id }: { id: string; project_id: string },
  request: DeployRequest,
  { model, slugs, base }: Built,
): Promise<Prepared> {
  const { secrets } = platform;
  const { environment } = request;
  const restoring = restoringOf(request);
  const subject = await environmentFor(tx, project_id, environment);
  const current = await currentlyDeployed(tx, secrets, project_id, environment);
  const taken = replacedBy(request);
  const donor = taken ?? (current ? undefined : cloneSource(request));
  const source = donor === undefined ? undefined : await currentlyDeployed(tx, secrets, project_id, donor);
  if (taken !== undefined && !source)
    throw new Problem('conflict', `${taken} has no data to take over: it is not deployed. Deploy it first.`);
  const standing = standingStack(subject, current, request);
  const domain_names = standing?.domain_names ?? subject.domain_names;
  const { http_access, enable_smtp, restrict_robots } = settingsThen(base, request) ?? standing?.settings ?? subject;
  const wanted: Stack = {
    id: subject.stack_id ?? shortId(),
    deployment: newDeployment(await nextNumber(tx, project_id, environment)),
    project: {
      id: project_id,
      title: subject.project_title,
      organization_id: subject.organization_id,
      entropy: await ensureEntropy(tx, secrets, project_id),
    },
    environment: { id: subject.environment_id, machine_name: subject.machine_name, type: subject.type, is_main: subject.is_main },
    commit_id: request.commit,
    model,
    slugs,
    sizes: await wantedSizes(tx, subject, model, base, request),
    routes: routesThen(base, standing, request) ?? routesOf(platform, { ...subject, domain_names, http_access, restrict_robots }, model),
    domain_names,
    ...(isScaling(request) && base?.told_routes && { told_routes: base.told_routes }),
    settings: { http_access, enable_smtp, restrict_robots },
    secrets: {
      variables:
        variablesThen(base, request) ?? standing?.secrets.variables ?? (await effectiveVariables(tx, secrets, project_id, environment)),
      accounts: accountsFor(model.services, (current?.stack ?? cameBack(project_id, base, request))?.secrets.accounts),
    },
  };
  await claimHosts(tx, platform.config, subject, wanted.routes);
  if (source) checkVersions(wanted, source.stack);
  if (restoring) refuseUnfit(restoring, model, current?.stack);
  const { generations } = planDeployment(wanted, current, { restart: restartsApps(request) });
  await holdCapacity(tx);
  if (request.kind !== 'at rest') await refuseOverCapacity(tx, platform, subject, model, wanted.sizes);
  await insertDeployment(tx, secrets, { stack: wanted, generations }, activityId, isScaling(request));
  return {
    deployment: wanted.deployment.id,
    previous: current?.stack.deployment.id ?? null,
    source: source?.stack.deployment.id ?? null,
    wasPaused: environmentLife.possible(subject.status, 'resume'),
  };
}

/** With manual deployments, a deployment that leaves changes staged has the variables, settings and domains of what runs. */
const standingStack = ({ enable_manual_deployments }: Subject, current: Deployed | undefined, request: DeployRequest): Stack | undefined =>
  enable_manual_deployments && leavesStaged(request) ? current?.stack : undefined;

/** Whether variables and settings stay those of what runs, even if its data is replaced. */
const isAsItWas = ({ kind }: DeployRequest) => kind === 'again' || kind === 'scaled' || kind === 'backup data';

const settingsThen = (base: Stack | undefined, request: DeployRequest) => (isAsItWas(request) ? base?.settings : undefined);

/** Where domains are staged, what runs goes on without them. Scaling leaves routes to those who change them. */
const routesThen = (base: Stack | undefined, standing: Stack | undefined, request: DeployRequest) =>
  (standing && isAsItWas(request)) || isScaling(request) ? base?.routes : undefined;

/** An environment that was lost and comes back keeps its passwords, as the data that it is restored from knows them. */
const cameBack = (projectId: string, base: Stack | undefined, request: DeployRequest): Stack | undefined =>
  restoringOf(request)?.isElsewhere === false && base?.project.id === projectId ? base : undefined;

/** The variables of an earlier deployment that is repeated. Secrets of one environment are never given to another, whatever it restores. */
function variablesThen(base: Stack | undefined, request: DeployRequest): Stack['secrets']['variables'] | undefined {
  const restoring = restoringOf(request);
  const isOwn = restoring?.restoresCode ? !restoring.isElsewhere : isAsItWas(request);
  return isOwn ? base?.secrets.variables : undefined;
}

async function wantedSizes(tx: Tx, subject: Subject, model: ProjectModel, base: Stack | undefined, request: DeployRequest): Promise<Sizes> {
  if (request.kind !== 'again' && request.kind !== 'rollback' && request.kind !== 'scaled')
    return sizesOf(tx, subject, model, sizesRequestOf(request));
  if (!base) throw new Error('What is deployed again was never deployed');
  if (request.kind === 'scaled') return scaledSizes(base.sizes, request.counts);
  return sizesAgain(tx, base, request.environment, 'sizesFrom' in request ? request.sizesFrom : undefined);
}

/** Containers that are there keep their sizes; new ones get a size as `init` says. */
export async function sizesOf(
  tx: Parameters<typeof subjectOf>[0],
  subject: Subject,
  model: ProjectModel,
  request: SizesRequest,
): Promise<Sizes> {
  const sizes = sizesFor(model, await sizesFrom(tx, subject, request));
  return request.restoring ? withDisksOf(await currentSizes(tx, subject.project_id, subject.environment_id), sizes) : sizes;
}

export async function sizesFrom(tx: Parameters<typeof subjectOf>[0], subject: Subject, request: SizesRequest): Promise<SizesFrom> {
  const { project_id, environment_id, parent } = subject;
  const of = (environment: string | null | undefined) => (environment ? currentSizes(tx, project_id, environment) : undefined);
  const donor = request.replaceData ?? request.cloneFrom ?? (request.init === 'parent' ? parent : undefined);
  const { restoring, init } = request;
  if (restoring)
    return { previous: sizesBefore(await of(environment_id), restoring), parent: await of(donor), backup: restoring.stack.sizes, init };
  return {
    chosen: (await chosenSizes(tx, project_id, environment_id)).sizes,
    previous: takenOver(await of(environment_id), await of(request.sizesFrom)),
    parent: await of(donor),
    child: await of(request.child),
    init,
  };
}

/**
 * The sizes of an earlier deployment, except that disks stay at least as large as they are now, to hold their data, and that what is scaled by load has
 * as many instances as the load asks for now.
 */
async function sizesAgain(tx: Tx, { sizes, project }: Stack, environment: string, donor: string | undefined): Promise<Sizes> {
  const now = await currentSizes(tx, project.id, environment);
  const others = donor === undefined ? undefined : await currentSizes(tx, project.id, donor);
  const then = withCountsOf(now, withDisksOf(now, sizes), await autoscaledIn(tx, project.id, environment));
  return takenOver(then, others) ?? then;
}

function withCountsOf(now: Sizes | undefined, sizes: Sizes, autoscaled: ReadonlySet<string>): Sizes {
  const counts = Object.entries(now ? instanceCountsOf(now) : {}).filter(([name]) => autoscaled.has(name));
  return scaledSizes(sizes, Object.fromEntries(counts));
}

function withDisksOf(now: Sizes | undefined, sizes: Sizes): Sizes {
  const disk = (group: keyof Sizes, name: string, then: number | null) => {
    const is = now && Object.hasOwn(now[group], name) ? now[group][name]?.disk : undefined;
    return then === null ? (is ?? null) : Math.max(then, is ?? 0);
  };
  const group = (key: keyof Sizes) =>
    Object.fromEntries(Object.entries(sizes[key]).map(([name, size]) => [name, { ...size, disk: disk(key, name, size.disk) }]));
  return { services: group('services'), webapps: group('webapps'), workers: group('workers'), tasks: group('tasks') };
}

/** Takes over the other environment's sizes for containers that both have; disks never get smaller. */
function takenOver(own: Sizes | undefined, others: Sizes | undefined): Sizes | undefined {
  if (!own || !others) return own;
  const group = (key: keyof Sizes) =>
    Object.fromEntries(
      Object.entries(own[key]).map(([name, size]) => {
        const other = Object.hasOwn(others[key], name) ? others[key][name] : undefined;
        return [name, other ? { ...other, disk: size.disk === null ? other.disk : Math.max(size.disk, other.disk ?? 0) } : size];
      }),
    );
  return { services: group('services'), webapps: group('webapps'), workers: group('workers'), tasks: group('tasks') };
}

/** The routes as people reach them: over https, or without TLS over http, at the ports of the edge. */
export const routesOf = ({ config }: Platform, subject: Subject, { routes }: ProjectModel) =>
  resolveRoutes(
    routes,
    {
      ...hostsToResolveWith(subject.domain_names, {
        generated: generatedHost(subject, config),
        isProduction: subject.type === 'production',
      }),
      scheme: config.tls ? 'https' : 'http',
      ports: { http: config.edge.port, https: config.edge.httpsPort },
    },
    { restrict_robots: subject.restrict_robots, http_access: subject.http_access },
  );

async function opened(work: Work<unknown>, platform: Platform, request: DeployRequest, prepared: Prepared): Promise<OngoingDeployment> {
  const { db, secrets } = platform;
  const find = async (id: string | null) => (id === null ? undefined : deployedById(db, secrets, id));
  const [wanted, current, source] = await Promise.all([find(prepared.deployment), find(prepared.previous), find(prepared.source)]);
  if (!wanted) throw new Problem('conflict', `The environment ${request.environment} is gone.`);
  const plan = planDeployment(wanted.stack, current, { restart: restartsApps(request) });
  const { wasPaused } = prepared;
  return {
    work,
    platform,
    request,
    wanted,
    current,
    wasPaused,
    plan,
    source,
    machine: await platform.machine(),
    clonings: clonedFrom(wanted.stack, source, request),
    isRolling: isRollingWanted(request) && !plan.forbidsRolling && !wasPaused && !touchesServices(request),
  };
}

function clonedFrom(wanted: Stack, source: Deployed | undefined, request: DeployRequest): Cloning[] {
  const restoring = restoringOf(request);
  return restoring ? restoredVolumes(wanted, restoring) : source ? cloningsOf(wanted, source.stack) : [];
}

const touchesServices = (request: DeployRequest) => replacesData(request) || renewsImages(request);

/** For `undo`: does nothing once the deployment is what the environment runs. */
export const unlessSettled =
  ({ platform: { db }, work: { activity } }: Pick<OngoingDeployment, 'platform' | 'work'>, undo: () => Promise<void>) =>
  async (): Promise<void> => {
    if (!(await isSettled(db, activity.id))) await undo();
  };
