/** The next deployment of an environment: what it would be made of, and where its sizes are chosen. */
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { DeploymentEntity } from './deployment.ts';
import type { Deployment } from './stack/document.ts';
import { loadNextDeployment } from './deploy/next-stack.ts';

export const NextDeploymentEntity = entity({
  name: 'next deployment',
  path: '/projects/{projectId}/environments/{environmentId}/deployments/next',
  params: { projectId: ProjectId, environmentId: EnvironmentId },
  schema: DeploymentEntity.schema,
  address: ({ project_id, environment_id }: Deployment) => ({ projectId: project_id, environmentId: environment_id }),
  scope: ({ project_id, organization_id, type }) => ({ project: project_id, organization: organization_id, environmentType: type }),
  view: 'environment:view',
  load: ({ projectId, environmentId }, platform) => loadNextDeployment(platform, projectId, environmentId),
});
