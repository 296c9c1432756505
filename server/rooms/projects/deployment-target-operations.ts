import { array, created, deleted, one, operation, updated } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';
import { DeploymentTargetEntity, deploymentTargetOf, onlyThisMachine, targetFields, targetOptions } from './deployment-target.ts';
import { ProjectEntity } from './project.ts';

export const listDeploymentTargets = operation({
  summary: 'List where a project is deployed: on this machine',
  endpoint: 'GET /projects/{projectId}/deployments',
  on: ProjectEntity,
  permission: 'deployment-target:view',
  returns: array(DeploymentTargetEntity),
  handle: async ({ target }) => [deploymentTargetOf(target)],
});

export const createDeploymentTarget = operation({
  summary: 'Add a deployment target: refused, as there is only this machine',
  endpoint: 'POST /projects/{projectId}/deployments',
  on: ProjectEntity,
  permission: 'deployment-target:manage',
  body: closed({ ...targetFields, ...targetOptions }),
  example: { type: 'foundation', name: 'elsewhere' },
  returns: created(DeploymentTargetEntity),
  handle: () => Promise.reject(new Problem('conflict', onlyThisMachine)),
});

export const getDeploymentTarget = operation({
  summary: 'Show a deployment target',
  endpoint: 'GET /projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
  on: DeploymentTargetEntity,
  permission: 'deployment-target:view',
  returns: one(DeploymentTargetEntity),
  handle: async ({ target }) => target,
});

export const updateDeploymentTarget = operation({
  summary: 'Change a deployment target: refused, as there is only this machine',
  endpoint: 'PATCH /projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
  on: DeploymentTargetEntity,
  permission: 'deployment-target:manage',
  body: closed({ ...targetFields, ...targetOptions }),
  example: { type: 'foundation', name: 'elsewhere' },
  returns: updated(DeploymentTargetEntity),
  handle: () => Promise.reject(new Problem('conflict', onlyThisMachine)),
});

export const deleteDeploymentTarget = operation({
  summary: 'Delete a deployment target: refused, as there is only this machine',
  endpoint: 'DELETE /projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
  on: DeploymentTargetEntity,
  permission: 'deployment-target:manage',
  returns: deleted,
  handle: () => Promise.reject(new Problem('conflict', onlyThisMachine)),
});
