/** What activities of other rooms do to what runs: deploy, pause, wake, run commands inside, take snapshots, restore. */
export {
  backupsWithSnapshots,
  forgetSnapshots,
  partsOfStack,
  removeSnapshots,
  snapshotStack,
  type Snapshots,
  type VolumePart,
} from './deploy/backup-volumes.ts';
export { adoptHosts } from './deploy/adopt-hosts.ts';
export { adoptRoutes } from './deploy/adopt-routes.ts';
export { releaseHosts } from './deploy/claim-hosts.ts';
export { deployStack, stageDeployment } from './deploy/deploy.ts';
export type {
  CodeDeployment,
  DeployRequest,
  RepeatedDeployment,
  Rest,
  Restart,
  RollbackDeployment,
  ScaledDeployment,
} from './deploy/deploy-request.ts';
export { refreshRoutes } from './deploy/refresh-routes.ts';
export { areHostsRouted, takeRoutedHosts } from './deploy/routed-hosts.ts';
export { imageLimits, updateImages } from './running/image-upkeep.ts';
export { knownClusters, machineUse, volumeOwners, type VolumeKind } from './sizes/machine-use.ts';
export { loadNextDeployment, nextStackOf, type NextStack } from './deploy/next-stack.ts';
export { NextDeploymentEntity } from './next-deployment.ts';
export { chooseSizes } from './sizes/chosen-sizes.ts';
export { previewSizes, SizesPreview } from './sizes/preview-sizes.ts';
export { changeState, forgetStack, ensureEntropy, insertDeployment, makeCurrent } from './queries.ts';
export { modelIfReadable, refuseEarly, refuseRestoreEarly, refuseResumeEarly, refuseScalingEarly } from './sizes/refuse-early.ts';
export { slugPart, type RestoredData, type RestorePlan, type Restoring } from './deploy/restoring.ts';
export { runLasting, type LastingRun } from './inside/run-lasting.ts';
export { releaseTask, reserveForTask, type TaskRun } from './sizes/running-tasks.ts';
export { containerForTask, taskStopSeconds } from './inside/task-container.ts';
export { wakeForActivity } from './running/wake-for-activity.ts';
export { pauseStack, removeAllStacks, removeStack, resumeStack } from './running/stop.ts';
export { wakeEnvironment, wakeForWork } from './running/wake.ts';
