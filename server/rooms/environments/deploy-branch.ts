/** What follows when the code or the settings of an environment have changed: what runs is brought up to date, if anything runs. */
import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { activitiesThat } from '../../kernel/activity-life-cycle.ts';
import type { Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { stagesCode, usualInit } from '../deployments/public.ts';
import { deployStack, stageDeployment, type CodeDeployment, type RepeatedDeployment, type Restart } from '../deployments/work.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import { isOfSuspended } from '../organizations/public.ts';
import { environmentLife, type EnvironmentState } from './life-cycle.ts';
import type { Environment } from './queries.ts';

/** How whoever set off a change wants it deployed. */
export const DeployOptions = Type.Object({
  strategy: Type.Optional(Type.Union([Type.Literal('stopstart'), Type.Literal('rolling')])),
  init: Type.Optional(
    Type.Union([Type.Literal('default'), Type.Literal('minimum'), Type.Literal('parent'), Type.Literal('manual'), Type.Literal('child')]),
  ),
  /** The environment that was merged, for `init: 'child'`. */
  child: Type.Optional(Type.String()),
  /** An environment whose sizes are taken over, for what both have. */
  sizesFrom: Type.Optional(Type.String()),
});
export type DeployOptions = Static<typeof DeployOptions>;

/** What caused a deployment. The cause decides what is deployed, and whether the deployment waits where deployments are manual. */
type Occasion =
  /** New commits, which end a rollback. */
  | 'code'
  /** Anything else that changed. */
  | 'settings'
  /** Somebody deploys staged changes. */
  | 'release'
  /** Nothing changed. */
  | 'restart';

interface How extends DeployOptions {
  occasion: Occasion;
  restart?: Restart;
  /** The environment whose data replaces that of the deployed one. */
  replaceData?: string;
  activate?: boolean;
  /** Whether the change is deployed even where deployments are manual. */
  atOnce?: boolean;
}

interface Situation {
  type: string;
  status: EnvironmentState;
  head_commit: string | null;
  /** The head of the branch before the pushes whose activities wait behind this one. */
  earlier_head: string | null;
  pinned_commit: string | null;
  parent: string | null;
  clone_parent_on_create: boolean;
  parent_status: EnvironmentState | null;
  enable_manual_deployments: boolean;
  /** Whether new containers wait for somebody to choose their sizes. */
  sizes_by_hand: boolean;
  /** Whether the last deployment failed. */
  has_failed: boolean;
  /** Whether new commits are among the staged changes. */
  has_staged_code: boolean;
  /** Whether the organization is suspended: what was asked for before, or follows from deleting something, starts nothing. */
  is_suspended: boolean;
  /** The current deployment. */
  deployment: string | null;
}

/** The environments that an activation works on. The parent is one of them where its data is cloned, so that nothing changes it meanwhile. */
export function concernedBy(environment: Environment, activate: boolean): { id: string; type: EnvironmentType }[] {
  const { parent, parent_type, status, clone_parent_on_create } = environment;
  const isCloned = activate && environmentLife.possible(status, 'activate') && clone_parent_on_create;
  return isCloned && parent !== null && parent_type !== null ? [environment, { id: parent, type: parent_type }] : [environment];
}

/** Deploys an environment that is active or is to become so, or stages the change. Where nothing is deployed, the log says so. */
export async function deployBranch(
  work: Work<unknown>,
  platform: Platform,
  id: string,
  { occasion, activate = false, atOnce = false, ...how }: How = { occasion: 'settings' },
): Promise<void> {
  const found = await work.step('look at environment', () => situationOf(platform, work.activity, id));
  if (found.is_suspended) return work.log(nothingWhileSuspended);
  const isNew = environmentLife.possible(found.status, 'activate');
  if (isNew && !activate) {
    work.log(`Environment ${id} is not active: nothing is built or deployed`);
    return;
  }
  if (found.head_commit === null) throw new Problem('conflict', `There are no commits in ${id} yet; push some first.`);
  if (how.strategy === 'rolling' && found.has_failed) throw noRolling();
  const cloneFrom = isNew && found.clone_parent_on_create && hasData(found.parent_status) ? found.parent : null;
  const request = requestFor(found, found.head_commit, occasion, {
    environment: id,
    strategy: 'stopstart',
    init: usualInit(platform.config, found),
    restart: 'nothing',
    ...how,
    ...(cloneFrom !== null && { cloneFrom }),
  });
  const waits = found.enable_manual_deployments && !isNew && !atOnce && (occasion === 'code' || occasion === 'settings');
  if (!waits || request.kind !== 'code') return deployStack(work, platform, request);
  work.stage(id);
  await stageDeployment(work, platform, request);
  work.log(`The changes are staged: ${id} runs what it ran until they are deployed (environment:deploy)`);
}

export const nothingWhileSuspended = 'Nothing is built or deployed while the organization is suspended; redeploy when it is resumed';

/** Clients look for the words of this message. */
export const noRolling = () =>
  new Problem(
    'conflict',
    'Could not perform a rolling deployment: the environment does not run, or its last deployment failed. Use the strategy stopstart.',
  );

/** After a rollback, the earlier code stays until there is new code. A restart never deploys staged changes. */
function requestFor(
  { pinned_commit, earlier_head, enable_manual_deployments, has_staged_code, deployment }: Situation,
  head: string,
  occasion: Occasion,
  wanted: Omit<CodeDeployment, 'kind' | 'commit' | 'isPinned'>,
): CodeDeployment | RepeatedDeployment {
  if (occasion === 'code' || (occasion === 'release' && has_staged_code)) return { ...wanted, kind: 'code', commit: head, isPinned: false };
  // An activity that was started before a push does not deploy the pushed commits.
  const commit = pinned_commit ?? earlier_head ?? head;
  if (occasion !== 'restart' || !enable_manual_deployments || deployment === null)
    return { ...wanted, kind: 'code', commit, isPinned: pinned_commit !== null };
  const { init: _init, child: _child, cloneFrom: _cloneFrom, ...rest } = wanted;
  return { ...rest, kind: 'again', commit, deployment, rebuilds: true };
}

const hasData = (status: EnvironmentState | null) => status !== null && environmentLife.possible(status, 'holdData');

async function situationOf(
  { db }: Platform,
  { id: activityId, project_id: projectId }: Work<unknown>['activity'],
  id: string,
): Promise<Situation> {
  const { rows } = await sql<Omit<Situation, 'has_staged_code' | 'is_suspended'>>`
    select environments.type, environments.status, environments.head_commit, environments.pinned_commit, environments.parent, environments.clone_parent_on_create,
      environments.enable_manual_deployments, environments.sizes_by_hand, parents.status as parent_status, deployments.id as deployment,
      coalesce(environments.last_deployment ->> 'successful' = 'false', false) as has_failed,
      (select later.input ->> 'from' from activities as later
        where later.project_id = environments.project_id and later.type = 'environment.push' and environments.id = any(later.environments)
          and ${activitiesThat('beUnderWay', 'later')}
          and later.position > (select position from activities as this where this.id = ${activityId})
        order by later.position limit 1) as earlier_head
    from environments
    left join environments as parents on parents.project_id = environments.project_id and parents.id = environments.parent
    left join deployments on deployments.project_id = environments.project_id and deployments.environment_id = environments.id
      and ${deploymentLife.sqlPossible('deployments.status', 'run')}
    where environments.project_id = ${projectId} and environments.id = ${id}`.execute(db);
  const [found] = rows;
  if (!found) throw new Problem('not-found', `The environment ${id} is gone.`);
  return { ...found, has_staged_code: await stagesCode(db, projectId, id), is_suspended: await isOfSuspended(db, projectId) };
}
