/** Starts the activity of a verb, if the environment, as it is at that moment, lets it. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, type Actor } from '../activities/public.ts';
import { modelIfReadable, refuseEarly, refuseResumeEarly } from '../deployments/work.ts';
import { concernedBy } from './deploy-branch.ts';
import { environmentLife } from './life-cycle.ts';
import { environmentById, environmentsOf, isWaiting, lockTree, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';
import { isPossible, notPossible, verbs, type Deploys, type VerbName } from './verbs.ts';

type Address = Pick<Environment, 'project_id' | 'id'>;
type Beginning = Awaited<ReturnType<(typeof verbs)[VerbName]['begin']>>;

/** Starts a verb that was asked for through the API; what there is clearly no room for is refused in the reply. */
export async function startVerb(
  platform: Platform,
  address: Address,
  name: VerbName,
  body: unknown,
  caller: Caller,
): Promise<Changed<Environment>> {
  const { db, config } = platform;
  const { deploys } = verbs[name];
  const model = deploys === 'code' || deploys === 'code unless manual' ? await modelIfReadable(platform, address) : undefined;
  return db.transaction().execute(async (tx) => {
    const target = await targetOf(tx, config.domain, address, name);
    const begun = await begin(tx, target, name, body, actorOf(caller.user));
    if (runsAsDeployed(deploys, target)) await refuseResumeEarly(tx, platform, target);
    else if (model) await refuseEarly(tx, platform, target, model, begun.init && { init: begun.init });
    const activity = await started(tx, target, name, begun, actorOf(caller.user));
    return changed({ ...target, is_dirty: true }, target.organization_id, activity);
  });
}

const runsAsDeployed = (deploys: Deploys, { enable_manual_deployments }: Environment) =>
  deploys === 'what ran' || (deploys === 'code unless manual' && enable_manual_deployments);

/** Starts a verb that the operator asked for at the machine; the activity tells the operator how it went. */
export async function startVerbAs(
  tx: Tx,
  domain: string,
  address: Address,
  name: VerbName,
  body: unknown,
  actor: Actor,
): Promise<{ target: Environment; activity: Activity }> {
  const target = await targetOf(tx, domain, address, name);
  return { target, activity: await started(tx, target, name, await begin(tx, target, name, body, actor), actor) };
}

/** Starts a verb in all environments of a project that serve, where it is possible. Paused environments are left paused. */
export const startEverywhere = ({ db, config }: Platform, projectId: string, name: VerbName, caller: Caller): Promise<Activity[]> =>
  db.transaction().execute(async (tx) => {
    await lockTree(tx, projectId);
    const actor = actorOf(caller.user);
    const activities: Activity[] = [];
    for (const target of await environmentsOf(tx, config.domain, projectId))
      if (environmentLife.possible(target.status, 'serve') && isPossible(name, target))
        activities.push(await started(tx, target, name, await begin(tx, target, name, undefined, actor), actor));
    return activities;
  });

/** The environment as it is now, and stays until the transaction ends. */
async function targetOf(tx: Tx, domain: string, { project_id, id }: Address, name: VerbName): Promise<Environment> {
  await lockTree(tx, project_id);
  const target = await environmentById(tx, domain, project_id, id);
  if (!target) throw new Problem('not-found', `There is no environment ${id} any more.`);
  if (!isPossible(name, target)) throw new Problem('conflict', notPossible(name, target));
  const { once, activity } = verbs[name];
  if (once !== undefined && (await isWaiting(tx, target, activity.type)))
    throw new Problem('conflict', `The environment is already about to be ${once}; wait until it is.`);
  return target;
}

const begin = (tx: Tx, target: Environment, name: VerbName, body: unknown, actor: Actor): Beginning | Promise<Beginning> =>
  verbs[name].begin({ tx, target, body, who: person(actor), where: named(target) });

const started = (tx: Tx, target: Environment, name: VerbName, begun: Beginning, actor: Actor): Promise<Activity> =>
  startActivity(tx, verbs[name].activity, {
    project_id: target.project_id,
    environments: concernedBy(target, true),
    input: begun.input,
    parameters: { user: actor.id, environment: target.id, ...begun.parameters },
    payload: { user: actor, environment: environmentSummary(target), ...begun.payload },
    sentence: begun.sentence,
  });
