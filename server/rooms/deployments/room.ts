/** What runs for environments: deployments, and the containers, volumes and routes that follow from them. */
export { DeploymentEntity } from './deployment.ts';
export { loadDeployment, type Deployment } from './document.ts';
export { EarlierDeploymentEntity } from './earlier-deployment.ts';
export { RouteEntity, routesOf } from './route.ts';
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { pruneDeployments } from './earlier-deployments.ts';
import { bringImages } from './bring-images.ts';
import { collectImages, updateImages } from './image-upkeep.ts';
import { noteMachineAmounts } from './machine-amounts.ts';
import { collectStacks, keepDomainsReached, keepStacksRunning, keepVolumeLimits } from './reconcilers.ts';
import { sendIdleToSleep, wakeWhenVisited } from './sleep.ts';

export {
  backupsWithSnapshots,
  forgetSnapshots,
  partsOfStack,
  removeSnapshots,
  snapshotStack,
  type Snapshots,
  type VolumePart,
} from './backup-volumes.ts';
export { adoptHosts } from './adopt-hosts.ts';
export { releaseHosts } from './claim-hosts.ts';
export { backupSnapshot, stackOfVolume } from './names.ts';
export { earlierDeployments, rollbackTarget, type EarlierDeployment } from './earlier-deployments.ts';
export { deployEnvironment, stageDeployment, type DeployRequest } from './deploy.ts';
export { imageLimits } from './image-upkeep.ts';
export { knownClusters, machineUse, volumeOwners, type VolumeKind } from './machine-use.ts';
export { loadNextDeployment, nextStackOf, type NextStack } from './next-stack.ts';
export { NextDeploymentEntity } from './next-deployment.ts';
export { checkedSizes, ResourcesChange } from './checked-sizes.ts';
export { chooseSizes } from './chosen-sizes.ts';
export { endpointsFrom, fileTransferCommand, instanceName, shellCommand, typedCommand } from './enter.ts';
export {
  changeStatus,
  currentlyDeployed,
  currentSizes,
  forgetStack,
  currentStack,
  type Deployed,
  ensureEntropy,
  insertDeployment,
  makeCurrent,
  stagesCode,
  type LastDeployment,
} from './queries.ts';
export {
  allQuotas,
  defaultQuota,
  noFurtherProject,
  refuseFurtherProject,
  setDefaultQuota,
  setQuota,
  type Limits,
  type Quota,
  type QuotaOwner,
} from './quotas.ts';
export { modelAhead, refuseAhead, refuseRestoreAhead, refuseResumeAhead } from './refuse-ahead.ts';
export { slugPart, type RestoredData, type RestorePlan, type Restoring } from './restoring.ts';
export { restoreAtRest, type Rest } from './restore-at-rest.ts';
export { shellScript } from './lasting-command.ts';
export { runLasting, type LastingRun } from './run-lasting.ts';
export { activityOfTask, taskContainer } from './names.ts';
export { releaseTask, reserveForTask, type TaskRun } from './running-tasks.ts';
export { containerForTask, taskStopSeconds } from './task-container.ts';
export { sensitiveValues } from './told-variables.ts';
export { amountsThere } from './capacity.ts';
export { wakeBeside } from './wake-beside.ts';
export { usualInit, type SizesInit } from './sizes.ts';
export { parseStack } from './stack-schema.ts';
export type { Size, Sizes, Stack } from './stack.ts';
export { pauseEnvironment, removeAllStacks, removeStack, resumeEnvironment } from './stop.ts';
export { wakeEnvironment, wakeForWork } from './wake.ts';

export const deployments: Room = {
  name: 'Deployments',
  about: 'What runs for environments: applications, services and routes.',
  operations,
  reconcilers: [
    keepStacksRunning,
    keepDomainsReached,
    collectStacks,
    keepVolumeLimits,
    wakeWhenVisited,
    sendIdleToSleep,
    pruneDeployments,
    noteMachineAmounts,
    bringImages,
    updateImages,
    collectImages,
  ],
};
