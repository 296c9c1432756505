import { Type } from 'typebox';
import { array, one, operation, updated } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { GivenVariables } from '../variables/public.ts';
import { startTask } from './start-task.ts';
import { TaskEntity, tasksOf } from './task.ts';
import { environmentLife } from '../environments/life-cycle.ts';

export const listEnvironmentTasks = operation({
  summary: "List an environment's tasks, as they are deployed",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/tasks',
  on: EnvironmentEntity,
  rel: '#tasks',
  permission: 'environment:view',
  returns: array(TaskEntity),
  handle: ({ target }, platform) => tasksOf(platform, target),
});

export const getTask = operation({
  summary: 'Get a task of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/tasks/{taskId}',
  on: TaskEntity,
  permission: 'environment:view',
  returns: one(TaskEntity),
  handle: async ({ target }) => target,
});

export const runTask = operation({
  summary: 'Run a task, in a container of its own, to its end',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/tasks/{taskId}/run',
  on: TaskEntity,
  rel: '#run',
  permission: 'task:run',
  allowedWhen: ({ environment }) => environmentLife.possible(environment.status, 'runTask'),
  otherwise: ({ environment }) => environmentLife.otherwise(environment.status, 'runTask'),
  body: closed({ variables: Type.Optional(GivenVariables) }),
  example: { variables: { env: { DRY_RUN: '1' } } },
  returns: updated(TaskEntity),
  handle: ({ target, body, caller }, platform) => startTask(platform, target, body, caller),
});
