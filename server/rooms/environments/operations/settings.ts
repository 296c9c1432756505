import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../../ids.ts';
import { entity, one, operation, updated } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { closed } from '../../../kernel/schema.ts';
import { environmentById, updateEnvironment, type Environment } from '../queries.ts';

/** How an environment is deployed. */
const EnvironmentSettingsEntity = entity({
  name: 'environment settings',
  path: '/projects/{projectId}/environments/{environmentId}/settings',
  params: { projectId: ProjectId, environmentId: EnvironmentId },
  schema: Type.Object({ enable_manual_deployments: Type.Boolean({ description: 'Changes wait until somebody deploys them.' }) }),
  address: ({ id, project_id }: Environment) => ({ projectId: project_id, environmentId: id }),
  scope: ({ project_id, organization_id, type }) => ({ project: project_id, organization: organization_id, environmentType: type }),
  view: 'environment:view',
  load: ({ projectId, environmentId }, { db, config }) => environmentById(db, config.domain, projectId, environmentId),
});

export const getEnvironmentSettings = operation({
  summary: "Get an environment's settings",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/settings',
  on: EnvironmentSettingsEntity,
  permission: 'environment:view',
  returns: one(EnvironmentSettingsEntity),
  handle: async ({ target }) => target,
});

export const updateEnvironmentSettings = operation({
  summary: "Change an environment's settings",
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}/settings',
  on: EnvironmentSettingsEntity,
  rel: '#edit',
  permission: 'environment:admin',
  body: closed({ enable_manual_deployments: Type.Optional(Type.Boolean()) }),
  example: { enable_manual_deployments: false },
  returns: updated(EnvironmentSettingsEntity),
  handle: async ({ target, body }, { db }) => {
    if (body.enable_manual_deployments === true && target.status !== 'active')
      throw new Problem('conflict', 'Manual deployments are for active environments; activate this one first.');
    if (body.enable_manual_deployments !== undefined) await updateEnvironment(db, target.project_id, target.id, body);
    return { ...target, ...body };
  },
});
