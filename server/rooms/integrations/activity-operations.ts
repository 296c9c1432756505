/** Activities of an integration: what was sent, fetched or run for it. Those that are work of the platform are found through the project as well. */
import { array, created, one, operation, stream, updated } from '../../kernel/operation.ts';
import { ActivityQuery, cannotBeCancelled, LogQuery, logType } from '../activities/public.ts';
import {
  cancelIntegrationActivity,
  IntegrationActivityEntity,
  integrationActivityLog,
  listIntegrationActivities,
  repeatIntegrationActivity,
} from './integration-activity.ts';
import { IntegrationEntity } from './integration.ts';

export const listIntegrationsActivities = operation({
  summary: 'List the activities of an integration, the newest first',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/activities',
  on: IntegrationEntity,
  rel: '#activities',
  permission: 'integration:view',
  query: ActivityQuery,
  returns: array(IntegrationActivityEntity),
  handle: ({ target, query, caller }, platform) => listIntegrationActivities(platform, target, query, caller),
});

export const getIntegrationsActivity = operation({
  summary: 'Get an activity of an integration',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/activities/{activityId}',
  on: IntegrationActivityEntity,
  permission: 'activity:view',
  returns: one(IntegrationActivityEntity),
  handle: async ({ target }) => target,
});

export const cancelIntegrationsActivity = operation({
  summary: 'Cancel an activity of an integration',
  endpoint: 'POST /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/cancel',
  on: IntegrationActivityEntity,
  rel: '#cancel',
  permission: 'activity:cancel',
  allowedWhen: ({ isCancellable }) => isCancellable,
  otherwise: cannotBeCancelled,
  returns: updated(IntegrationActivityEntity),
  handle: ({ target }, platform) => cancelIntegrationActivity(platform, target),
});

export const redeliverIntegrationsActivity = operation({
  summary: 'Have an integration told once more: what was sent is sent again, a script is run again',
  endpoint: 'POST /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/redeliver',
  on: IntegrationActivityEntity,
  rel: '#redeliver',
  permission: 'integration:manage',
  allowedWhen: ({ isRepeatable }) => isRepeatable,
  otherwise: 'Only what has come to its end, and was sent or run for the integration, can be repeated.',
  returns: created(IntegrationActivityEntity),
  handle: ({ target }, platform) => repeatIntegrationActivity(platform, target),
});

export const streamIntegrationsActivityLog = operation({
  summary: 'Stream the log of an activity of an integration',
  endpoint: 'GET /projects/{projectId}/integrations/{integrationId}/activities/{activityId}/log',
  on: IntegrationActivityEntity,
  rel: 'log',
  permission: 'activity:view',
  query: LogQuery,
  returns: stream(logType),
  handle:
    async ({ target }, platform) =>
    (gone) =>
      integrationActivityLog(platform, target, gone),
});
