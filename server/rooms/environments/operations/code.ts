import { Type } from 'typebox';
import { operation, updated } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import type { Caller } from '../../../platform.ts';
import { atHost } from '../code-source.ts';
import { areMet, hasCode, hasParent, hindrance, isQuiet, parentHasCode } from '../conditions.ts';
import { branchNameRule } from '../create-environment.ts';
import { InitialResources } from '../initial-resources.ts';
import { EnvironmentEntity, Title } from '../environment.ts';
import type { Environment } from '../queries.ts';
import { startBranch } from '../start-branch.ts';
import { startInitialize } from '../start-initialize.ts';
import { startMerge, startSynchronize } from '../start-merge.ts';
import { environmentLife } from '../life-cycle.ts';

const oneOf = <const Value extends string>(...values: Value[]) => Type.Unsafe<Value>({ type: 'string', enum: values });

export const branchEnvironment = operation({
  summary: 'Branch an environment: a new one, with its code and, where it runs, a clone of its data',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/branch',
  on: EnvironmentEntity,
  rel: '#branch',
  permission: 'environment:branch',
  // An environment can be branched while an activity runs in it; the branching waits until that has ended.
  allowedWhen: ({ has_code, status, code_source }) =>
    has_code && !code_source?.prunes_branches && environmentLife.possible(status, 'branch'),
  otherwise: (target) =>
    target.code_source?.prunes_branches
      ? atHost(target, 'Create the branch there, and it becomes an environment; one that is only here would be pruned.')
      : hindrance(target, 'branch', [hasCode]),
  body: closed({
    name: Type.String({ minLength: 1, maxLength: 250, description: `The name of the branch; it ${branchNameRule}.` }),
    title: Type.Optional(Title),
    clone_parent: Type.Optional(Type.Boolean()),
    type: Type.Optional(Type.String({ enum: ['development', 'staging'] })),
    resources: InitialResources('default', 'minimum', 'parent'),
  }),
  example: { name: 'feature/login', title: 'Login', type: 'staging' },
  returns: updated(EnvironmentEntity),
  handle: ({ target, body, caller }, platform) => startBranch(platform, target, body, caller),
});

/** Whether there is a parent, and the caller may do this to it. */
const mayToParent =
  (permission: 'environment:view' | 'environment:admin') =>
  ({ project_id, organization_id, parent_type }: Environment, caller: Caller) =>
    parent_type !== null && caller.can(permission, { project: project_id, organization: organization_id, environmentType: parent_type });

/** Both environments have code, and no activity is open in the child. */
const canTakeIn = [hasParent, hasCode, parentHasCode, isQuiet];

/** What is taken in here would be undone by the next fetch. */
const isFetched = ({ code_source }: Environment) => code_source?.fetches_branches ?? false;

export const mergeEnvironment = operation({
  summary: "Merge an environment's code into its parent's",
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/merge',
  on: EnvironmentEntity,
  rel: '#merge',
  permission: 'environment:admin',
  // Merging changes the parent, so the caller needs the right to change the parent, too.
  isFor: mayToParent('environment:admin'),
  allowedWhen: (target) => areMet(canTakeIn, target) && !isFetched(target) && environmentLife.possible(target.status, 'merge'),
  otherwise: (target) => (isFetched(target) ? atHost(target, 'Merge there.') : hindrance(target, 'merge', canTakeIn)),
  body: closed({
    resources: InitialResources('child', 'default', 'manual', 'minimum'),
    strategy: Type.Optional(oneOf('stopstart', 'rolling')),
  }),
  example: {},
  returns: updated(EnvironmentEntity),
  handle: ({ target, body: { strategy, resources }, caller }, platform) =>
    startMerge(platform, target, { init: resources?.init ?? 'child', ...(strategy !== undefined && { strategy }) }, caller),
});

export const synchronizeEnvironment = operation({
  summary: 'Bring an environment up to date with its parent: its code, its data, its resources',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/synchronize',
  on: EnvironmentEntity,
  rel: '#synchronize',
  permission: 'environment:admin',
  // Everybody who sees the child can read what is brought in, so the caller needs access to the parent, too.
  isFor: mayToParent('environment:view'),
  allowedWhen: (target) => areMet(canTakeIn, target) && environmentLife.possible(target.status, 'synchronize'),
  otherwise: (target) => hindrance(target, 'synchronize', canTakeIn),
  body: closed({
    synchronize_code: Type.Optional(Type.Boolean()),
    synchronize_data: Type.Optional(Type.Boolean()),
    synchronize_resources: Type.Optional(Type.Boolean()),
    rebase: Type.Optional(Type.Boolean()),
  }),
  example: { synchronize_code: true },
  returns: updated(EnvironmentEntity),
  handle: ({ target, body, caller }, platform) => startSynchronize(platform, target, body, caller),
});

const sourceCharactersMax = 2000;
const filesMax = 100;

export const initializeEnvironment = operation({
  summary: 'Fill an empty environment with the code of a repository',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/initialize',
  on: EnvironmentEntity,
  rel: '#initialize',
  permission: 'environment:admin',
  allowedWhen: (target) =>
    !target.has_code && !target.is_dirty && !isFetched(target) && environmentLife.possible(target.status, 'initialize'),
  otherwise: (target) => (isFetched(target) ? atHost(target, 'Push there.') : environmentLife.otherwise(target.status, 'initialize')),
  body: closed({
    profile: Type.Optional(Title),
    repository: Type.Optional(
      Type.String({ maxLength: sourceCharactersMax, description: 'A Git address, with @branch at its end if not the default one.' }),
    ),
    config: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: sourceCharactersMax })),
    files: Type.Optional(
      Type.Array(
        closed({
          path: Type.String({ minLength: 1, maxLength: 1000 }),
          mode: Type.Optional(Type.Integer()),
          contents: Type.Optional(Type.String()),
        }),
        {
          maxItems: filesMax,
        },
      ),
    ),
    resources: InitialResources('default', 'minimum'),
  }),
  example: { profile: 'Empty', files: [{ path: 'README.md', mode: 0o644, contents: 'IyBIZWxsbwo=' }] },
  returns: updated(EnvironmentEntity),
  handle: ({ target, body, caller }, platform) => startInitialize(platform, target, body, caller),
});
