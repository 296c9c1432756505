/** Starts what makes an earlier deployment current again. Asked for through the API, or by the operator at the machine. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import { environment as named, person, sentence, strong, type Actor } from '../activities/public.ts';
import { rollbackTarget } from '../deployments/public.ts';
import { noRolling } from './deploy-branch.ts';
import { environmentById, lockTree, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { rollbackActivity } from './running-activities.ts';

export const mayRollBack = ({ status, can_rollback }: Environment) => (status === 'active' || status === 'paused') && can_rollback;
export const noRollback = 'Only an active environment can be rolled back, to an earlier deployment whose builds are kept.';

export interface Rollback {
  /** Its id or number; what ran before, where absent. */
  deployment?: string | undefined;
  strategy?: 'stopstart' | 'rolling' | undefined;
}

export async function startRollback(
  tx: Tx,
  domain: string,
  { project_id, id }: { project_id: string; id: string },
  { deployment, strategy = 'stopstart' }: Rollback,
  actor: Actor,
): Promise<{ target: Environment; activity: Activity }> {
  await lockTree(tx, project_id);
  const target = await environmentById(tx, domain, project_id, id);
  if (!target || !mayRollBack(target)) throw new Problem('conflict', noRollback);
  if (strategy === 'rolling' && !target.can_rolling_deploy) throw noRolling();
  const { id: deploymentId, number, commit, created_at } = await rollbackTarget(tx, project_id, id, deployment);
  const activity = await startActivity(tx, rollbackActivity, {
    project_id,
    environments: [target],
    input: { environment: id, deployment: { id: deploymentId, number, commit, created_at }, strategy },
    parameters: { user: actor.id, environment: id, deployment: deploymentId },
    payload: { user: actor, environment: environmentSummary(target), deployment: { id: deploymentId, number, commit } },
    sentence: sentence`${person(actor)} rolled back environment ${named(target)} to deployment ${strong(String(number))}`,
  });
  return { target, activity };
}
