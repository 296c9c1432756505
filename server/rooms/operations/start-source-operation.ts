import { startActivity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { invalidField } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, strong } from '../activities/public.ts';
import { environmentSummary, type Environment } from '../environments/public.ts';
import { displayName } from '../users/public.ts';
import { checkedVariables, sealGiven, type GivenVariables } from '../variables/public.ts';
import { runOn, sourceOperationActivity } from './source-operation.ts';
import { sourceOperations } from './source-operations.ts';

interface Wanted {
  operation: string;
  variables?: GivenVariables;
}

/** The operation is looked for again when its turn comes, because somebody may push until then. */
export async function startSourceOperation(
  platform: Platform,
  target: Environment,
  { operation, variables }: Wanted,
  caller: Caller,
): Promise<Changed<Environment>> {
  const sealed = sealGiven(platform.secrets, runOn(target), checkedVariables(variables));
  const names = new Set((await sourceOperations(platform, target)).map((defined) => defined.operation));
  if (!names.has(operation)) throw invalidField('operation', `must be ${existing(names)}; there is no ${JSON.stringify(operation)}`);
  const actor = actorOf(caller.user);
  const activity = await platform.db.transaction().execute((tx) =>
    startActivity(tx, sourceOperationActivity, {
      project_id: target.project_id,
      environments: [target],
      input: { environment: target.id, operation, variables: sealed, by: { name: displayName(caller.user), email: caller.user.email } },
      parameters: { user: actor.id, environment: target.id, operation },
      payload: { user: actor, environment: environmentSummary(target), operation, commits: [], commits_count: 0 },
      sentence: sentence`${person(actor)} ran source operation ${strong(operation)} on ${named(target)}`,
    }),
  );
  return changed({ ...target, is_dirty: true }, target.organization_id, activity);
}

const existing = (names: ReadonlySet<string>) =>
  names.size === 0
    ? 'one that an application defines under source.operations, and in the last commit none does'
    : `one of ${[...names].sort().join(', ')}`;
