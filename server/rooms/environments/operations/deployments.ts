/** What runs for an environment. One deployment, one route: in the room of deployments. */
import { array, operation, plain, updated } from '../../../kernel/operation.ts';
import { DeploymentEntity, loadDeployment, ResourcesChange, RouteEntity, routesOf } from '../../deployments/public.ts';
import { NextDeploymentEntity, SizesPreview } from '../../deployments/work.ts';
import { changeResources, previewResources } from '../change-resources.ts';
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

/** An extension of the published API. */
export const previewNextDeployment = operation({
  summary: 'Tell what a change of sizes, instance counts and disks would do to what runs, and what it would come to, without doing it',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/deployments/next/preview',
  on: NextDeploymentEntity,
  rel: '#preview',
  permission: 'environment:admin',
  allowedWhen: ({ environment_info: { status } }) => environmentLife.possible(status, 'resize'),
  otherwise: ({ environment_info: { status } }) => environmentLife.otherwise(status, 'resize'),
  body: ResourcesChange,
  example: { webapps: { app: { resources: { profile_size: '0.5' }, instance_count: 2, disk: 1024 } } },
  returns: plain(SizesPreview),
  handle: ({ target, body }, platform) => previewResources(platform, target, body),
});
