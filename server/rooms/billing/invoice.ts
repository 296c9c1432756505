import { Type } from 'typebox';
import { midnight } from '../../kernel/days.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time, Ulid } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { OrganizationAddress, organizationAt } from '../organizations/public.ts';
import { apiDownloadUrl } from './download-token.ts';
import { invoiceById, type Invoice } from './invoices.ts';
import { DocumentId, PayerAddress, shownAddress } from './order.ts';
import { amountNumber } from './shown-money.ts';

const text = Type.String();

export type ShownInvoice = ReturnType<typeof shownInvoice>;

export const InvoiceEntity = entity({
  name: 'invoice',
  path: '/organizations/{organization_id}/invoices/{invoice_id}',
  params: { organization_id: OrganizationAddress, invoice_id: DocumentId },
  schema: Type.Object({
    id: text,
    invoice_number: text,
    type: Type.String({ enum: ['invoice', 'credit_memo'] }),
    order_id: text,
    related_invoice_id: nullable(text),
    status: Type.String({ enum: ['paid', 'charged_off', 'pending', 'refunded', 'canceled', 'refund_pending'] }),
    owner: { ...Ulid, description: 'The organization.' },
    invoice_date: nullable(Time),
    invoice_due: nullable(Time),
    created: Time,
    changed: Time,
    company: text,
    total: Type.Number(),
    currency: text,
    address: PayerAddress,
    notes: text,
    invoice_pdf: Type.Object({ url: text, status: Type.String({ enum: ['ready', 'pending'] }) }),
  }),
  address: ({ owner, id }: ShownInvoice) => ({ organization_id: owner, invoice_id: id }),
  scope: ({ owner }) => ({ organization: owner }),
  view: 'billing:view',
  links: ({ owner, order_id }) => ({ order: { href: `/organizations/${owner}/orders/${order_id}` } }),
  load: async ({ organization_id, invoice_id }, platform) => {
    const organization = await organizationAt(platform.db, organization_id);
    const invoice = organization && (await invoiceById(platform.db, invoice_id));
    return invoice && invoice.organization_id === organization.id ? shownInvoice(invoice, platform) : undefined;
  },
});

export const shownInvoice = (invoice: Invoice, platform: Pick<Platform, 'config' | 'secrets'>) => ({
  id: invoice.id,
  invoice_number: invoice.invoice_number,
  type: invoice.type,
  order_id: invoice.order_id,
  related_invoice_id: invoice.related_invoice_id,
  status: invoice.status,
  owner: invoice.organization_id,
  invoice_date: midnight(invoice.issued_on),
  invoice_due: invoice.due_on === null ? null : midnight(invoice.due_on),
  created: invoice.created_at,
  changed: invoice.updated_at,
  company: invoice.document.payer.company,
  total: amountNumber(BigInt(invoice.total), invoice.currency),
  currency: invoice.currency,
  address: shownAddress(invoice.document.payer),
  notes: invoice.notes,
  invoice_pdf: { url: apiDownloadUrl(platform, invoice.id), status: 'ready' },
});
