import { one, operation, stream, updated } from '../../kernel/operation.ts';
import { ActivityEntity } from './activity.ts';
import { cannotBeCancelled, cancelActivity, isCancellable } from './cancel-activity.ts';
import { LogQuery, logLines, logType } from './log-lines.ts';

export const getProjectActivity = operation({
  summary: 'Get an activity',
  endpoint: 'GET /projects/{projectId}/activities/{activityId}',
  on: ActivityEntity,
  permission: 'activity:view',
  returns: one(ActivityEntity),
  handle: async ({ target }) => target,
});

export const cancelProjectActivity = operation({
  summary: 'Cancel an activity that waits or runs',
  endpoint: 'POST /projects/{projectId}/activities/{activityId}/cancel',
  on: ActivityEntity,
  rel: '#cancel',
  permission: 'activity:cancel',
  allowedWhen: isCancellable,
  otherwise: cannotBeCancelled,
  returns: updated(ActivityEntity),
  handle: ({ target }, { db }) => cancelActivity(db, target),
});

export const streamProjectActivityLog = operation({
  summary: "Stream an activity's log, from its beginning to its end",
  endpoint: 'GET /projects/{projectId}/activities/{activityId}/log',
  on: ActivityEntity,
  rel: 'log',
  permission: 'activity:view',
  query: LogQuery,
  returns: stream(logType),
  handle:
    async ({ target }, { logs }) =>
    (gone) =>
      logLines(logs, target.id, gone),
});
