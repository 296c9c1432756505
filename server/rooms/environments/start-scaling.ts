import { startActivity, type Activity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import { actorById } from '../activities/public.ts';
import type { InstanceCounts } from '../deployments/public.ts';
import { updateResourcesActivity } from './change-resources.ts';
import type { Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';

/** What the platform decided on is owed to the environment: it is started however many activities wait. */
export async function startScaling(
  tx: Tx,
  environment: Environment,
  counts: InstanceCounts,
  sentence: { description: string; text: string },
): Promise<Activity> {
  const actor = await actorById(tx, null);
  return startActivity(tx, updateResourcesActivity, {
    project_id: environment.project_id,
    environments: [environment],
    isOwed: true,
    input: { environment: environment.id, activate: false, counts },
    parameters: { user: actor.id, environment: environment.id, instance_counts: counts },
    payload: { user: actor, environment: environmentSummary(environment) },
    sentence,
  });
}
