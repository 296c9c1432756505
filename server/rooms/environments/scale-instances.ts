/** Gives apps and workers of an environment the numbers of instances that the platform decided on (rooms/autoscaling), unless that has been overtaken meanwhile. */
import { Type } from 'typebox';
import type { Work } from '../../kernel/activity.ts';
import type { Platform } from '../../platform.ts';
import { autoscaledIn, currentStack, instanceCountsOf, type InstanceCounts as Counts } from '../deployments/public.ts';
import { deployStack, type ScaledDeployment } from '../deployments/work.ts';
import { capabilities } from '../projects/public.ts';
import { isOfSuspended } from '../organizations/public.ts';
import { environmentById, type Environment } from './queries.ts';
import { environmentLife } from './life-cycle.ts';

export const InstanceCounts = Type.Unsafe<Counts>({ type: 'object', additionalProperties: { type: 'integer', minimum: 1 } });

/** How many instances an app or worker of the environment may have. */
export const instancesMaxOf = ({ max_instance_count }: Pick<Environment, 'max_instance_count'>): number =>
  Math.min(capabilities.instance_limit, max_instance_count ?? capabilities.instance_limit);

export async function scaleInstances(work: Work<unknown>, platform: Platform, environment: string, wanted: Counts): Promise<void> {
  const found = await work.step('look at environment', () => situationOf(work, platform, environment, wanted));
  if (typeof found === 'string') return work.log(`${found} Nothing is scaled.`);
  for (const [name, count] of Object.entries(found.counts)) work.log(`Setting '${name}' instances to ${count}.`);
  await deployStack(work, platform, found);
}

/** What is to be deployed, or why nothing is: the activity may have waited for long. */
async function situationOf(
  { activity: { project_id } }: Work<unknown>,
  { db, config, secrets }: Platform,
  id: string,
  wanted: Counts,
): Promise<ScaledDeployment | string> {
  if (await isOfSuspended(db, project_id)) return 'The organization is suspended.';
  const environment = await environmentById(db, config.domain, project_id, id);
  const stack = await currentStack(db, secrets, project_id, id);
  if (!environment || !stack || !environmentLife.possible(environment.status, 'serve')) return `Environment ${id} does not run.`;
  if (environment.sleeping_since !== null) return `Environment ${id} sleeps.`;
  const counts = countsLeft(wanted, instanceCountsOf(stack.sizes), await autoscaledIn(db, project_id, id));
  if (Object.keys(counts).length === 0) return 'Autoscaling was switched off, or what it was to change is so already.';
  return { kind: 'scaled', environment: id, commit: stack.commit_id, deployment: stack.deployment.id, counts };
}

const countsLeft = (wanted: Counts, now: Counts, autoscaled: ReadonlySet<string>): Counts =>
  Object.fromEntries(
    Object.entries(wanted).filter(([name, count]) => autoscaled.has(name) && Object.hasOwn(now, name) && now[name] !== count),
  );
