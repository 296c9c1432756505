import { startActivity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Changed } from '../../kernel/operation.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, strong } from '../activities/public.ts';
import { displayName } from '../users/public.ts';
import { mergeActivity, synchronizeActivity } from './activities.ts';
import { atHost } from './code-source.ts';
import type { DeployOptions } from './deploy-branch.ts';
import { environmentById, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { environmentLife } from './life-cycle.ts';

const signatureOf = ({ user }: Caller) => ({ name: displayName(user), email: user.email });

async function parentOf({ db, config }: Platform, { project_id, parent }: Environment): Promise<Environment> {
  const found = parent === null ? undefined : await environmentById(db, config.domain, project_id, parent);
  if (!found) throw new Problem('conflict', 'The environment has no parent; give it one first.');
  return found;
}

export async function startMerge(
  platform: Platform,
  child: Environment,
  deploying: DeployOptions,
  caller: Caller,
): Promise<Changed<Environment>> {
  const parent = await parentOf(platform, child);
  const actor = actorOf(caller.user);
  const activity = await platform.db.transaction().execute((tx) =>
    startActivity(tx, mergeActivity, {
      project_id: child.project_id,
      environments: [parent, child],
      input: {
        code: { into: parent.id, from: child.id, rebase: false, by: signatureOf(caller), message: `Merge ${child.id} into ${parent.id}` },
        deploying: { ...deploying, child: child.id },
      },
      parameters: { user: actor.id, into: parent.id, environment: child.id },
      payload: { user: actor, outcome: environmentSummary(child), environment: environmentSummary(parent) },
      sentence: sentence`${person(actor)} merged ${named(child)} into ${named(parent)}`,
    }),
  );
  return changed({ ...child, is_dirty: true }, child.organization_id, activity);
}

interface Synchronization {
  synchronize_code?: boolean;
  synchronize_data?: boolean;
  synchronize_resources?: boolean;
  rebase?: boolean;
}

export async function startSynchronize(
  platform: Platform,
  child: Environment,
  wanted: Synchronization,
  caller: Caller,
): Promise<Changed<Environment>> {
  const { synchronize_code = false, synchronize_data = false, synchronize_resources = false, rebase = false } = wanted;
  const parts = Object.entries({ code: synchronize_code, data: synchronize_data, resources: synchronize_resources })
    .filter(([, isWanted]) => isWanted)
    .map(([part]) => part);
  if (parts.length === 0)
    throw new Problem(
      'invalid-request',
      'Say what to synchronize: one of synchronize_code, synchronize_data and synchronize_resources must be true.',
      {
        fields: { synchronize_code: 'must be true, or synchronize_data or synchronize_resources' },
      },
    );
  if (synchronize_code && child.code_source?.fetches_branches) throw new Problem('conflict', atHost(child, 'Merge the parent there.'));
  const parent = await parentOf(platform, child);
  if ((synchronize_data || synchronize_resources) && ![child, parent].every(({ status }) => environmentLife.possible(status, 'shareData')))
    throw new Problem('conflict', environmentLife.otherwise(child.status, 'shareData'));
  const actor = actorOf(caller.user);
  const code = { into: child.id, from: parent.id, rebase, by: signatureOf(caller), message: `Merge ${parent.id} into ${child.id}` };
  const activity = await platform.db.transaction().execute((tx) =>
    startActivity(tx, synchronizeActivity, {
      project_id: child.project_id,
      environments: [child, parent],
      input: {
        environment: child.id,
        deploying: synchronize_resources ? { sizesFrom: parent.id } : {},
        ...(synchronize_code && { code }),
        ...(synchronize_data && { replaceData: parent.id }),
      },
      parameters: { user: actor.id, from: parent.id, into: child.id, synchronize_code, synchronize_data, synchronize_resources, rebase },
      payload: {
        user: actor,
        outcome: environmentSummary(child),
        environment: environmentSummary(parent),
        synchronize_code,
        synchronize_data,
        synchronize_resources,
        synchronization_type: parts.join(' and '),
      },
      sentence: sentence`${person(actor)} synchronized ${named(child)}'s ${strong(parts.join(' and '))} from ${named(parent)}`,
    }),
  );
  return changed({ ...child, is_dirty: true }, child.organization_id, activity);
}
