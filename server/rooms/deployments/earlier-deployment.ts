import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import { earlierDeployment, type EarlierDeployment } from './earlier-deployments.ts';

/** What ran in an environment, in short. An extension of the published API. */
export const EarlierDeploymentEntity = entity({
  name: 'earlier deployment',
  path: '/projects/{projectId}/environments/{environmentId}/earlier-deployments/{deploymentId}',
  params: {
    projectId: ProjectId,
    environmentId: EnvironmentId,
    deploymentId: Type.String({ pattern: '^[a-z0-9]{1,64}$', description: 'Its id, or its number.' }),
  },
  schema: Type.Object({
    id: Type.String(),
    number: Type.Integer({ description: 'They are counted in each environment, from 1.' }),
    commit: Type.String(),
    created_at: Time,
    is_current: Type.Boolean(),
    can_rollback: Type.Boolean({ description: 'Whether its builds are kept, so that it can be made current again.' }),
    user: nullable(Type.Object({ id: Type.String(), display_name: Type.String() })),
    text: nullable(Type.String({ description: 'What set it off, in a sentence.' })),
    activity: nullable(Type.String()),
  }),
  address: ({ id, project_id, environment_id }: EarlierDeployment) => ({
    projectId: project_id,
    environmentId: environment_id,
    deploymentId: id,
  }),
  scope: ({ project_id, organization_id, type }) => ({ project: project_id, organization: organization_id, environmentType: type }),
  view: 'environment:view',
  load: ({ projectId, environmentId, deploymentId }, { db }) => earlierDeployment(db, projectId, environmentId, deploymentId),
});
