/** Lists are with the environment that they are of. */
import { one, operation, updated } from '../../kernel/operation.ts';
import { changeResources } from './change-resources.ts';
import { ResourcesChange } from './checked-sizes.ts';
import { DeploymentEntity } from './deployment.ts';
import { NextDeploymentEntity } from './next-deployment.ts';
import { RouteEntity } from './route.ts';

export const getDeployment = operation({
  summary: 'Get what runs for an environment: its applications, workers, services and routes, and what they were made from',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}',
  on: DeploymentEntity,
  permission: 'environment:view',
  returns: one(DeploymentEntity),
  handle: async ({ target }) => target,
});

export const getNextDeployment = operation({
  summary: 'Get what the next deployment of an environment would be made of, and how large its containers would be',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/deployments/next',
  on: NextDeploymentEntity,
  permission: 'environment:view',
  returns: one(NextDeploymentEntity),
  handle: async ({ target }) => target,
});

export const updateNextDeployment = operation({
  summary: 'Choose the sizes, instance counts and disks of the next deployment, and deploy it; an inactive environment is activated by it',
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}/deployments/next',
  on: NextDeploymentEntity,
  rel: '#edit',
  permission: 'environment:admin',
  allowedWhen: ({ environment_info }) => environment_info.status !== 'deleting',
  body: ResourcesChange,
  example: { webapps: { app: { resources: { profile_size: '0.5' }, instance_count: 2, disk: 1024 } } },
  returns: updated(NextDeploymentEntity),
  handle: ({ target, body, caller }, platform) => changeResources(platform, target, body, caller),
});

export const getRoute = operation({
  summary: 'Get a route of an environment, as it is configured',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/routes/{routeId}',
  on: RouteEntity,
  permission: 'environment:view',
  returns: one(RouteEntity),
  handle: async ({ target }) => target,
});
