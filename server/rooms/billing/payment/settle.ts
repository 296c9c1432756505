/** What becomes of an invoice once it is issued: it is paid, refunded, or not. The amounts stay as they are. */
import { sql } from 'kysely';
import { dayAt } from '../../../kernel/days.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Reconciler } from '../../../kernel/reconciler.ts';
import type { Db, Tx } from '../../../kernel/sql.ts';
import { noInvoice } from '../issue-invoice.ts';
import { invoiceById, lockInvoice, type Invoice } from '../invoices.ts';
import { tellOfInvoice, type Teller } from '../tell-of-invoice.ts';

/** Of a credit memo: what it gives back has been given back. What is paid already stays so. */
export const markPaid = (db: Db, invoiceNumber: string): Promise<Invoice> =>
  db.transaction().execute(async (tx) => {
    const invoice = await lockInvoice(tx, invoiceNumber);
    if (!invoice) throw noInvoice(invoiceNumber);
    await settlePaid(tx, invoice);
    return invoice;
  });

/** Answers whether it was not paid before. */
export async function settlePaid(tx: Tx, { id, type, status, order_id, invoice_number }: Invoice): Promise<boolean> {
  if (status === 'canceled')
    throw new Problem(
      'conflict',
      `${invoice_number} is canceled, so nothing has to be paid; what was paid all the same has to be given back.`,
    );
  if (status === 'paid' || status === 'refunded') return false;
  await sql`update invoices set status = ${type === 'invoice' ? 'paid' : 'refunded'}, updated_at = now() where id = ${id}::bigint`.execute(
    tx,
  );
  if (type === 'invoice')
    await sql`update orders set status = 'completed', paid_on = now(), authorization_url = '' where id = ${order_id}::bigint`.execute(tx);
  return true;
}

/** Answers whether that was not known before. What is past due stays so until it is paid, unless it cannot be; and what was declined for good stays declined. */
export async function settleFailed(tx: Tx, { order_id }: Invoice, isForGood: boolean): Promise<boolean> {
  const status = isForGood ? 'payment_failed_hard_decline' : 'payment_failed_soft_decline';
  const final = isForGood
    ? ['completed', 'canceled', status]
    : ['completed', 'canceled', 'past_due', 'payment_failed_hard_decline', status];
  const { rows } = await sql`
    update orders set status = ${status}, authorization_url = '' where id = ${order_id}::bigint and not (status = any(${final}::text[])) returning id`.execute(
    tx,
  );
  return rows.length > 0;
}

export const askForAuthorization = (tx: Tx, { order_id }: Invoice, url: string) =>
  sql`update orders set authorization_url = ${url} where id = ${order_id}::bigint and status not in ('completed', 'canceled')`.execute(tx);

export const keepTermsWatched: Reconciler = {
  name: 'watch terms of payment',
  everySeconds: 3600,
  run: (platform) => markPastDue(platform, Date.now()),
};

/** Orders whose term is over are past due, and those who pay are reminded, once. */
export async function markPastDue(platform: Teller & { db: Db }, now: number): Promise<void> {
  const { db } = platform;
  const { rows } = await sql<{ id: string }>`
    select id::text from orders where closed_at is not null and status in ('pending', 'payment_failed_soft_decline') and due_on < ${dayAt(now)}::date
    order by id`.execute(db);
  for (const { id } of rows)
    await db.transaction().execute(async (tx) => {
      const { rows: due } = await sql<{ invoice_id: string | null }>`
        update orders set status = 'past_due' where id = ${id}::bigint and status in ('pending', 'payment_failed_soft_decline')
        returning (select invoices.id::text from invoices where order_id = orders.id and type = 'invoice') as invoice_id`.execute(tx);
      const invoice = due[0]?.invoice_id ? await invoiceById(tx, due[0].invoice_id) : undefined;
      if (invoice) await tellOfInvoice(tx, platform, invoice, 'past due');
    });
}
