import { array, one, operation, updated } from '../../kernel/operation.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { CronEntity, cronsOf } from './cron.ts';
import { mayRunNow, notNow, runNow } from './run-now.ts';

export const listCrons = operation({
  summary: 'List the crons of an environment, as they are deployed, with their next and last runs',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/crons',
  on: EnvironmentEntity,
  rel: '#crons',
  permission: 'environment:view',
  returns: array(CronEntity),
  handle: ({ target }, { db, secrets }) => cronsOf(db, secrets, target),
});

export const getCron = operation({
  summary: 'Get a cron of an environment, with its next and last runs',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/crons/{app}/{name}',
  on: CronEntity,
  permission: 'environment:view',
  returns: one(CronEntity),
  handle: async ({ target }) => target,
});

export const runCronNow = operation({
  summary: 'Run a cron now, beside its times',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/crons/{app}/{name}/run',
  on: CronEntity,
  rel: '#run',
  permission: 'task:run',
  allowedWhen: mayRunNow,
  otherwise: notNow,
  returns: updated(CronEntity),
  handle: ({ target, caller }, platform) => runNow(platform, target, caller),
});
