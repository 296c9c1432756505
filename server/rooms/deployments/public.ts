/** What other rooms may know of deployments: what runs for an environment and what ran before, the stack that it follows from, and quotas. */
export { DeploymentEntity } from './deployment.ts';
export { loadDeployment, type Deployment } from './document.ts';
export { EarlierDeploymentEntity } from './earlier-deployment.ts';
export { RouteEntity, routesOf } from './route.ts';
export { backupSnapshot, stackOfVolume } from './names.ts';
export { earlierDeployments, rollbackTarget, type EarlierDeployment } from './earlier-deployments.ts';
export { checkedSizes, ResourcesChange } from './checked-sizes.ts';
export { endpointsFrom, fileTransferCommand, instanceName, shellCommand, typedCommand } from './enter.ts';
export { currentlyDeployed, currentSizes, currentStack, type Deployed, stagesCode, type LastDeployment } from './queries.ts';
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
export { shellScript } from './lasting-command.ts';
export { activityOfTask, taskContainer } from './names.ts';
export { sensitiveValues } from './told-variables.ts';
export { amountsThere } from './capacity.ts';
export { usualInit, type SizesInit } from './sizes.ts';
export { parseStack } from './stack-schema.ts';
export type { Size, Sizes, Stack } from './stack.ts';
