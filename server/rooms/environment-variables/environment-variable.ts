import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable } from '../../kernel/schema.ts';
import type { Caller } from '../../platform.ts';
import { shown, variableFields, VariableId } from '../variables/public.ts';
import { environmentVariables, type StoredEnvironmentVariable } from './queries.ts';

export type EnvironmentVariable = ReturnType<typeof shown<StoredEnvironmentVariable>>;

type Kept = Pick<StoredEnvironmentVariable, 'project' | 'organization_id' | 'origin_type'>;

/** Whether the caller may read the value where it is kept: all branches come from production, but not all who work on them may look into it. */
export const maySeeOrigin = (caller: Caller, { project, organization_id, origin_type }: Kept) =>
  caller.can('variable:view', { project, organization: organization_id, environmentType: origin_type });

/** Hides the value of a variable that is inherited from an environment that the caller may not see, and which environment that is. */
export function seenBy(caller: Caller, variable: EnvironmentVariable): EnvironmentVariable {
  if (maySeeOrigin(caller, variable)) return variable;
  const { value: _hidden, ...others } = variable;
  return { ...others, inherited_from: null };
}

/** A variable of one environment, its own or inherited from the nearest ancestor that passes it on. */
export const EnvironmentVariableEntity = entity({
  name: 'environment variable',
  path: '/projects/{projectId}/environments/{environmentId}/variables/{variableId}',
  params: { projectId: ProjectId, environmentId: EnvironmentId, variableId: VariableId },
  schema: Type.Object({
    ...variableFields,
    project: ProjectId,
    environment: EnvironmentId,
    inherited: Type.Boolean({
      description: 'Whether the variable comes from an ancestor. Changing it here makes it one of this environment.',
    }),
    inherited_from: nullable(
      Type.String({ description: 'The environment that the variable comes from. Null: this one, or one that the caller may not see.' }),
    ),
    is_enabled: Type.Boolean({ description: 'Whether it exists here; where false, no variable of its name does.' }),
    is_inheritable: Type.Boolean({ description: 'Whether the children of the environment have it too.' }),
  }),
  address: ({ project, environment, name }: EnvironmentVariable) => ({
    projectId: project,
    environmentId: environment,
    variableId: name,
  }),
  scope: ({ project, organization_id, environment_type }) => ({
    project,
    organization: organization_id,
    environmentType: environment_type,
  }),
  view: 'variable:view',
  load: async ({ projectId, environmentId, variableId }, { db }) => {
    const [found] = await environmentVariables(db, projectId, environmentId, variableId);
    return found && shown(found);
  },
});
