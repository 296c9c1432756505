/** What activities of other rooms do to what runs: deploy, pause, wake, run commands inside, take snapshots, restore. */
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
export { deployEnvironment, stageDeployment, type DeployRequest } from './deploy.ts';
export { imageLimits } from './image-upkeep.ts';
export { knownClusters, machineUse, volumeOwners, type VolumeKind } from './machine-use.ts';
export { loadNextDeployment, nextStackOf, type NextStack } from './next-stack.ts';
export { NextDeploymentEntity } from './next-deployment.ts';
export { chooseSizes } from './chosen-sizes.ts';
export { changeStatus, forgetStack, ensureEntropy, insertDeployment, makeCurrent } from './queries.ts';
export { modelAhead, refuseAhead, refuseRestoreAhead, refuseResumeAhead } from './refuse-ahead.ts';
export { slugPart, type RestoredData, type RestorePlan, type Restoring } from './restoring.ts';
export { restoreAtRest, type Rest } from './restore-at-rest.ts';
export { runLasting, type LastingRun } from './run-lasting.ts';
export { releaseTask, reserveForTask, type TaskRun } from './running-tasks.ts';
export { containerForTask, taskStopSeconds } from './task-container.ts';
export { wakeBeside } from './wake-beside.ts';
export { pauseEnvironment, removeAllStacks, removeStack, resumeEnvironment } from './stop.ts';
export { wakeEnvironment, wakeForWork } from './wake.ts';
