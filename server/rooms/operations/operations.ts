import { Type } from 'typebox';
import { operation, plain, updated } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { DeploymentEntity } from '../deployments/public.ts';
import { atHost, EnvironmentEntity, isOfHost } from '../environments/public.ts';
import { GivenVariables } from '../variables/public.ts';
import { SourceOperation, sourceOperations } from './source-operations.ts';
import { startRuntimeOperation } from './start-runtime-operation.ts';
import { startSourceOperation } from './start-source-operation.ts';
import { environmentLife } from '../environments/life-cycle.ts';

const nameCharactersMax = 200;
const Name = Type.String({ minLength: 1, maxLength: nameCharactersMax });

export const listSourceOperations = operation({
  summary: 'List the source operations that the last commit of an environment defines',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/source-operations',
  on: EnvironmentEntity,
  rel: '#source-operations',
  permission: 'environment:view',
  returns: plain(Type.Array(SourceOperation)),
  handle: ({ target }, platform) => sourceOperations(platform, target),
});

export const runSourceOperation = operation({
  summary: 'Run a source operation on the code of an environment: what it commits is pushed to the branch and deployed',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/source-operation',
  on: EnvironmentEntity,
  rel: '#source-operation',
  permission: 'environment:push',
  allowedWhen: (target) =>
    target.has_code && !target.is_pr && !isOfHost(target) && environmentLife.possible(target.status, 'runSourceOperation'),
  otherwise: (target) =>
    isOfHost(target) && !target.is_pr
      ? atHost(target, 'Change it there: commits that are made here would be gone with the next fetch.')
      : environmentLife.otherwise(target.status, 'runSourceOperation'),
  body: closed({ operation: Name, variables: Type.Optional(GivenVariables) }),
  example: { operation: 'update', variables: { env: { FILE: 'notes.txt' } } },
  returns: updated(EnvironmentEntity),
  handle: ({ target, body, caller }, platform) => startSourceOperation(platform, target, body, caller),
});

const parametersMax = 100;
const parameterCharactersMax = 32 * 1024;

export const runOperation = operation({
  summary: 'Run an operation inside an app or a worker, with parameters as arguments of its script',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}/operations',
  on: DeploymentEntity,
  rel: '#operations',
  /** Whoever sees the environment may ask; the configuration says which role each operation needs. */
  permission: 'environment:view',
  allowedWhen: ({ id, environment_info }) => id === 'current' && environmentLife.possible(environment_info.status, 'runOperation'),
  otherwise: ({ id, environment_info }) =>
    id === 'current'
      ? environmentLife.otherwise(environment_info.status, 'runOperation')
      : 'Operations run in what is deployed: ask for it at deployments/current.',
  body: closed({
    service: Type.String({ minLength: 1, maxLength: nameCharactersMax, description: 'The app, or `<app>--<worker>`.' }),
    operation: Name,
    parameters: Type.Optional(
      Type.Array(Type.String({ maxLength: parameterCharactersMax }), {
        maxItems: parametersMax,
        description:
          'What the script of the operation finds as `$1`, `$2` and on, or all together as `"$@"`. Nothing in them is interpreted.',
      }),
    ),
  }),
  example: { service: 'app', operation: 'clear-cache', parameters: ['all'] },
  returns: updated(DeploymentEntity),
  handle: ({ target, body, caller }, platform) => startRuntimeOperation(platform, target, body, caller),
});
