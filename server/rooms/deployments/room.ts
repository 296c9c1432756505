/** What runs for environments: deployments, and the containers, volumes and routes that follow from them. */
// First: what follows leads to variables, from there to environments, and back to this room for these.
export { DeploymentEntity } from './deployment.ts';
export { loadDeployment } from './document.ts';
export { RouteEntity, routesOf } from './route.ts';
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { collectStacks, keepDomainsReached, keepLogsShort, keepStacksRunning } from './reconcilers.ts';

export { deployEnvironment, type DeployRequest } from './deploy.ts';
export { currentStack, ensureEntropy, insertDeployment, makeCurrent, type LastDeployment } from './queries.ts';
export type { SizesInit } from './sizes.ts';
export type { Size, Sizes, Stack } from './stack.ts';
export { pauseEnvironment, removeAllStacks, removeStack, resumeEnvironment } from './stop.ts';

export const deployments: Room = {
  name: 'Deployments',
  about: 'What runs for environments: applications, services and routes.',
  operations,
  reconcilers: [keepStacksRunning, keepDomainsReached, collectStacks, keepLogsShort],
};
