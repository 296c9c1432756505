/**
 * What a type of integration does with a message. What it comes to is written down with the fact that it was told; where it goes, and by which credential, is looked up
 * as it is sent, so that whoever changes either need not wait for old messages to fail.
 */
import type { Request } from '../../../drivers/outbound/exchange.ts';
import { deliveryKind, type DeliveryKind, type Sending, type Sent } from '../../../kernel/delivery.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { recordDelivery, sendRequest } from '../../deliveries/public.ts';
import { integrationById, type Integration } from '../../integrations/public.ts';
import type { HealthMessage } from '../message.ts';

export interface Receiver {
  kind: DeliveryKind;
  /** Records what is sent for the message. */
  tell(tx: Tx, platform: Platform, integration: Integration, message: HealthMessage): Promise<void>;
}

interface Addressed<Content> {
  project_id: string;
  integration_id: string;
  content: Content;
}

/** Sends something on behalf of an integration, as that is by then. */
export const integrationDelivery = <Content>(
  kind: string,
  send: (platform: Platform, integration: Integration, content: Content, about: Sending) => Promise<Sent>,
): DeliveryKind<Addressed<Content>> =>
  deliveryKind({
    kind,
    send: async (platform, { project_id, integration_id, content }, about) => {
      const integration = await integrationById(platform, project_id, integration_id);
      return integration ? send(platform, integration, content, about) : { outcome: 'refused', trouble: 'The integration was deleted.' };
    },
  });

/** What one receiver of an integration is told comes in order; `to` names it where there are several, none of which is to wait for another. */
export const recordFor = <Content>(
  tx: Tx,
  { secrets }: Platform,
  { id, project_id, organization_id }: Integration,
  kind: DeliveryKind<Addressed<Content>>,
  content: Content,
  to?: string,
): Promise<string> =>
  recordDelivery(tx, secrets, kind, {
    payload: { project_id, integration_id: id, content },
    orderKey: to === undefined ? `integration ${id}` : `integration ${id} to ${to}`,
    party: organization_id,
    organizationId: organization_id,
    projectId: project_id,
    integrationId: id,
  });

interface Spoken<Content> {
  contentOf(message: HealthMessage, platform: Platform): Content;
  /** `id` is that of the delivery, the same for all attempts. */
  request(values: Integration['values'], content: Content, id: string): Promise<Request> | Request;
  /** Those of the values that stand in the body of the request. */
  secrets?(values: Integration['values']): readonly string[];
  /** What a reply means beyond its status. */
  understood?(sent: Sent): Sent;
}

/** A receiver that is told by one HTTP request. */
export function httpReceiver<Content>(name: string, { contentOf, request, secrets, understood = (sent) => sent }: Spoken<Content>) {
  const kind = integrationDelivery<Content>(name, async ({ outbound }, { values }, content, { id, signal }) =>
    understood(await sendRequest(outbound, { ...(await request(values, content, id)), signal }, secrets?.(values))),
  );
  return {
    kind,
    tell: async (tx, platform, integration, message) =>
      void (await recordFor(tx, platform, integration, kind, contentOf(message, platform))),
  } satisfies Receiver;
}
