import { array, operation, stream } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { LogEntity, logsOfEnvironment } from './log.ts';
import { followed, LogQuery, told } from './tell-log.ts';

/** Not in the published API, where logs are read over SSH only. */
export const listLogs = operation({
  summary: "List the logs of an environment's apps and workers",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/logs',
  on: EnvironmentEntity,
  rel: '#logs',
  permission: 'log:view',
  returns: array(LogEntity),
  handle: async ({ target, caller }, { config }) =>
    (await logsOfEnvironment(config, target)).filter(({ entrance, scope }) => caller.can(entrance, scope)),
});

export const readLog = operation({
  summary: 'Read a log as plain text: its last lines, those of a time, or as it grows',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/logs/{app}/{name}',
  on: LogEntity,
  permission: 'log:view',
  allowedWhen: ({ entrance, scope }, caller) => caller.can(entrance, scope),
  otherwise: new Problem('forbidden', 'The configuration lets only admins into this app, and so to its logs.'),
  query: LogQuery,
  returns: stream('text/plain'),
  handle:
    async ({ target, query, caller }, platform) =>
    (gone) =>
      query.follow ? followed(target, query, caller, platform, gone) : told(target, query),
});
