import { Type } from 'typebox';
import { ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { projectVariables, type StoredProjectVariable } from './queries.ts';
import { shown, variableFields, VariableId } from './variable.ts';

export type ProjectVariable = ReturnType<typeof shown<StoredProjectVariable>>;

/** A variable that all environments of a project have, unless they have one of the same name. */
export const ProjectVariableEntity = entity({
  name: 'project variable',
  path: '/projects/{projectId}/variables/{projectVariableId}',
  params: { projectId: ProjectId, projectVariableId: VariableId },
  schema: Type.Object(variableFields),
  address: ({ project_id, name }: ProjectVariable) => ({ projectId: project_id, projectVariableId: name }),
  scope: ({ project_id, organization_id }) => ({ project: project_id, organization: organization_id }),
  view: 'variable:view',
  load: async ({ projectId, projectVariableId }, { db }) => {
    const [found] = await projectVariables(db, projectId, projectVariableId);
    return found && shown(found);
  },
});
