/**
 * The life of a deployment. Until it is current, everything that was done can be taken back, and the environment is as it was: the old instances
 * serve. From then on nothing is taken back any more, whatever fails. Each step bears being done again after `kill -9`.
 */
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import type { ProjectModel, Slug } from '../../builds/public.ts';
import { fetchSubmodules, readModel, useSlug } from '../../builds/work.ts';
import { foundAfterFailure } from './wait-until-all-run.ts';
import { build } from './building.ts';
import { refuseOverCapacity } from '../sizes/capacity.ts';
import { chooseSizes, noteSizesByHand } from '../sizes/chosen-sizes.ts';
import { refuseForeignHosts } from './claim-hosts.ts';
import { refuseNamesAlike } from '../stack/distinct-names.ts';
import {
  cloneSource,
  isScaling,
  replacedBy,
  restoringOf,
  sizesRequestOf,
  type BackupDataDeployment,
  type CodeDeployment,
  type DeploymentAtRest,
  type DeployRequest,
} from './deploy-request.ts';
import { resourceLines } from './deployment-log.ts';
import { withProgress } from './deployment-progress.ts';
import {
  cleanUp,
  closeEnvironment,
  fetchData,
  keptVolumes,
  makeData,
  openApplications,
  openEnvironment,
  openServices,
  replaceData,
  runDeployHooks,
  runPostDeployHooks,
  sanitizeData,
  settle,
  takenData,
} from './deployment-steps.ts';
import { environmentFor, prepareDeployment, routesOf, sizesOf, type Built } from './ongoing-deployment.ts';
import { currentSizes, deployedById, failureOf, isSettled, noteOutcome } from '../queries.ts';
import { restoreAtRest } from './restore-at-rest.ts';
import { checkRestoring, findBackedUp } from './restoring.ts';
import type { SizeGroup } from '../stack/stack.ts';
import { wakeForWork } from '../running/wake.ts';
import { environmentLife } from '../../environments/life-cycle.ts';

/** The deployments that are built from the commit. */
type FromCommit = CodeDeployment | BackupDataDeployment;

/** Makes the environment run what is asked for, or leaves it as it was. Call it as the last thing of an activity. */
export async function deployStack(given: Work<unknown>, platform: Platform, request: DeployRequest): Promise<void> {
  if (request.kind === 'at rest') return restoreAtRest(given, platform, request);
  const work = withProgress(given);
  const onFailure = () => noteFailure(work, platform, request);
  const restoring = restoringOf(request);
  if (restoring) await checkRestoring(work, platform, request.environment, restoring);
  await wakeForWork(work, platform, [request.environment, cloneSource(request) ?? [], replacedBy(request) ?? []].flat());
  const built = await findOrBuild(work, platform, request, onFailure);
  if (!built) return;
  const deploying = await prepareDeployment(work, platform, request, built);
  await fetchData(deploying);
  const clonedAt = await makeData(deploying, await keptVolumes(deploying));
  await closeEnvironment(deploying);
  const replacedAt = await replaceData(deploying);
  await openServices(deploying);
  await sanitizeData(deploying);
  await openApplications(deploying);
  const commands = await runDeployHooks(deploying);
  await openEnvironment(deploying);
  await settle(deploying, commands, takenData(deploying, replacedAt ?? clonedAt));
  await cleanUp(deploying);
  await runPostDeployHooks(deploying, commands);
}

/** Goes as far as possible without changing what runs, so that the mistakes of a change show before anybody deploys it. */
export async function stageDeployment(given: Work<unknown>, platform: Platform, request: CodeDeployment): Promise<void> {
  const work = withProgress(given);
  await wakeForWork(work, platform, [request.environment]);
  const built = await buildCommit(work, platform, request);
  if (built) await work.record('keep sizes', (tx) => keepSizes(tx, work.activity.project_id, request, built.model));
}

/** Keeps the sizes that this change says for new containers, whatever else is staged before somebody deploys it. */
async function keepSizes(tx: Tx, projectId: string, request: CodeDeployment, model: ProjectModel): Promise<void> {
  const subject = await environmentFor(tx, projectId, request.environment);
  const [sizes, before] = [await sizesOf(tx, subject, model, request), await currentSizes(tx, projectId, request.environment)];
  const fresh = (group: SizeGroup) =>
    Object.fromEntries(Object.entries(sizes[group]).filter(([name]) => !before || !Object.hasOwn(before[group], name)));
  const change = { services: fresh('services'), webapps: fresh('webapps'), workers: fresh('workers'), tasks: fresh('tasks') };
  if (Object.values(change).some((group) => Object.keys(group).length > 0)) await chooseSizes(tx, projectId, request.environment, change);
}

/** Undefined: there is nothing to deploy. */
async function findOrBuild(
  work: Work<unknown>,
  platform: Platform,
  request: Exclude<DeployRequest, DeploymentAtRest>,
  onFailure: () => Promise<void>,
): Promise<Built | undefined> {
  switch (request.kind) {
    case 'code':
      return buildCommit(work, platform, request, onFailure);
    case 'again':
    case 'rollback':
    case 'scaled':
      return findBuilt(work, platform, request, request.deployment, onFailure);
    case 'backup':
      return findBackedUp(work, platform, request.restoring, onFailure);
    case 'backup data':
      return request.deployment === null
        ? buildCommit(work, platform, request, onFailure)
        : findBuilt(work, platform, request, request.deployment, onFailure);
  }
}

