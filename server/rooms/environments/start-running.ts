/** Starts the activities that change whether, and with what, an environment runs. */
import { startActivity, type ActivityDefinition } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence } from '../activities/room.ts';
import { concernedBy } from './deploy-branch.ts';
import { environmentById, lockTree, type Environment } from './queries.ts';
import { shortly } from './record-push.ts';

export type Running = 'activate' | 'deactivate' | 'pause' | 'resume' | 'redeploy';

/** What each needs to find. One table for the link, the request, and the moment at which the activity is really started. */
export const possibleWhen: Record<Running, (environment: Environment) => boolean> = {
  activate: ({ status, has_code, is_dirty }) => status === 'inactive' && has_code && !is_dirty,
  deactivate: ({ status, is_main }) => (status === 'active' || status === 'paused') && !is_main,
  pause: ({ status }) => status === 'active',
  resume: ({ status }) => status === 'paused',
  redeploy: ({ status }) => status === 'active' || status === 'paused',
};

export const impossible: Record<Running, string> = {
  activate: 'Only an inactive environment with code, to which nothing is happening, can be activated.',
  deactivate: 'Only an environment that is active or paused can be deactivated, and never that of the default branch.',
  pause: 'Only an active environment can be paused.',
  resume: 'Only a paused environment can be resumed.',
  redeploy: 'Only an active environment can be redeployed; activate this one first.',
};

export async function startRunning(
  { db, config }: Platform,
  { project_id, id }: Environment,
  what: Running,
  start: { definition: ActivityDefinition; input: unknown },
  caller: Caller,
): Promise<Changed<Environment>> {
  const actor = actorOf(caller.user);
  return db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const target = await environmentById(tx, config.domain, project_id, id);
    if (!target || !possibleWhen[what](target)) throw new Problem('conflict', impossible[what]);
    const [who, where] = [person(actor), named(target)];
    const sentences = {
      activate: sentence`${who} activated environment ${where}`,
      deactivate: sentence`${who} deactivated environment ${where}`,
      pause: sentence`${who} paused environment ${where}`,
      resume: sentence`${who} resumed environment ${where}`,
      redeploy: sentence`${who} redeployed environment ${where}`,
    };
    const activity = await startActivity(tx, start.definition, {
      project_id,
      environments: concernedBy(target, what === 'activate'),
      input: start.input,
      parameters: { user: actor.id, environment: id },
      payload: { user: actor, environment: shortly(target) },
      sentence: sentences[what],
    });
    return changed({ ...target, is_dirty: true }, target.organization_id, activity);
  });
}
