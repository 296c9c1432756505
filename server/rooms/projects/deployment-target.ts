/** Where a project is deployed: on this machine, the one target that an installation has. Only operators are told, and nobody can add, change or delete it. */
import { hostname } from 'node:os';
import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Line, nullable } from '../../kernel/schema.ts';
import { projectById, type Project } from './queries.ts';

const id = 'local';
const types = ['dedicated', 'enterprise', 'foundation', 'kubernetes'];

const anyObject = Type.Unsafe<object>({ type: 'object', additionalProperties: true, maxProperties: 100 });

export const targetFields = { type: Type.String({ enum: types }), name: Line(200, { charactersMin: 1 }) };

/** What the published kinds of targets can be made or changed with; what all of them have is in `targetFields`. */
export const targetOptions = {
  hosts: Type.Optional(nullable(Type.Array(anyObject, { maxItems: 100 }))),
  use_dedicated_grid: Type.Optional(Type.Boolean()),
  enforced_mounts: Type.Optional(anyObject),
  site_urls: Type.Optional(anyObject),
  ssh_hosts: Type.Optional(Type.Array(Line(253), { maxItems: 100 })),
};

export const onlyThisMachine =
  'This installation deploys to its own machine alone: targets can be neither added nor changed nor deleted. Make another installation for another machine.';

export const deploymentTargetOf = (project: Project) => ({
  id,
  type: 'foundation',
  name: id,
  hosts: [{ id: hostname(), type: 'core', services: null }],
  use_dedicated_grid: false,
  storage_type: null,
  project,
});

type DeploymentTarget = ReturnType<typeof deploymentTargetOf>;

export const DeploymentTargetEntity = entity({
  name: 'deployment target',
  path: '/projects/{projectId}/deployments/{deploymentTargetConfigurationId}',
  params: { projectId: ProjectId, deploymentTargetConfigurationId: Type.String({ pattern: '^[a-z0-9]{1,64}$' }) },
  schema: Type.Object({
    id: Type.String(),
    ...targetFields,
    hosts: Type.Array(
      Type.Object({ id: Type.String(), type: Type.String({ enum: ['core', 'satellite'] }), services: nullable(Type.Array(Type.String())) }),
    ),
    use_dedicated_grid: Type.Boolean(),
    storage_type: nullable(Type.String()),
  }),
  address: ({ project }: DeploymentTarget) => ({ projectId: project.id, deploymentTargetConfigurationId: id }),
  scope: ({ project }) => ({ project: project.id, organization: project.organization_id }),
  view: 'deployment-target:view',
  load: async ({ projectId, deploymentTargetConfigurationId }, { db }) => {
    const project = deploymentTargetConfigurationId === id ? await projectById(db, projectId) : undefined;
    return project && deploymentTargetOf(project);
  },
});
