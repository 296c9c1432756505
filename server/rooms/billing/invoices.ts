/** Invoices and credit memos, as they are kept. */
import { sql } from 'kysely';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Currency } from '../prices/public.ts';
import { readDocument, type InvoiceDocument } from './invoice-document.ts';

export interface Invoice {
  id: string;
  invoice_number: string;
  type: 'invoice' | 'credit_memo';
  order_id: string;
  related_invoice_id: string | null;
  organization_id: string;
  status: string;
  currency: Currency;
  total: string;
  issued_on: string;
  due_on: string | null;
  notes: string;
  document: InvoiceDocument;
  created_at: string;
  updated_at: string;
  /** What is still to be paid of an invoice: without what was prepaid or credited. */
  outstanding: string;
}

const columns = sql`
  invoices.id::text, invoice_number, invoices.type, order_id::text, related_invoice_id::text, invoices.organization_id, invoices.status,
  invoices.currency, invoices.total::text, issued_on, invoices.due_on, notes, document, created_at, updated_at,
  case when invoices.type = 'invoice' and invoices.status in ('pending', 'charged_off') then
    invoices.total - (select prepaid from orders where orders.id = order_id)
    + coalesce((select sum(memos.total) from invoices as memos where memos.related_invoice_id = invoices.id), 0) else 0 end::text as outstanding`;

const read = (row: Invoice): Invoice => ({ ...row, document: readDocument(row.document) });

const found = (rows: readonly Invoice[]): Invoice | undefined => rows[0] && read(rows[0]);

export async function invoiceById(db: Db | Tx, id: string): Promise<Invoice | undefined> {
  const { rows } = await sql<Invoice>`select ${columns} from invoices where id = ${id}::bigint`.execute(db);
  return found(rows);
}

export async function invoiceByNumber(db: Db | Tx, invoiceNumber: string): Promise<Invoice | undefined> {
  const { rows } = await sql<Invoice>`select ${columns} from invoices where invoice_number = ${invoiceNumber}`.execute(db);
  return found(rows);
}

/** As nobody else changes it until the transaction ends. */
export async function lockInvoice(tx: Tx, invoiceNumber: string): Promise<Invoice | undefined> {
  await sql`select from orders where id = (select order_id from invoices where invoice_number = ${invoiceNumber}) for update`.execute(tx);
  return invoiceByNumber(tx, invoiceNumber);
}

export async function invoicesPage(db: Db, organizationId: string, list: ListRequest): Promise<Page<Invoice>> {
  const listed = db
    .selectFrom(
      sql<Invoice>`(select ${columns}, created_at as created from invoices where invoices.organization_id = ${organizationId})`.as(
        'invoices',
      ),
    )
    .selectAll();
  const page = await paged(listed, list, 'id');
  return { ...page, rows: page.rows.map(read) };
}

/** What the operator looks at: those that somebody has to pay, or all. */
export async function allInvoices(db: Db, isAll: boolean): Promise<Invoice[]> {
  const { rows } = await sql<Invoice>`
    select ${columns} from invoices where ${isAll} or invoices.status in ('pending', 'refund_pending') order by number`.execute(db);
  return rows.map(read);
}
