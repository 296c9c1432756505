/** Reading a single deployment or route. Lists, and operations that change an environment, are in the room of environments. */
import { Type } from 'typebox';
import { one, operation, plain } from '../../kernel/operation.ts';
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

const Containers = Type.Unsafe<Record<string, { type: string; instance_count: number | null; relationships: object }>>({
  type: 'object',
  additionalProperties: {
    type: 'object',
    properties: {
      type: { type: 'string' },
      instance_count: { type: ['integer', 'null'] },
      relationships: { type: 'object', additionalProperties: true },
    },
  },
});

export const getTopology = operation({
  summary: 'Get the containers of a deployment, and what each is related to',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}/topology',
  on: DeploymentEntity,
  permission: 'environment:view',
  returns: plain(Type.Object({ id: Type.String(), name: Type.String(), constraints: Type.Object({}), services: Containers })),
  handle: async ({ target: { id, cluster_name, webapps, workers, services } }) => ({
    id,
    name: cluster_name,
    constraints: {},
    services: { ...services, ...webapps, ...workers },
  }),
});

export const getNextDeployment = operation({
  summary: 'Get what the next deployment of an environment would be made of, and how large its containers would be',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/deployments/next',
  on: NextDeploymentEntity,
  permission: 'environment:view',
  returns: one(NextDeploymentEntity),
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
