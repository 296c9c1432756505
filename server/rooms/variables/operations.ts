import { array, created, deleted, one, operation, updated } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { ProjectEntity } from '../projects/public.ts';
import { addProjectVariable, changeProjectVariable, removeProjectVariable } from './change-project-variable.ts';
import { ProjectVariableEntity } from './project-variable.ts';
import { projectVariables } from './queries.ts';
import { nameAndValue, shown, variableInput } from './variable.ts';

export const listProjectVariables = operation({
  summary: 'List the variables of a project',
  endpoint: 'GET /projects/{projectId}/variables',
  on: ProjectEntity,
  rel: '#variables',
  permission: 'variable:view',
  returns: array(ProjectVariableEntity),
  handle: async ({ target }, { db }) => (await projectVariables(db, target.id)).map(shown),
});

export const createProjectVariable = operation({
  summary: 'Add a variable to a project',
  endpoint: 'POST /projects/{projectId}/variables',
  on: ProjectEntity,
  rel: '#manage-variables',
  permission: 'variable:manage',
  body: closed({ ...variableInput, ...nameAndValue }),
  example: { name: 'env:API_URL', value: 'https://api.example.org', visible_build: false },
  returns: created(ProjectVariableEntity),
  handle: ({ caller, target, body }, platform) => addProjectVariable(platform, caller, target, body),
});

export const getProjectVariable = operation({
  summary: 'Get a variable of a project',
  endpoint: 'GET /projects/{projectId}/variables/{projectVariableId}',
  on: ProjectVariableEntity,
  permission: 'variable:view',
  returns: one(ProjectVariableEntity),
  handle: async ({ target }) => target,
});

export const updateProjectVariable = operation({
  summary: 'Change a variable of a project',
  endpoint: 'PATCH /projects/{projectId}/variables/{projectVariableId}',
  on: ProjectVariableEntity,
  rel: '#edit',
  permission: 'variable:manage',
  body: closed(variableInput),
  example: { value: 'https://api.example.net', visible_runtime: true },
  returns: updated(ProjectVariableEntity),
  handle: ({ caller, target, body }, platform) => changeProjectVariable(platform, caller, target, body),
});

export const deleteProjectVariable = operation({
  summary: 'Delete a variable of a project',
  endpoint: 'DELETE /projects/{projectId}/variables/{projectVariableId}',
  on: ProjectVariableEntity,
  rel: '#delete',
  permission: 'variable:manage',
  returns: deleted,
  handle: ({ caller, target }, platform) => removeProjectVariable(platform, caller, target),
});
