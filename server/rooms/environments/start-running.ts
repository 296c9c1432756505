/** Starts the activities that change whether, and with what, an environment runs. */
import { startActivity, type Activity, type ActivityDefinition } from '../../kernel/activity.ts';
import type { Changed } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Caller, Platform } from '../../platform.ts';
import { actorOf, changed, environment as named, person, sentence, type Actor } from '../activities/public.ts';
import { modelAhead, refuseAhead, refuseResumeAhead } from '../deployments/work.ts';
import { concernedBy } from './deploy-branch.ts';
import { environmentById, environmentsOf, isWaiting, lockTree, type Environment } from './queries.ts';
import { environmentSummary } from './record-push.ts';

export type Running = 'activate' | 'deactivate' | 'pause' | 'resume' | 'redeploy' | 'maintain' | 'deploy';

/** What each needs to find. One table for the link, the request, and the moment at which the activity is really started. */
export const possibleWhen: Record<Running, (environment: Environment) => boolean> = {
  activate: ({ status, has_code, is_dirty }) => status === 'inactive' && has_code && !is_dirty,
  deactivate: ({ status, is_main }) => (status === 'active' || status === 'paused') && !is_main,
  pause: ({ status }) => status === 'active',
  resume: ({ status }) => status === 'paused',
  redeploy: ({ status }) => runs(status),
  maintain: ({ status }) => runs(status),
  // Also with nothing staged: its link tells clients that what they push will be, and what changed in the project waits for it, too.
  deploy: ({ status, enable_manual_deployments }) => enable_manual_deployments && runs(status),
};

const runs = (status: string) => status === 'active' || status === 'paused';

export const impossible: Record<Running, string> = {
  activate: 'Only an inactive environment with code, to which nothing is happening, can be activated.',
  deactivate: 'Only an environment that is active or paused can be deactivated, and never that of the default branch.',
  pause: 'Only an active environment can be paused.',
  resume: 'Only a paused environment can be resumed.',
  redeploy: 'Only an active environment can be redeployed; activate this one first.',
  maintain: 'Only an active environment can be maintained; activate this one first.',
  deploy:
    'Changes are deployed by themselves here; set enable_manual_deployments in the settings of an active environment to deploy by hand.',
};

interface Starting {
  definition: ActivityDefinition;
  input: unknown;
  /** Where containers that are new get their sizes from, if somebody says so. */
  init?: 'default' | 'minimum' | 'parent' | undefined;
}

/** After these more may run than before. */
const deploys: ReadonlySet<Running> = new Set(['activate', 'redeploy', 'maintain', 'deploy']);

/** After these the environment is in another state, in which they are not possible a second time. */
const happensOnce: ReadonlyMap<Running, string> = new Map([
  ['activate', 'activated'],
  ['deactivate', 'deactivated'],
  ['pause', 'paused'],
  ['resume', 'resumed'],
]);

/** Where deployments are manual, nobody restarts it to get what is staged. */
const runsAsDeployed = (what: Running, { enable_manual_deployments }: Environment) =>
  what === 'resume' || (enable_manual_deployments && (what === 'redeploy' || what === 'maintain'));

export async function startRunning(
  platform: Platform,
  { project_id, id }: Environment,
  what: Running,
  start: Starting,
  caller: Caller,
): Promise<Changed<Environment>> {
  const { db, config } = platform;
  const model = deploys.has(what) ? await modelAhead(platform, { project_id, id }) : undefined;
  return db.transaction().execute(async (tx) => {
    await lockTree(tx, project_id);
    const target = await environmentById(tx, config.domain, project_id, id);
    if (!target || !possibleWhen[what](target)) throw new Problem('conflict', impossible[what]);
    if (happensOnce.has(what) && (await isWaiting(tx, target, start.definition.type)))
      throw new Problem('conflict', `The environment is about to be ${happensOnce.get(what)} already; wait for that.`);
    if (runsAsDeployed(what, target)) await refuseResumeAhead(tx, platform, target);
    else if (model) await refuseAhead(tx, platform, target, model, start.init && { init: start.init });
    const activity = await started(tx, target, what, start, actorOf(caller.user));
    return changed({ ...target, is_dirty: true }, target.organization_id, activity);
  });
}

/** Of all environments of a project that run, where it is possible. */
export const startEverywhere = (
  { db, config }: Platform,
  projectId: string,
  what: Running,
  startOf: (environment: Environment) => Starting,
  caller: Caller,
): Promise<Activity[]> =>
  db.transaction().execute(async (tx) => {
    await lockTree(tx, projectId);
    // What is paused is not to run because others do.
    const running = (await environmentsOf(tx, config.domain, projectId)).filter(({ status }) => status === 'active');
    const targets = running.filter(possibleWhen[what]);
    const activities: Activity[] = [];
    for (const target of targets) activities.push(await started(tx, target, what, startOf(target), actorOf(caller.user)));
    return activities;
  });

function started(tx: Tx, target: Environment, what: Running, { definition, input }: Starting, actor: Actor): Promise<Activity> {
  const [who, where] = [person(actor), named(target)];
  const sentences = {
    activate: sentence`${who} activated environment ${where}`,
    deactivate: sentence`${who} deactivated environment ${where}`,
    pause: sentence`${who} paused environment ${where}`,
    resume: sentence`${who} resumed environment ${where}`,
    redeploy: sentence`${who} redeployed environment ${where}`,
    maintain: sentence`${who} redeployed environment ${where} for maintenance`,
    deploy: sentence`${who} deployed the staged changes of ${where}`,
  };
  return startActivity(tx, definition, {
    project_id: target.project_id,
    environments: concernedBy(target, what === 'activate'),
    input,
    parameters: { user: actor.id, environment: target.id },
    payload: { user: actor, environment: environmentSummary(target) },
    sentence: sentences[what],
  });
}
