/** What runs for environments: deployments, and the containers, volumes and routes that follow from them. */
// First: what follows leads to variables, from there to environments, and back to this room for these.
export { DeploymentEntity } from './deployment.ts';
export { loadDeployment } from './document.ts';
export { EarlierDeploymentEntity } from './earlier-deployment.ts';
export { RouteEntity, routesOf } from './route.ts';
import type { Room } from '../../kernel/room.ts';
import { updateResourcesActivity } from './change-resources.ts';
import * as operations from './operations.ts';
import { pruneDeployments } from './earlier-deployments.ts';
import { collectStacks, keepDomainsReached, keepStacksRunning } from './reconcilers.ts';
import { sendIdleToSleep, wakeWhenVisited } from './sleep.ts';

export { earlierDeployments, rollbackTarget, type EarlierDeployment } from './earlier-deployments.ts';
export { deployEnvironment, stageDeployment, type DeployRequest } from './deploy.ts';
export { nextStackOf, type NextStack } from './next-stack.ts';
export { endpointsFrom, fileTransferCommand, instanceName, shellCommand, typedCommand } from './enter.ts';
export {
  currentlyDeployed,
  currentStack,
  type Deployed,
  ensureEntropy,
  insertDeployment,
  makeCurrent,
  stagesCode,
  type LastDeployment,
} from './queries.ts';
export { allQuotas, setQuota, type Limits, type Quota, type QuotaOwner } from './quotas.ts';
export { usualInit, type SizesInit } from './sizes.ts';
export type { Size, Sizes, Stack } from './stack.ts';
export { pauseEnvironment, removeAllStacks, removeStack, resumeEnvironment } from './stop.ts';
export { wakeEnvironment } from './wake.ts';

export const deployments: Room = {
  name: 'Deployments',
  about: 'What runs for environments: applications, services and routes.',
  operations,
  activities: { updateResourcesActivity },
  reconcilers: [keepStacksRunning, keepDomainsReached, collectStacks, wakeWhenVisited, sendIdleToSleep, pruneDeployments],
};
