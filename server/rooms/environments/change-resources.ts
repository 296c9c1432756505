/** Writes down the sizes that somebody chose, and deploys them. */
import { Type } from 'typebox';
import { activity, startActivity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence } from '../activities/public.ts';
import { autoscaledIn, checkedSizes, currentSizes, type Deployment, type ResourcesChange } from '../deployments/public.ts';
import { chooseSizes, loadNextDeployment, nextStackOf, previewSizes, refuseEarly, type NextStack } from '../deployments/work.ts';
import { concernedBy, deployBranch } from './deploy-branch.ts';
import { environmentById, lockTree } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { environmentLife } from './life-cycle.ts';
import { InstanceCounts, instancesMaxOf, scaleInstances } from './scale-instances.ts';

/** Sizes that people chose are already written down, and are deployed at once or staged, like every change. Instances that the load asks for are never staged. */
export const updateResourcesActivity = activity({
  type: 'environment.resources.update',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ environment: Type.String(), activate: Type.Boolean(), counts: Type.Optional(InstanceCounts) }),
  run: (work, platform) => {
    const { environment, activate, counts } = work.input;
    if (counts) return scaleInstances(work, platform, environment, counts);
    return deployBranch(work, platform, environment, { occasion: 'settings', activate });
  },
});

export async function changeResources(
  platform: Platform,
  { project_id, environment_id, organization_id }: Deployment,
  change: ResourcesChange,
  caller: Caller,
): Promise<Changed<Deployment>> {
  const next = await deployableNext(platform, project_id, environment_id);
  const actor = actorOf(caller.user);
  const started = await platform.db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const { environment, chosen } = await checkedChange(tx, platform, { project_id, environment_id }, next, change);
    await chooseSizes(tx, project_id, environment_id, chosen);
    await refuseEarly(tx, platform, environment, next.stack.model);
    return startActivity(tx, updateResourcesActivity, {
      project_id,
      environments: concernedBy(environment, true),
      // An environment that is deactivated meanwhile stays inactive.
      input: { environment: environment_id, activate: environmentLife.possible(environment.status, 'activate') },
      parameters: { user: actor.id, environment: environment_id, ...change },
      payload: { user: actor, environment: environmentSummary(environment) },
      sentence: sentence`${person(actor)} updated resource allocation on ${named(environment)}`,
    });
  });
  const row = await loadNextDeployment(platform, project_id, environment_id);
  if (!row) throw new Problem('not-found', 'No such next deployment.');
  return changed(row, organization_id, started);
}

async function deployableNext(platform: Platform, projectId: string, environmentId: string): Promise<NextStack> {
  const next = await nextStackOf(platform, projectId, environmentId);
  if (!next) throw new Problem('not-found', 'No such next deployment.');
  if (next.hindrance) throw next.hindrance;
  return next;
}

/** Throws a Problem where the sizes cannot be had. */
async function checkedChange(
  tx: Tx,
  { config }: Platform,
  { project_id, environment_id }: Pick<Deployment, 'project_id' | 'environment_id'>,
  { stack }: NextStack,
  change: ResourcesChange,
) {
  const environment = await environmentById(tx, config.domain, project_id, environment_id);
  if (!environment) throw new Problem('not-found', 'No such environment.');
  if (!environmentLife.possible(environment.status, 'resize'))
    throw new Problem('conflict', environmentLife.otherwise(environment.status, 'resize'));
  const disks = environment.is_dirty ? stack.sizes : await currentSizes(tx, project_id, environment_id);
  const instancesMax = instancesMaxOf(environment);
  const autoscaled = await autoscaledIn(tx, project_id, environment_id);
  return { environment, chosen: checkedSizes(stack.model, change, { instancesMax, autoscaled, disks }) };
}

/** What the same change would do, and what it would come to. Nothing is changed. */
export async function previewResources(platform: Platform, { project_id, environment_id }: Deployment, change: ResourcesChange) {
  const next = await deployableNext(platform, project_id, environment_id);
  return platform.db.transaction().execute(async (tx) => {
    const { environment, chosen } = await checkedChange(tx, platform, { project_id, environment_id }, next, change);
    return previewSizes(tx, platform, environment, next, chosen);
  });
}
