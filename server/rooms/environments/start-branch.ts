import { startActivity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import { environmentTypes } from '../../permissions.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence } from '../activities/public.ts';
import { modelIfReadable, refuseEarly } from '../deployments/work.ts';
import { branchActivity } from './activities.ts';
import { createEnvironment } from './create-environment.ts';
import { environmentById, lockTree, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { environmentLife } from './life-cycle.ts';

interface Wanted {
  name: string;
  title?: string;
  clone_parent?: boolean;
  type?: string;
  resources?: { init?: 'default' | 'minimum' | 'parent' | null } | null;
}

/** Refuses to make an environment of a type to which the caller has no access. */
function refuseType({ project_id, organization_id }: Environment, type: string, caller: Caller) {
  const environmentType = environmentTypes.find((each) => each === type);
  if (environmentType && !caller.can('environment:branch', { project: project_id, organization: organization_id, environmentType }))
    throw new Problem('forbidden', `You have no access to ${type} environments of this project, so you cannot make one.`);
}

/** The name is taken at once; the branch follows in the activity, and if that fails the name is free again. */
export async function startBranch(
  platform: Platform,
  parent: Environment,
  { name, title, clone_parent, type, resources }: Wanted,
  caller: Caller,
) {
  const { project_id, organization_id } = parent;
  const { db, config } = platform;
  const init = resources?.init ?? undefined;
  refuseType(parent, type ?? 'development', caller);
  const actor = actorOf(caller.user);
  const activate = environmentLife.possible(parent.status, 'serve');
  const model = activate ? await modelIfReadable(platform, parent) : undefined;
  return db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const project = { id: project_id, default_branch: parent.default_branch };
    await createEnvironment(tx, { project, id: name, title, type, parent: parent.id, clone_parent_on_create: clone_parent });
    const outcome = await environmentById(tx, config.domain, project_id, name);
    if (!outcome) throw new Problem('not-found', 'The environment that was branched is gone.');
    if (model) await refuseEarly(tx, platform, outcome, model, init && { init });
    const activity = await startActivity(tx, branchActivity, {
      project_id,
      environments: [parent, outcome],
      input: { parent: parent.id, environment: name, activate, deploying: init === undefined ? {} : { init } },
      parameters: { user: actor.id, parent: parent.id, environment: name },
      payload: { user: actor, parent: environmentSummary(parent), outcome: environmentSummary(outcome) },
      sentence: sentence`${person(actor)} branched ${named(outcome)} from ${named(parent)}`,
    });
    return changed({ ...outcome, is_dirty: true }, organization_id, activity);
  });
}
