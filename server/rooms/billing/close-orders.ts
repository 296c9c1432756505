/**
 * Closes the orders of months that are over, each exactly once. A month is begun in one transaction, after which its prices cannot change and everybody has an order; then
 * each order is closed in a transaction of its own, with its invoice, its number, what it takes of vouchers and prepayments, and the mails about it. So a kill at any
 * moment leaves every order either open or closed as a whole, and the next look goes on with those that are open. An order that cannot be closed keeps back only the later
 * ones of its organization.
 */
import { sql } from 'kysely';
import { daysAfter, dayAt, startOf } from '../../kernel/days.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { closedUntil } from '../metering/public.ts';
import { priceLists } from '../prices/public.ts';
import { insertInvoice } from './issue-invoice.ts';
import { endOfMonth, monthAt, monthsBetween, type Month } from './month.ts';
import { oneByOne } from './one-by-one.ts';
import { ensureOrders, lockOrder, openOrders, storedLines, type OrderRow } from './orders.ts';
import { storedPayer } from './payer.ts';
import { takePrepaid } from './prepayment.ts';
import { tellOfInvoice } from './tell-of-invoice.ts';
import { lockVouchers, noteUses } from './vouchers.ts';
import { workOut, type WorkedOut } from './work-out.ts';

export type Closer = Pick<Platform, 'db' | 'config' | 'secrets'>;

export const keepMonthsClosed: Reconciler = {
  name: 'close orders',
  everySeconds: 600,
  run: (platform, signal) => closeMonths(platform, Date.now(), signal),
};

export async function closeMonths(platform: Closer, now: number, signal?: AbortSignal): Promise<void> {
  const { db } = platform;
  const orders = oneByOne();
  for (const month of await monthsToClose(db, now)) {
    if (signal?.aborted) break;
    await beginClosing(db, month);
    for (const { id, organization_id } of await openOrders(db, month)) {
      if (signal?.aborted) break;
      await orders.attempt(organization_id, () => db.transaction().execute((tx) => closeOrder(tx, platform, id, now)));
    }
  }
  orders.rethrow();
}

/** Months that are over and whose hours do not change any more: those that were begun and not finished, and those that come after. */
async function monthsToClose(db: Db, now: number): Promise<Month[]> {
  const [first] = await priceLists(db);
  if (!first) return [];
  const metered = (await closedUntil(db))?.getTime() ?? now;
  const { rows } = await sql<{ billed_until: string; oldest_open: string | null }>`
    select billed_until, (select min(month) from orders where closed_at is null) as oldest_open from billing`.execute(db);
  const { billed_until = '', oldest_open = null } = rows[0] ?? {};
  const next = [monthAt(startOf(billed_until)), monthAt(startOf(first.effective_from))].toSorted().at(-1) ?? '';
  const from = oldest_open !== null && oldest_open < next ? oldest_open : next;
  return monthsBetween(from, monthAt(Math.min(now, metered)));
}

/** Whoever sets a price list at this moment waits, and is then told that the month is billed. */
const beginClosing = (db: Db, month: Month) =>
  db.transaction().execute(async (tx) => {
    const end = endOfMonth(month);
    await sql`update billing set billed_until = greatest(billed_until, ${end}::date)`.execute(tx);
    await ensureOrders(tx, month, end);
  });

const paymentDaysUsual = 14;

async function closeOrder(tx: Tx, platform: Closer, id: string, now: number): Promise<void> {
  const order = await lockOrder(tx, id);
  if (!order || order.closed_at !== null) return;
  await lockVouchers(tx, order.organization_id);
  const asked = { id, organizationId: order.organization_id, month: order.month, payer: storedPayer(order.payer) };
  const result = await workOut(tx, platform.config, asked, startOf(endOfMonth(order.month)));
  await noteUses(tx, id, result.uses);
  const prepaid = await takePrepaid(tx, order.organization_id, id, result.currency, result.totals.total, order.month);
  const isPaid = prepaid === result.totals.total;
  const issuedOn = dayAt(now);
  const dueOn = daysAfter(issuedOn, Number(result.seller.payment_days ?? paymentDaysUsual));
  await writeClosed(tx, order, result, { prepaid, isPaid, now, dueOn });
  if (result.lines.length === 0) return;
  const invoice = await insertInvoice(tx, order, result, { prepaid, isPaid, issuedOn, dueOn });
  await tellOfInvoice(tx, platform, invoice, 'issued');
}

interface Closing {
  prepaid: bigint;
  isPaid: boolean;
  now: number;
  dueOn: string;
}

const writeClosed = (
  tx: Tx,
  { id }: OrderRow,
  { currency, lines, totals, vatPercent, payer }: WorkedOut,
  { prepaid, isPaid, now, dueOn }: Closing,
) => {
  const moment = sql`to_timestamp(${now / 1000}::double precision)`;
  return sql`
    update orders set currency = ${currency}, lines = ${JSON.stringify(storedLines(lines))}::jsonb, baseprice = ${String(totals.baseprice)}::bigint,
      discount = ${String(totals.discount)}::bigint, voucher = ${String(totals.voucher)}::bigint, vat = ${String(totals.vat)}::bigint,
      vat_percent = ${vatPercent}, total = ${String(totals.total)}::bigint, payer = ${JSON.stringify(payer)}::jsonb,
      prepaid = ${String(prepaid)}::bigint, status = ${isPaid ? 'completed' : 'pending'}, refreshed_at = ${moment}, closed_at = ${moment},
      paid_on = ${isPaid ? moment : sql`null`}, due_on = ${isPaid ? null : dueOn}::date where id = ${id}::bigint`.execute(tx);
};
