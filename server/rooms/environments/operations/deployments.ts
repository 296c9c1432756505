/** What runs for an environment. One deployment, one route: in the room of deployments. */
import { array, operation } from '../../../kernel/operation.ts';
import { DeploymentEntity, loadDeployment, RouteEntity, routesOf } from '../../deployments/room.ts';
import { EnvironmentEntity } from '../environment.ts';

export const listDeployments = operation({
  summary: "List an environment's deployments: the current one, if it was deployed",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/deployments',
  on: EnvironmentEntity,
  rel: 'deployments',
  permission: 'environment:view',
  returns: array(DeploymentEntity),
  handle: async ({ target: { project_id, id } }, platform) => {
    const current = await loadDeployment(platform, project_id, id, 'current');
    return current ? [current] : [];
  },
});

export const listRoutes = operation({
  summary: "List an environment's routes, as they are configured",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/routes',
  on: EnvironmentEntity,
  rel: '#routes',
  permission: 'environment:view',
  returns: array(RouteEntity),
  handle: ({ target: { project_id, id } }, platform) => routesOf(platform, project_id, id),
});
