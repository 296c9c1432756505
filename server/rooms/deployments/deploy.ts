/**
 * The life of a deployment. Until it is current, everything that was done can be taken back, and the environment is as it was: the old instances
 * serve. From then on nothing is taken back any more, whatever fails. Each step bears being done again after `kill -9`.
 */
import type { Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { buildApps, readModel, type ProjectModel, type Slug } from '../builds/room.ts';
import { effectiveVariables } from '../variables/room.ts';
import { resourceLines } from './deployment-log.ts';
import {
  cleanUp,
  closeEnvironment,
  makeData,
  openApplications,
  openEnvironment,
  openServices,
  replaceData,
  runDeployHooks,
  runPostDeployHooks,
  sanitizeData,
  settle,
} from './deployment-steps.ts';
import { environmentFor, prepareDeployment, sizesOf } from './deploying.ts';
import { currentSizes, ensureEntropy, failureOf, isSettled, noteOutcome } from './queries.ts';
import type { SizesInit } from './sizes.ts';

export interface DeployRequest {
  environment: string;
  commit: string;
  /** Requests are held while apps are replaced, or new instances stand beside the old ones until they are ready. */
  strategy: 'stopstart' | 'rolling';
  /** Where containers that are new get their sizes from. */
  init: SizesInit;
  /** Of a merge: the environment that was merged, for `init: 'child'`. */
  child?: string;
  /** The environment whose sizes take the place of its own, for what both have. */
  sizesFrom?: string;
  /** Apps start anew also where nothing changed. */
  restart: boolean;
  /** At first activation only: the environment whose data it starts with. */
  cloneFrom?: string;
  /** The environment whose data takes the place of its own. */
  replaceData?: string;
}

/** Makes the environment run what the commit says, or leaves it as it was. Call it as the last thing of an activity. */
export async function deployEnvironment(work: Work<unknown>, platform: Platform, request: DeployRequest): Promise<void> {
  const model = await validateConfiguration(work, platform, request);
  if (!model) return;
  await configureResources(work, platform, request, model);
  const slugs = await build(work, platform, request, model);
  const deploying = await prepareDeployment(work, platform, request, model, slugs);
  await makeData(deploying);
  await closeEnvironment(deploying);
  await replaceData(deploying);
  await openServices(deploying);
  await sanitizeData(deploying);
  await openApplications(deploying);
  const commands = await runDeployHooks(deploying);
  await openEnvironment(deploying);
  await settle(deploying, commands);
  await cleanUp(deploying);
  await runPostDeployHooks(deploying, commands);
}

/** Undefined: there is nothing to deploy, and nothing runs that would have to stay as it is. */
async function validateConfiguration(work: Work<unknown>, platform: Platform, request: DeployRequest): Promise<ProjectModel | undefined> {
  const { project_id } = work.activity;
  const read = () => readModel(platform, project_id, request.commit);
  let found: Awaited<ReturnType<typeof read>>;
  const isThere = await work.step(
    'validate configuration',
    async () => {
      work.log('Validating configuration files');
      found = await read();
      for (const line of [...(found?.warnings ?? []), ...(found?.proposal?.split('\n') ?? [])]) work.log(`  ${line}`);
      if (!found) await refuseToLoseWhatRuns(work, platform, request);
      return found !== undefined;
    },
    () => noteFailure(work, platform, request),
  );
  // Not from the step's result: stored JSON does not keep the order of keys, which counts in rules and routes.
  return isThere ? (found ?? (await read()))?.model : undefined;
}

async function refuseToLoseWhatRuns({ activity, log }: Work<unknown>, { db }: Platform, { environment }: DeployRequest) {
  const { status } = await environmentFor(db, activity.project_id, environment);
  const missing =
    'No configuration was found, and nothing in the files tells what to run: add .upsun/config.yaml with at least one application.';
  if (status === 'active' || status === 'paused') throw new Problem('invalid-request', `Invalid deployment: ${missing}`);
  log(`  ${missing}\n  Nothing is built or deployed.`);
}

async function noteFailure({ activity, log }: Work<unknown>, { db }: Platform, { environment }: DeployRequest) {
  if (await isSettled(db, activity.id)) return;
  log(`Environment redeployment failed: ${environment} is as it was.`);
  const at = new Date().toISOString();
  await noteOutcome(db, activity.project_id, environment, { successful: false, ...(await failureOf(db, activity.id)), at });
}

/** Before the build, which may take long: whoever has to set sizes by hand is told at once. */
const configureResources = ({ step, log, activity }: Work<unknown>, { db }: Platform, request: DeployRequest, model: ProjectModel) =>
  step('configure resources', async () => {
    const subject = await environmentFor(db, activity.project_id, request.environment);
    const before = await currentSizes(db, activity.project_id, request.environment);
    for (const line of resourceLines(model, await sizesOf(db, subject, model, request), before)) log(line);
  });

async function build(work: Work<unknown>, platform: Platform, request: DeployRequest, model: ProjectModel): Promise<Record<string, Slug>> {
  const { db, git, config, secrets } = platform;
  const { project_id } = work.activity;
  const { runtime, images, volumes } = await platform.machine();
  const [entropy, variables] = await Promise.all([
    db.transaction().execute((tx) => ensureEntropy(tx, secrets, project_id)),
    effectiveVariables(db, secrets, project_id, request.environment),
  ]);
  const asked = {
    project: { id: project_id, entropy },
    environment: { id: request.environment },
    commit: request.commit,
    model,
    variables,
  };
  return buildApps(work, { runtime, images, volumes, git, db, config }, asked);
}
