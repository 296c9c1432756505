/**
 * What integrations are sent about activities, as deliveries (rooms/deliveries): recorded in the transaction in which they are told, sent in order for each integration,
 * and tried again while the receiver fails. Where it goes, and what it is signed with, is read as it is sent: who corrects an address gets what waits there, too.
 */
import { deliveryKind, type DeliveryKind, type Sending, type Sent } from '../../../kernel/delivery.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import type { ListedActivity } from '../../activities/public.ts';
import { recordDelivery, sendRequest } from '../../deliveries/public.ts';
import { opened, type Integration } from '../integration.ts';
import { integrationsOf } from '../queries.ts';
import type { Fastly } from '../cdn/fastly.ts';
import { purgeRequest } from '../cdn/fastly-purge.ts';
import { activityBody, webhookRequest, type DeliveryRequest, type Webhook } from './webhook-request.ts';

interface HookPayload {
  projectId: string;
  integrationId: string;
  /** The activity, as it is shown; empty where the receiver is told nothing of it. */
  body: string;
}

type RequestFor = (integration: Integration, body: string) => DeliveryRequest;

const hookDelivery = (kind: string, requestFor: RequestFor): DeliveryKind<HookPayload> =>
  deliveryKind({ kind, send: (platform, payload, about) => sendHook(platform, payload, about, requestFor) });

async function sendHook(
  platform: Platform,
  payload: HookPayload,
  { id, signal, readOnce }: Sending,
  requestFor: RequestFor,
): Promise<Sent> {
  const integration = await readOnce(() => integrationOf(platform, payload));
  if (!integration) return { outcome: 'refused', trouble: 'The integration is not there any more.' };
  const { headers, ...request } = requestFor(integration, payload.body);
  return sendRequest(platform.outbound, { ...request, headers: { ...headers, 'x-delivery-id': id }, signal });
}

async function integrationOf({ db, secrets }: Platform, { projectId, integrationId }: HookPayload): Promise<Integration | undefined> {
  const [row] = await integrationsOf(db, projectId, integrationId);
  return row && opened(secrets, row);
}

export const webhookDelivery = hookDelivery('webhook', ({ values }, body) => webhookRequest(values as unknown as Webhook, body));

/** `api` is another one in tests alone. */
export const fastlyDelivery = (api?: string) =>
  hookDelivery('fastly purge', ({ values }) => purgeRequest(values as unknown as Fastly, api));

/** Of all that an integration is sent, in the order in which it happened. */
export const laneOf = (integrationId: string) => `integration ${integrationId}`;

export const recordWebhook = (tx: Tx, platform: Platform, integration: Integration, activity: ListedActivity) =>
  record(tx, platform, webhookDelivery, integration, activity, activityBody(activity, platform.config.url));

export const recordPurge = (tx: Tx, platform: Platform, integration: Integration, activity: ListedActivity) =>
  record(tx, platform, fastlyDelivery(), integration, activity, '');

const record = (
  tx: Tx,
  { secrets }: Platform,
  kind: DeliveryKind<HookPayload>,
  { id: integrationId, project_id: projectId, organization_id: organizationId }: Integration,
  { id, type, state }: ListedActivity,
  body: string,
) =>
  recordDelivery(tx, secrets, kind, {
    payload: { projectId, integrationId, body },
    orderKey: laneOf(integrationId),
    party: organizationId,
    organizationId,
    projectId,
    integrationId,
    about: { activity: id, activity_type: type, activity_state: state },
  });
