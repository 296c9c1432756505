/** Issues invoices and credit memos. The number is counted in the transaction that issues, so none is ever left out or given twice. */
import { sql } from 'kysely';
import { dayAt } from '../../kernel/days.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { decimal, dividedBy, formatted, one } from '../prices/public.ts';
import { groupsOf, sellerOf, writtenTotals, type InvoiceDocument } from './invoice-document.ts';
import { invoiceById, lockInvoice, type Invoice } from './invoices.ts';
import type { OrderRow } from './orders.ts';
import { tellOfInvoice, type Teller } from './tell-of-invoice.ts';
import type { WorkedOut } from './work-out.ts';

const numberDigits = 6;

async function nextNumber(tx: Tx, prefix: string): Promise<{ number: number; invoice_number: string }> {
  const { rows } = await sql<{ last: number }>`update invoice_numbers set last = last + 1 returning last`.execute(tx);
  const number = rows[0]?.last ?? 0;
  return { number, invoice_number: `${prefix}${String(number).padStart(numberDigits, '0')}` };
}

interface Issued {
  prepaid: bigint;
  isPaid: boolean;
  issuedOn: string;
  dueOn: string;
}

export async function insertInvoice(
  tx: Tx,
  { id, organization_id, month }: OrderRow,
  result: WorkedOut,
  { prepaid, isPaid, issuedOn, dueOn }: Issued,
): Promise<Invoice> {
  const { number, invoice_number } = await nextNumber(tx, result.seller.invoice_prefix ?? '');
  const due_on = isPaid ? null : dueOn;
  const document: InvoiceDocument = {
    type: 'invoice',
    number: invoice_number,
    corrects: null,
    month,
    issued_on: issuedOn,
    due_on,
    currency: result.currency,
    seller: sellerOf(result.seller),
    payer: result.payer,
    groups: groupsOf(result.lines),
    totals: writtenTotals(result.totals, prepaid),
    vat_percent: result.vatPercent,
    is_reverse_charged: result.isReverseCharged,
    notes: '',
  };
  return insert(tx, { number, document, organization_id, order_id: id, status: isPaid ? 'paid' : 'pending', relatedId: null });
}

interface NewInvoice {
  number: number;
  document: InvoiceDocument;
  organization_id: string;
  order_id: string;
  status: string;
  relatedId: string | null;
}

async function insert(tx: Tx, { number, document, organization_id, order_id, status, relatedId }: NewInvoice): Promise<Invoice> {
  const { rows } = await sql<{ id: string }>`
    insert into invoices (number, invoice_number, type, order_id, related_invoice_id, organization_id, status, currency, total, issued_on, due_on,
      notes, document)
    values (${number}, ${document.number}, ${document.type}, ${order_id}::bigint, ${relatedId}::bigint, ${organization_id}, ${status},
      ${document.currency}, ${document.totals.total}::bigint, ${document.issued_on}::date, ${document.due_on}::date, ${document.notes},
      ${JSON.stringify(document)}::jsonb) returning id::text`.execute(tx);
  const issued = await invoiceById(tx, rows[0]?.id ?? '0');
  if (!issued) throw new Error('The invoice was not stored');
  return issued;
}

/** What was asked too much is given back, by a credit memo; the invoice and its order stay as they are. The amount has tax in it. */
export const correctInvoice = (
  platform: Teller & { db: Db },
  invoiceNumber: string,
  amount: bigint,
  reason: string,
  now: number,
): Promise<Invoice> =>
  platform.db.transaction().execute(async (tx) => {
    const invoice = await lockInvoice(tx, invoiceNumber);
    if (invoice?.type !== 'invoice') throw noInvoice(invoiceNumber);
    const left = BigInt(invoice.total) - (await creditedOf(tx, invoice.id));
    if (amount > left)
      throw new Problem('invalid-request', `No more than ${formatted(left, invoice.currency)} of ${invoiceNumber} can be given back.`);
    const isOwed = invoice.status === 'pending' || invoice.status === 'charged_off';
    const outstanding = BigInt(invoice.outstanding);
    if (isOwed && outstanding > 0n && amount > outstanding) {
      const [owed, paid] = [formatted(outstanding, invoice.currency), formatted(amount - outstanding, invoice.currency)];
      throw new Problem(
        'invalid-request',
        `Only ${owed} of ${invoiceNumber} are still to be paid, the rest was prepaid; make two credit memos: one over ${owed}, then one over ${paid}.`,
      );
    }
    const { number, invoice_number } = await nextNumber(tx, prefixOf(invoiceNumber));
    const document = memoOf(invoice, invoice_number, amount, reason, dayAt(now));
    const status = isOwed && outstanding >= amount ? 'paid' : 'refund_pending';
    const { organization_id, order_id } = invoice;
    const memo = await insert(tx, { number, document, organization_id, order_id, status, relatedId: invoice.id });
    if (isOwed && outstanding === amount) await cancel(tx, invoice, amount === BigInt(invoice.total));
    await tellOfInvoice(tx, platform, memo, 'issued');
    return memo;
  });

const prefixOf = (invoiceNumber: string) => invoiceNumber.replace(/\d+$/, '');

export const noInvoice = (invoiceNumber: string) =>
  new Problem('not-found', `There is no invoice ${invoiceNumber}; ./offshoot invoice list names those that are open.`);

async function creditedOf(tx: Tx, invoiceId: string): Promise<bigint> {
  const { rows } = await sql<{ credited: string }>`
    select coalesce(-sum(total), 0)::text as credited from invoices where related_invoice_id = ${invoiceId}::bigint`.execute(tx);
  return BigInt(rows[0]?.credited ?? '0');
}

/** Nothing is owed any more: because nothing ever was, or because what was left was given back. */
async function cancel(tx: Tx, invoice: Invoice, isWhole: boolean): Promise<void> {
  await sql`update invoices set status = ${isWhole ? 'canceled' : 'paid'}, updated_at = now() where id = ${invoice.id}::bigint`.execute(tx);
  await sql`update orders set status = ${isWhole ? 'canceled' : 'completed'} where id = ${invoice.order_id}::bigint`.execute(tx);
}

function memoOf({ document, invoice_number }: Invoice, number: string, gross: bigint, reason: string, today: string): InvoiceDocument {
  const percent = decimal(document.vat_percent);
  const vat = dividedBy(gross * percent, 100n * one + percent);
  const net = gross - vat;
  return {
    ...document,
    type: 'credit_memo',
    number,
    corrects: invoice_number,
    issued_on: today,
    due_on: null,
    groups: [{ title: 'Correction', lines: [{ product: reason, quantity: '', amount: String(-net) }], amount: String(-net) }],
    totals: { baseprice: String(-net), discount: '0', voucher: '0', vat: String(-vat), total: String(-gross), prepaid: '0' },
    notes: reason,
  };
}
