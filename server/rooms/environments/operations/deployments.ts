/** What runs for an environment. One deployment, one route: in the room of deployments. */
import { array, operation, updated } from '../../../kernel/operation.ts';
import { DeploymentEntity, loadDeployment, ResourcesChange, RouteEntity, routesOf } from '../../deployments/public.ts';
import { NextDeploymentEntity } from '../../deployments/work.ts';
import { changeResources } from '../change-resources.ts';
import { EnvironmentEntity } from '../environment.ts';
import { environmentLife } from '../life-cycle.ts';

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

export const updateNextDeployment = operation({
  summary: 'Choose the sizes, instance counts and disks of the next deployment, and deploy it; an inactive environment is activated by it',
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}/deployments/next',
  on: NextDeploymentEntity,
  rel: '#edit',
  permission: 'environment:admin',
  allowedWhen: ({ environment_info: { status } }) => environmentLife.possible(status, 'resize'),
  otherwise: ({ environment_info: { status } }) => environmentLife.otherwise(status, 'resize'),
  body: ResourcesChange,
  example: { webapps: { app: { resources: { profile_size: '0.5' }, instance_count: 2, disk: 1024 } } },
  returns: updated(NextDeploymentEntity),
  handle: ({ target, body, caller }, platform) => changeResources(platform, target, body, caller),
});
