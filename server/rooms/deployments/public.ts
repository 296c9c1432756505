/** What other rooms may know of deployments: what runs for an environment and what ran before, the stack that it follows from, and quotas. */
export { DeploymentEntity } from './deployment.ts';
export { loadDeployment, type Deployment } from './stack/document.ts';
export { Differences, differencesFromCurrent } from './compare-deployments.ts';
export { EarlierDeploymentEntity } from './earlier-deployment.ts';
export { RouteEntity, routesOf } from './route.ts';
export { haveNamesInCommon, isPlatforms } from './stack/host-names.ts';
export { backupSnapshot, stackOfVolume } from './stack/names.ts';
export { earlierDeployments, rollbackTarget, type EarlierDeployment } from './earlier-deployments.ts';
export { autoscaledIn, instanceCountsOf, scaledDirections, type InstanceCounts } from './sizes/autoscaled.ts';
export { checkedSizes, ResourcesChange } from './sizes/checked-sizes.ts';
export { endpointsFrom, fileTransferCommand, instanceName, shellCommand, typedCommand } from './inside/enter.ts';
export { currentlyDeployed, currentSizes, currentStack, type Deployed, stagesCode, type LastDeployment } from './queries.ts';
export {
  allQuotas,
  defaultQuota,
  noFurtherProject,
  quotasOfOrganizations,
  refuseFurtherProject,
  setDefaultQuota,
  setQuota,
  type Limits,
  type Quota,
  type QuotaOwner,
} from './sizes/quotas.ts';
export { usesOfServiceType } from './service-type-uses.ts';
export { shellScript } from './inside/lasting-command.ts';
export { activityOfTask, taskContainer } from './stack/names.ts';
export { hiddenValues } from './stack/hidden-values.ts';
export { amountsThere } from './sizes/capacity.ts';
export { usualInit, type SizesInit } from './sizes/sizes.ts';
export { openOwners, type Owner, type Owners } from './stack/container-owners.ts';
export { parseStack } from './stack/stack-schema.ts';
export type { Size, Sizes, Stack } from './stack/stack.ts';
