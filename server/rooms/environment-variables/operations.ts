import { Type } from 'typebox';
import { array, created, deleted, one, operation, updated } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { nameAndValue, shown, variableInput } from '../variables/public.ts';
import { addEnvironmentVariable, changeEnvironmentVariable, removeEnvironmentVariable } from './change-environment-variable.ts';
import { EnvironmentVariableEntity, seenBy } from './environment-variable.ts';
import { environmentVariables } from './queries.ts';

const input = {
  ...variableInput,
  is_enabled: Type.Optional(Type.Boolean()),
  is_inheritable: Type.Optional(Type.Boolean()),
};

export const listEnvironmentVariables = operation({
  summary: 'List the variables of an environment, its own and inherited',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/variables',
  on: EnvironmentEntity,
  rel: '#variables',
  permission: 'variable:view',
  returns: array(EnvironmentVariableEntity),
  handle: async ({ target, caller }, { db }) =>
    (await environmentVariables(db, target.project_id, target.id)).map((variable) => seenBy(caller, shown(variable))),
});

export const createEnvironmentVariable = operation({
  summary: 'Add a variable to an environment',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/variables',
  on: EnvironmentEntity,
  rel: '#manage-variables',
  permission: 'variable:manage',
  body: closed({ ...input, ...nameAndValue }),
  example: { name: 'env:API_URL', value: 'https://staging.example.org', is_inheritable: false },
  returns: created(EnvironmentVariableEntity),
  handle: ({ caller, target, body }, platform) => addEnvironmentVariable(platform, caller, target, body),
});

export const getEnvironmentVariable = operation({
  summary: 'Get a variable of an environment, its own or inherited',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/variables/{variableId}',
  on: EnvironmentVariableEntity,
  permission: 'variable:view',
  returns: one(EnvironmentVariableEntity),
  handle: async ({ target, caller }) => seenBy(caller, target),
});

export const updateEnvironmentVariable = operation({
  summary: 'Change a variable of an environment; of an inherited one, make its own',
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}/variables/{variableId}',
  on: EnvironmentVariableEntity,
  rel: '#edit',
  permission: 'variable:manage',
  body: closed(input),
  example: { value: 'https://staging.example.net', is_enabled: true },
  returns: updated(EnvironmentVariableEntity),
  handle: ({ caller, target, body }, platform) => changeEnvironmentVariable(platform, caller, target, body),
});

export const deleteEnvironmentVariable = operation({
  summary: 'Delete a variable of an environment; what it overrode is seen again',
  endpoint: 'DELETE /projects/{projectId}/environments/{environmentId}/variables/{variableId}',
  on: EnvironmentVariableEntity,
  rel: '#delete',
  permission: 'variable:manage',
  allowedWhen: ({ inherited }) => !inherited,
  otherwise: 'The variable is inherited; delete it where it comes from, or set is_enabled to false to be without it here.',
  returns: deleted,
  handle: ({ caller, target }, platform) => removeEnvironmentVariable(platform, caller, target),
});
