/** What follows when the code or the settings of an environment have changed: what runs is brought up to date, if anything runs. */
import { Type, type Static } from 'typebox';
import type { Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { deployEnvironment, type DeployRequest } from '../deployments/room.ts';
import type { Environment } from './queries.ts';

/** How whoever set off a change wants it deployed. */
export const Deploying = Type.Object({
  strategy: Type.Optional(Type.Union([Type.Literal('stopstart'), Type.Literal('rolling')])),
  init: Type.Optional(
    Type.Union([Type.Literal('default'), Type.Literal('minimum'), Type.Literal('parent'), Type.Literal('manual'), Type.Literal('child')]),
  ),
  /** What was merged, for `init: 'child'`. */
  child: Type.Optional(Type.String()),
  /** An environment whose sizes are taken over, for what both have. */
  sizesFrom: Type.Optional(Type.String()),
});
export type Deploying = Static<typeof Deploying>;

type Situation = {
  status: string;
  head_commit: string | null;
  parent: string | null;
  clone_parent_on_create: boolean;
  parent_status: string | null;
};

/** What an activation works on: also the parent, where its data is cloned, so that nothing happens to it meanwhile. */
export function concernedBy(environment: Environment, activate: boolean): { id: string; type: EnvironmentType }[] {
  const { parent, parent_type, status, clone_parent_on_create } = environment;
  const isCloned = activate && status === 'inactive' && clone_parent_on_create;
  return isCloned && parent !== null && parent_type !== null ? [environment, { id: parent, type: parent_type }] : [environment];
}

/** Deploys what is active, or is to become so; says so where nothing is deployed. */
export async function deployBranch(
  work: Work<unknown>,
  platform: Platform,
  id: string,
  how: Deploying & Partial<Pick<DeployRequest, 'restart' | 'replaceData'>> & { activate?: boolean } = {},
): Promise<void> {
  const { activate = false, strategy = 'stopstart', init = 'parent', ...rest } = how;
  const environment = await work.step('look at environment', () => situationOf(platform, work.activity.project_id, id));
  if (environment.status === 'inactive' && !activate) {
    work.log(`Environment ${id} is not active: nothing is built or deployed`);
    return;
  }
  if (environment.head_commit === null) throw new Problem('conflict', `There are no commits in ${id} yet; push some first.`);
  const isNew = environment.status === 'inactive';
  const cloneFrom = isNew && environment.clone_parent_on_create && hasData(environment.parent_status) ? environment.parent : null;
  await deployEnvironment(work, platform, {
    environment: id,
    commit: environment.head_commit,
    strategy,
    init,
    restart: false,
    ...rest,
    ...(cloneFrom !== null && { cloneFrom }),
  });
}

const hasData = (status: string | null) => status === 'active' || status === 'paused';

async function situationOf({ db }: Platform, projectId: string, id: string): Promise<Situation> {
  const found = await db
    .selectFrom('environments')
    .leftJoin('environments as parents', (join) =>
      join.onRef('parents.project_id', '=', 'environments.project_id').onRef('parents.id', '=', 'environments.parent'),
    )
    .select([
      'environments.status',
      'environments.head_commit',
      'environments.parent',
      'environments.clone_parent_on_create',
      'parents.status as parent_status',
    ])
    .where('environments.project_id', '=', projectId)
    .where('environments.id', '=', id)
    .executeTakeFirst();
  if (!found) throw new Problem('not-found', `The environment ${id} is gone.`);
  return found;
}
