import { Type } from 'typebox';
import { one, operation, page, plain, stream } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { invoiceOfToken } from '../download-token.ts';
import { invoicePdf } from '../invoice-pdf.ts';
import { InvoiceEntity, shownInvoice } from '../invoice.ts';
import { invoiceById, invoicesPage } from '../invoices.ts';
import { receivePayment } from '../payment/receive-payment.ts';

export const listOrgInvoices = operation({
  summary: 'List the invoices and credit memos of an organization',
  endpoint: 'GET /organizations/{organization_id}/invoices',
  on: OrganizationEntity,
  rel: 'invoices',
  deprecated: true,
  permission: 'billing:view',
  returns: page(InvoiceEntity, { sort: ['created'], filter: { status: 'string', type: 'string', order_id: 'string' } }),
  handle: async ({ target, list }, platform) => {
    const found = await invoicesPage(platform.db, target.id, list);
    return { ...found, rows: found.rows.map((row) => shownInvoice(row, platform)) };
  },
});

export const getOrgInvoice = operation({
  summary: 'Show an invoice or a credit memo',
  endpoint: 'GET /organizations/{organization_id}/invoices/{invoice_id}',
  on: InvoiceEntity,
  deprecated: true,
  permission: 'billing:view',
  returns: one(InvoiceEntity),
  handle: async ({ target }) => target,
});

const tokenCharactersMax = 1000;

/** Whoever has the link may read it, as with a letter; the link is for one document, and for a while. */
export const downloadInvoice = operation({
  summary: 'Download an invoice or a credit memo',
  endpoint: 'GET /orders/download',
  permission: 'public',
  query: Type.Object({ token: Type.String({ maxLength: tokenCharactersMax }) }),
  returns: stream('application/pdf'),
  handle: async ({ query: { token } }, { db, secrets }) => {
    const id = invoiceOfToken(secrets, token);
    const invoice = id === undefined ? undefined : await invoiceById(db, id);
    if (!invoice)
      throw new Problem('invalid-request', 'The link is wrong or too old; the API has a new one with the invoice.', {
        fields: { token: 'is wrong or too old' },
      });
    const pdf = await invoicePdf(invoice.document);
    return async function* () {
      yield pdf;
    };
  },
});

/** Called by a payment provider, which has no token: it signs what it sends (payment/receive-payment.ts). */
export const hearPayment = operation({
  summary: 'Tell what became of the payment of an invoice; for payment providers',
  endpoint: 'POST /payments/events',
  permission: 'public',
  takesArrival: true,
  returns: plain(Type.Object({ status: Type.String() })),
  handle: async ({ arrival }, platform) => {
    if (!arrival) throw new Error('The request did not arrive');
    await receivePayment(platform, arrival);
    return { status: 'heard' };
  },
});