/** Undefined: there is no configuration in the commit, so there is nothing to build. */
async function buildCommit(
  work: Work<unknown>,
  platform: Platform,
  request: FromCommit,
  onFailure?: () => Promise<void>,
): Promise<Built | undefined> {
  const model = await validateConfiguration(work, platform, request, onFailure);
  if (!model) return undefined;
  await configureResources(work, platform, request, model);
  return { model, slugs: await build(work, platform, request, model) };
}

/** What an earlier deployment was made of; slugs that are not kept any more are built again where the request allows it. */
async function findBuilt(
  work: Work<unknown>,
  platform: Platform,
  request: DeployRequest,
  deployment: string,
  onFailure: () => Promise<void>,
): Promise<Built> {
  const { db, secrets } = platform;
  const rebuilds = request.kind === 'again' && request.rebuilds;
  const base = (await deployedById(db, secrets, deployment))?.stack;
  const { volumes, images } = await platform.machine();
  const hasImage = async ({ image }: Slug) => !image?.type || (await images.built(image.type)) !== undefined;
  const hasGaps = await work.step(
    'find builds',
    async (signal) => {
      if (!base) throw new Problem('conflict', 'The deployment is not kept any more.');
      const kept = await Promise.all(
        Object.entries(base.slugs).map(async ([app, slug]) => ({
          app,
          isKept: (await useSlug(db, volumes, slug)) && (await hasImage(slug)),
        })),
      );
      const missing = kept.filter(({ isKept }) => !isKept).map(({ app }) => app);
      if (missing.length > 0 && !rebuilds)
        throw new Problem(
          'conflict',
          `The build of '${missing[0]}' for deployment ${base.deployment.number} is not kept any more; push its commit again.`,
        );
      if (missing.length > 0) await fetchSubmodules(platform, { activity: work.activity, commit: base.commit_id, log: work.log, signal });
      return missing.length > 0;
    },
    onFailure,
  );
  if (!base) throw new Problem('conflict', 'The deployment is not kept any more.');
  const { model, commit_id: commit } = base;
  const slugs = hasGaps
    ? await build(work, platform, { environment: request.environment, commit }, model, base.secrets.variables)
    : base.slugs;
  return { model, slugs, base };
}

/** Undefined: there is nothing to deploy, and nothing runs that would have to stay as it is. */
async function validateConfiguration(
  work: Work<unknown>,
  platform: Platform,
  request: FromCommit,
  onFailure?: () => Promise<void>,
): Promise<ProjectModel | undefined> {
  const { project_id } = work.activity;
  const read = () => readModel(platform, project_id, request.commit);
  let found: Awaited<ReturnType<typeof read>>;
  const isThere = await work.step(
    'validate configuration',
    async (signal) => {
      await fetchSubmodules(platform, { activity: work.activity, commit: request.commit, log: work.log, signal });
      work.log('Validating configuration files');
      found = await read();
      for (const line of [...(found?.warnings ?? []), ...(found?.proposal?.split('\n') ?? [])]) work.log(`  ${line}`);
      if (found) await refuseNames(work, platform, request, found.model);
      else await refuseToLoseWhatRuns(work, platform, request);
      return found !== undefined;
    },
    onFailure,
  );
  // The model is not taken from the step's result: stored JSON does not keep the order of keys, which matters in rules and routes.
  return isThere ? (found ?? (await read()))?.model : undefined;
}

/** Refuses host names before the build. Hosts are claimed after it, as a staged deployment has none yet. */
async function refuseNames({ activity }: Work<unknown>, platform: Platform, { environment }: DeployRequest, model: ProjectModel) {
  refuseNamesAlike(model);
  const subject = await environmentFor(platform.db, activity.project_id, environment);
  await refuseForeignHosts(platform.db, platform.config, subject, routesOf(platform, subject, model));
}

/** Refuses to deploy nothing where something runs, or where data was to be restored: neither is given up silently. */
async function refuseToLoseWhatRuns({ activity, log }: Work<unknown>, { db }: Platform, request: FromCommit) {
  const { status } = await environmentFor(db, activity.project_id, request.environment);
  const missing =
    'No configuration was found, and nothing in the files tells what to run: add .upsun/config.yaml with at least one application.';
  if (environmentLife.possible(status, 'holdData') || restoringOf(request))
    throw new Problem('invalid-request', `Invalid deployment: ${missing}`);
  log(`  ${missing}\n  Nothing is built or deployed.`);
}

async function noteFailure({ activity, log }: Work<unknown>, platform: Platform, request: DeployRequest) {
  const { db } = platform;
  const { environment } = request;
  if (isScaling(request) || (await isSettled(db, activity.id))) return;
  log(`Environment redeployment failed: ${await foundAfterFailure(platform, activity.project_id, environment)}`);
  const at = new Date().toISOString();
  await noteOutcome(db, activity.project_id, environment, { successful: false, ...(await failureOf(db, activity.id)), at });
}

/** Works out sizes before the build, which may take long, so that whoever has to set sizes by hand is told at once. */
const configureResources = ({ step, log, activity }: Work<unknown>, platform: Platform, request: FromCommit, model: ProjectModel) =>
  step('configure resources', async () => {
    const { db } = platform;
    const subject = await environmentFor(db, activity.project_id, request.environment);
    const before = await currentSizes(db, activity.project_id, request.environment);
    await noteSizesByHand(db, activity.project_id, request.environment, sizesRequestOf(request).init === 'manual');
    const sizes = await sizesOf(db, subject, model, sizesRequestOf(request));
    for (const line of resourceLines(model, sizes, before)) log(line);
    await refuseOverCapacity(db, platform, subject, model, sizes);
  });
