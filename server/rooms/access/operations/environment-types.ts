import { array, one, operation } from '../../../kernel/operation.ts';
import { ProjectEntity } from '../../projects/public.ts';
import { EnvironmentTypeEntity, environmentTypesOf } from '../environment-type.ts';

export const listEnvironmentTypes = operation({
  summary: 'List the types that the environments of a project can have',
  endpoint: 'GET /projects/{projectId}/environment-types',
  on: ProjectEntity,
  permission: 'project:view',
  returns: array(EnvironmentTypeEntity),
  handle: async ({ target }) => environmentTypesOf(target),
});

export const getEnvironmentType = operation({
  summary: 'Get an environment type',
  endpoint: 'GET /projects/{projectId}/environment-types/{environmentTypeId}',
  on: EnvironmentTypeEntity,
  permission: 'project:view',
  returns: one(EnvironmentTypeEntity),
  handle: async ({ target }) => target,
});
