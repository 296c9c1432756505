/** How an environment is deployed: by itself, or by hand. And when it sleeps. */
import { startActivity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence } from '../activities/public.ts';
import { environmentById, lockTree, updateEnvironment, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { deployActivity } from './running-activities.ts';
import { environmentLife } from './life-cycle.ts';

interface Settings {
  enable_manual_deployments?: boolean;
  sleep_after_seconds?: number | null;
}

/** When manual deployments are switched off, staged changes are deployed at once. */
export const changeSettings = (
  { db, config }: Platform,
  { project_id, id }: Environment,
  { enable_manual_deployments, sleep_after_seconds }: Settings,
  caller: Caller,
): Promise<Changed<Environment>> =>
  db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const before = await environmentById(tx, config.domain, project_id, id);
    if (!before) throw new Problem('not-found', 'No such environment.');
    if (enable_manual_deployments === true && !environmentLife.possible(before.status, 'deployByHand'))
      throw new Problem('conflict', environmentLife.otherwise(before.status, 'deployByHand'));
    await updateEnvironment(tx, project_id, id, {
      ...(enable_manual_deployments !== undefined && { enable_manual_deployments }),
      ...(sleep_after_seconds !== undefined && { sleep_after_seconds }),
    });
    const endsManual = before.enable_manual_deployments && enable_manual_deployments === false;
    // An activity that is under way may yet be staged, so the deployment of staged changes runs after it.
    const follows = endsManual && (before.has_staged_activities || before.is_dirty);
    const activities = follows ? [await deployStaged(tx, before, caller)] : [];
    const after = await environmentById(tx, config.domain, project_id, id);
    return changed(after ?? before, before.organization_id, ...activities);
  });

function deployStaged(tx: Tx, environment: Environment, { user }: Caller) {
  const actor = actorOf(user);
  return startActivity(tx, deployActivity, {
    project_id: environment.project_id,
    environments: [environment],
    input: { environment: environment.id, deploying: {}, onlyStaged: true },
    parameters: { user: actor.id, environment: environment.id },
    payload: { user: actor, environment: environmentSummary(environment) },
    sentence: sentence`${person(actor)} deployed the staged changes of ${named(environment)}`,
  });
}
