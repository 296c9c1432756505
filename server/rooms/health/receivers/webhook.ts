/** `health.webhook`: the message as JSON, signed like activities are where there is a shared key. */
import { webhookRequest, type Webhook } from '../../integrations/public.ts';
import type { HealthMessage } from '../message.ts';
import { httpReceiver } from './receiver.ts';

export const webhook = httpReceiver<HealthMessage>('integration.health.webhook', {
  contentOf: (message) => message,
  request: async (values, message, id) => {
    const { headers, ...request } = webhookRequest(values as unknown as Webhook, JSON.stringify(message));
    return { ...request, headers: { ...headers, 'x-delivery-id': id } };
  },
});
