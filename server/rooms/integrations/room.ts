/** Connections of projects with services outside. */
import type { Room } from '../../kernel/room.ts';
import { fastlyDelivery, webhookDelivery } from './activity-hooks/hook-delivery.ts';
import { tellIntegrations } from './activity-hooks/tell-integrations.ts';
import * as activityOperations from './activity-operations.ts';
import { certificateDelivery, putCertificatesOnCdns } from './cdn/put-certificates-on-cdns.ts';
import { fetchActivities } from './code-hosts/fetch-activities.ts';
import * as pullRequestOperations from './code-hosts/pull-request-operations.ts';
import { keepWebhooks, registerWebhook, removeWebhook } from './code-hosts/register-webhook.ts';
import { reportEnvironment, reportToCodeHosts } from './code-hosts/report-environments.ts';
import { rotateToken, rotateTokens } from './code-hosts/rotate-tokens.ts';
import { syncCodeHosts } from './code-hosts/sync-code-hosts.ts';
import { forgetIntegrations } from './forget-integrations.ts';
import { countForwardedLogs } from './log-forwarding/count-forwarded-logs.ts';
import { forwardLogs } from './log-forwarding/forward-logs.ts';
import { scriptActivity } from './scripts/script-activity.ts';
import * as operations from './operations.ts';
import * as variableOperations from './variable-operations.ts';

export const integrations: Room = {
  name: 'Integrations',
  about:
    'Connections of a project with services outside: where its code is hosted, who hears of its activities and its health, and where its logs go.',
  operations: { ...operations, ...activityOperations, ...variableOperations, ...pullRequestOperations },
  activities: { scriptActivity, ...fetchActivities },
  deliveries: [webhookDelivery, fastlyDelivery(), certificateDelivery(), registerWebhook, removeWebhook, reportEnvironment, rotateToken],
  reconcilers: [
    tellIntegrations,
    rotateTokens,
    forgetIntegrations,
    keepWebhooks,
    forwardLogs,
    countForwardedLogs,
    syncCodeHosts,
    reportToCodeHosts,
    putCertificatesOnCdns,
  ],
};
