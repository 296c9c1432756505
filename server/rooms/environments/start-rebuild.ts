import { startActivity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import { actorById, environment as named, person, sentence } from '../activities/public.ts';
import { environmentById } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { redeployActivity } from './running-activities.ts';

/** Redeploys an environment whose builds are no longer on the machine, as if somebody had asked for it. */
export async function startRebuild(tx: Tx, domain: string, projectId: string, environmentId: string): Promise<void> {
  const target = await environmentById(tx, domain, projectId, environmentId);
  if (!target) return;
  const actor = await actorById(tx, null);
  await startActivity(tx, redeployActivity, {
    project_id: projectId,
    environments: [target],
    isOwed: true,
    input: { environment: environmentId, deploying: {} },
    parameters: { user: actor.id, environment: environmentId },
    payload: { user: actor, environment: environmentSummary(target) },
    sentence: sentence`${person(actor)} redeployed environment ${named(target)}, as what was built for it is gone`,
  });
}
