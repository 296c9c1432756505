import { array, one, operation, stream, updated, type Params } from '../../../kernel/operation.ts';
import type { Platform } from '../../../platform.ts';
import {
  ActivityEntity,
  ActivityQuery,
  cancelActivity,
  cannotBeCancelled,
  isCancellable,
  listActivities,
  logLines,
  LogQuery,
  logType,
  type ListedActivity,
} from '../../activities/public.ts';
import { EnvironmentEntity } from '../environment.ts';

export const listEnvironmentsActivities = operation({
  summary: "List an environment's activities, newest first",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/activities',
  on: EnvironmentEntity,
  rel: '#activities',
  permission: 'environment:view',
  query: ActivityQuery,
  returns: array(ActivityEntity),
  handle: ({ target: { project_id, organization_id, id }, query, caller }, { db }) =>
    listActivities(db, { id: project_id, organization_id, environment: id }, query, caller),
});

/** Finds an activity through one of its environments; through any other environment it is not found. */
async function findThroughEnvironment(
  { projectId, environmentId, activityId }: Params<'/projects/{projectId}/environments/{environmentId}/activities/{activityId}'>,
  platform: Platform,
): Promise<ListedActivity | undefined> {
  const found = await ActivityEntity.load({ projectId, activityId }, platform);
  return found?.environments.includes(environmentId) ? found : undefined;
}

export const getEnvironmentsActivity = operation({
  summary: 'Get an activity of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/activities/{activityId}',
  on: ActivityEntity,
  find: (params, _caller, platform) => findThroughEnvironment(params, platform),
  permission: 'activity:view',
  returns: one(ActivityEntity),
  handle: async ({ target }) => target,
});

export const cancelEnvironmentsActivity = operation({
  summary: 'Cancel an activity of an environment',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/activities/{activityId}/cancel',
  on: ActivityEntity,
  find: (params, _caller, platform) => findThroughEnvironment(params, platform),
  permission: 'activity:cancel',
  allowedWhen: isCancellable,
  otherwise: cannotBeCancelled,
  returns: updated(ActivityEntity),
  handle: ({ target }, { db }) => cancelActivity(db, target),
});

export const streamEnvironmentsActivityLog = operation({
  summary: 'Stream the log of an activity of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/activities/{activityId}/log',
  on: ActivityEntity,
  find: (params, _caller, platform) => findThroughEnvironment(params, platform),
  permission: 'activity:view',
  query: LogQuery,
  returns: stream(logType),
  handle:
    async ({ target }, { logs }) =>
    (gone) =>
      logLines(logs, target.id, gone),
});
