/**
 * What a deployment can be: one kind for each, with the fields that it needs and no others. What follows from the kind is said here once; the steps of a
 * deployment ask for it.
 */
import type { InstanceCounts } from '../sizes/autoscaled.ts';
import type { SizesInit } from '../sizes/sizes.ts';
import type { RestorePlan, Restoring } from './restoring.ts';

interface Every {
  environment: string;
  /** The commit whose code runs after the deployment. */
  commit: string;
}

/** Requests are held while apps are replaced, or new instances stand beside the old ones until they are ready. */
export type Strategy = 'stopstart' | 'rolling';

/** What is restarted even if it did not change. An outdated service is one that runs on an older image than there is now. */
export type Restart = 'nothing' | 'apps' | 'apps and outdated services';

/** The environment whose data replaces that of the deployed one. */
interface TakesData {
  replaceData?: string;
  /** The environment whose sizes replace those of the deployed one, for containers that both have. */
  sizesFrom?: string;
}

/** What the commit says, built where it is not built yet. */
export interface CodeDeployment extends Every, TakesData {
  kind: 'code';
  strategy: Strategy;
  restart: Restart;
  /** Where containers that are new get their sizes from. */
  init: Exclude<SizesInit, 'backup'>;
  /** The environment that was merged, for `init: 'child'`. */
  child?: string;
  /** At first activation only: the environment whose data it starts with. */
  cloneFrom?: string;
  /** True: the commit is the one that a rollback went to, and stays pinned. False: the commit is the branch's head, which ends a rollback. */
  isPinned: boolean;
}

/** Deploys what runs once more, with the variables and settings that it has. */
export interface RepeatedDeployment extends Every, TakesData {
  kind: 'again';
  strategy: Strategy;
  restart: Restart;
  deployment: string;
  /** Whether slugs that are not kept any more, for example because the machine was lost, are built again; otherwise the deployment is refused. */
  rebuilds: boolean;
}

/** Deploys what ran before, with today's variables and settings. The earlier code stays until there is new code. */
export interface RollbackDeployment extends Every {
  kind: 'rollback';
  strategy: Strategy;
  deployment: string;
}

/** Deploys what runs with other numbers of instances. What stays is not touched, and no hooks run. */
export interface ScaledDeployment extends Every {
  kind: 'scaled';
  deployment: string;
  counts: InstanceCounts;
}

/** Deploys what ran when a backup was made, with the data of the backup. */
export interface BackupDeployment extends Every {
  kind: 'backup';
  restoring: Restoring & { restoresCode: true };
}

/** Gives the data of a backup to the deployment that runs or, where nothing runs, to what the commit says. */
export interface BackupDataDeployment extends Every {
  kind: 'backup data';
  restoring: Restoring & { restoresCode: false };
  deployment: string | null;
}

/** How an environment that did not run when its machine was lost is put back. */
export type Rest = 'paused' | 'asleep';

/** Restores a backup without running anything of it; whether there is room is checked when somebody wants it to run. */
export interface DeploymentAtRest extends Every {
  kind: 'at rest';
  restoring: Restoring & { restoresCode: true };
  rest: Rest;
}

export type DeployRequest =
  | CodeDeployment
  | RepeatedDeployment
  | RollbackDeployment
  | ScaledDeployment
  | BackupDeployment
  | BackupDataDeployment
  | DeploymentAtRest;

export const restoringOf = (request: DeployRequest): Restoring | undefined => ('restoring' in request ? request.restoring : undefined);

/** The environment whose data replaces that of the deployed one. */
export const replacedBy = (request: DeployRequest): string | undefined => ('replaceData' in request ? request.replaceData : undefined);

/** The environment whose data the deployed one starts with. */
export const cloneSource = (request: DeployRequest): string | undefined => (request.kind === 'code' ? request.cloneFrom : undefined);

/** Whether other data takes the place of the environment's own. */
export const replacesData = (request: DeployRequest): boolean => replacedBy(request) !== undefined || restoringOf(request) !== undefined;

/** The deployment whose builds and configuration are used instead of what the commit says. */
export const repeatedOf = (request: DeployRequest): string | undefined =>
  'deployment' in request ? (request.deployment ?? undefined) : undefined;

/** Whether staged changes stay staged: the deployment neither makes nor loses them. */
export const leavesStaged = ({ kind }: DeployRequest): boolean => kind !== 'code';

/** Whether volumes that this code has no use for stay, because code that uses them will come back. */
export const keepsVolumes = (request: DeployRequest): boolean => request.kind !== 'code' || request.isPinned;

/** After a restore every app starts anew, so that none of them has requests under way when its data goes. */
export const restartsApps = (request: DeployRequest): boolean =>
  'restart' in request ? request.restart !== 'nothing' : restoringOf(request) !== undefined;

export const renewsImages = (request: DeployRequest): boolean => 'restart' in request && request.restart === 'apps and outdated services';

/** Whether only the number of instances changes: the load asked for it, and what people deployed last is still what they deployed last. */
export const isScaling = ({ kind }: DeployRequest): boolean => kind === 'scaled';

export const isRollingWanted = (request: DeployRequest): boolean => 'strategy' in request && request.strategy === 'rolling';

/** The commit that is deployed from now on instead of the branch's head. Null: the head is deployed again; undefined: nothing changes. */
export function pinAfter(request: DeployRequest): string | null | undefined {
  if (request.kind === 'rollback') return request.commit;
  const isOfBranch = request.kind === 'backup' || (request.kind === 'code' && !request.isPinned);
  return isOfBranch ? null : undefined;
}

/** What the sizes of containers follow from. */
export interface SizesRequest {
  init: SizesInit;
  replaceData?: string;
  cloneFrom?: string;
  child?: string;
  sizesFrom?: string;
  restoring?: RestorePlan;
}

export const sizesRequestOf = (request: CodeDeployment | BackupDeployment | BackupDataDeployment | DeploymentAtRest): SizesRequest =>
  request.kind === 'code' ? request : { init: request.restoring.init, restoring: request.restoring };
