/**
 * How invoices are paid. A driver is told of each invoice and credit memo in the transaction that issues it. `manual`: the operator marks what has arrived. `webhook`: a
 * payment provider of one's own is told by a signed request, and tells in the same way what became of it (receive-payment.ts).
 */
import { deliveryKind } from '../../../kernel/delivery.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { recordDelivery, sendRequest } from '../../deliveries/public.ts';
import { webhookRequest } from '../../integrations/public.ts';
import { amountText } from '../../prices/public.ts';
import type { Invoice } from '../invoices.ts';

export interface PaymentDriver {
  name: 'manual' | 'webhook';
  /** Whether a payment may have to be confirmed by who pays. */
  canAskForAuthorization: boolean;
  onIssued(tx: Tx, platform: Pick<Platform, 'config' | 'secrets'>, invoice: Invoice): Promise<void>;
}

const manual: PaymentDriver = { name: 'manual', canAskForAuthorization: false, onIssued: async () => {} };

const webhook: PaymentDriver = {
  name: 'webhook',
  canAskForAuthorization: true,
  onIssued: async (tx, { secrets, config }, invoice) => {
    await recordDelivery(tx, secrets, paymentDelivery, {
      payload: JSON.stringify(newsOf(invoice, config.url)),
      // What is about the same organization arrives in order.
      orderKey: `payment of ${invoice.organization_id}`,
      party: 'payment',
      about: { invoice: invoice.invoice_number },
    });
  },
};

export const paymentDriver = ({ payment }: Pick<Platform['config'], 'payment'>): PaymentDriver => (payment.webhook ? webhook : manual);

const newsOf = ({ document: { payer, month }, ...invoice }: Invoice, url: string) => ({
  event: `${invoice.type}.issued`,
  invoice: {
    invoice_number: invoice.invoice_number,
    type: invoice.type,
    status: invoice.status,
    order_id: invoice.order_id,
    organization_id: invoice.organization_id,
    currency: invoice.currency,
    total: amountText(BigInt(invoice.total), invoice.currency),
    outstanding: amountText(BigInt(invoice.outstanding), invoice.currency),
    issued_on: invoice.issued_on,
    due_on: invoice.due_on,
    month,
    payer,
  },
  answer_to: `${url}/payments/events`,
});

/** Where it goes, and by which key it is signed, is what is set as it is sent. */
export const paymentDelivery = deliveryKind<string>({
  kind: 'payment.webhook',
  send: async ({ config, outbound }, body, { id, signal }) => {
    if (!config.payment.webhook) return { outcome: 'refused', trouble: 'No payment provider is set any more.' };
    const { headers, ...request } = webhookRequest(config.payment.webhook, body);
    return sendRequest(outbound, { ...request, headers: { ...headers, 'x-delivery-id': id }, signal });
  },
});
