/** Lists are with the environment that they are of. */
import { one, operation } from '../../kernel/operation.ts';
import { DeploymentEntity } from './deployment.ts';
import { RouteEntity } from './route.ts';

export const getDeployment = operation({
  summary: 'Get what runs for an environment: its applications, workers, services and routes, and what they were made from',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}',
  on: DeploymentEntity,
  permission: 'environment:view',
  returns: one(DeploymentEntity),
  handle: async ({ target }) => target,
});

export const getRoute = operation({
  summary: 'Get a route of an environment, as it is configured',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/routes/{routeId}',
  on: RouteEntity,
  permission: 'environment:view',
  returns: one(RouteEntity),
  handle: async ({ target }) => target,
});
