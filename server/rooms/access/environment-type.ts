import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { environmentTypes } from '../../permissions.ts';
import { projectById, ProjectId, type Project } from '../projects/public.ts';

interface EnvironmentTypeOf {
  id: string;
  attributes: Record<string, string>;
  project: Project;
}

export const environmentTypesOf = (project: Project): EnvironmentTypeOf[] =>
  environmentTypes.map((id) => ({ id, attributes: {}, project }));

/** A kind of environment that permissions are given for. */
export const EnvironmentTypeEntity = entity({
  name: 'environment type',
  path: '/projects/{projectId}/environment-types/{environmentTypeId}',
  params: { projectId: ProjectId, environmentTypeId: Type.String({ maxLength: 64 }) },
  schema: Type.Object({ id: Type.String(), attributes: Type.Record(Type.String(), Type.String()) }),
  address: ({ id, project }: EnvironmentTypeOf) => ({ projectId: project.id, environmentTypeId: id }),
  scope: ({ project }) => ({ project: project.id, organization: project.organization_id }),
  view: 'project:view',
  load: async ({ projectId, environmentTypeId }, { db }) => {
    const project = await projectById(db, projectId);
    return project && environmentTypesOf(project).find(({ id }) => id === environmentTypeId);
  },
});
