import { startActivity, type Activity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import type { Actor } from '../activities/public.ts';
import { deleteEnvironmentActivity } from './activities.ts';
import { environmentLife } from './life-cycle.ts';
import { isWaiting, type Environment } from './queries.ts';
import { deactivateActivity } from './running-activities.ts';
import { deletionOf, startDelete } from './record-push.ts';
import { startVerbAs } from './start-verb.ts';

/**
 * Deletes an environment, whatever runs for it: that is stopped first, and its data destroyed. Whoever activates the environment in between keeps it, until
 * this is asked for again. Undefined where it is still being made: ask again in a while.
 */
export async function startRemoval(tx: Tx, { config }: Platform, environment: Environment, actor: Actor): Promise<Activity | undefined> {
  const { project_id, status, is_dirty } = environment;
  if (environmentLife.possible(status, 'delete') && !is_dirty) return startDelete(tx, { id: project_id }, environment, actor);
  if (!environmentLife.possible(status, 'deactivate')) return undefined;
  if (!(await isWaiting(tx, environment, deactivateActivity.type)))
    await startVerbAs(tx, config.domain, environment, 'deactivate', undefined, actor);
  return startActivity(tx, deleteEnvironmentActivity, {
    ...deletionOf(environment, actor),
    input: { environment: environment.id, isToBeMarked: true },
  });
}

/** Whether the environment is being deleted, or is about to be. */
export const isBeingRemoved = async (tx: Tx, environment: Environment): Promise<boolean> =>
  !environmentLife.possible(environment.status, 'edit') || isWaiting(tx, environment, deleteEnvironmentActivity.type);
