/** Keeps open orders up to date, once a day, so that everybody sees what the month has come to so far. */
import { sql } from 'kysely';
import { dayAt, startOf } from '../../kernel/days.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { priceLists } from '../prices/public.ts';
import { noteUsers } from './facts.ts';
import { endOfMonth, monthAt } from './month.ts';
import { oneByOne } from './one-by-one.ts';
import { ensureOrders, lockOrder, openOrderOf, openOrders, storedLines } from './orders.ts';
import { storedPayer } from './payer.ts';
import { lockVouchers, noteUses } from './vouchers.ts';
import { workOut } from './work-out.ts';

export type Biller = Pick<Platform, 'db' | 'config'>;

export const keepOrdersRefreshed: Reconciler = {
  name: 'refresh orders',
  everySeconds: 900,
  run: (platform, signal) => refreshOrders(platform, Date.now(), signal),
};

/** Where there is no price list nothing is ordered; how many users there were is noted all the same. */
export async function refreshOrders(platform: Biller, now: number, signal?: AbortSignal): Promise<void> {
  const { db } = platform;
  const [today, month] = [dayAt(now), monthAt(now)];
  await noteUsers(db, today);
  if ((await priceLists(db)).length === 0) return;
  await ensureOrders(db, month, endOfMonth(month));
  const orders = oneByOne();
  for (const { id, organization_id } of await openOrders(db, month, new Date(startOf(today)).toISOString())) {
    if (signal?.aborted) break;
    await orders.attempt(organization_id, () => db.transaction().execute((tx) => refreshOrder(tx, platform, id, now)));
  }
  orders.rethrow();
}

/** Of an order that was closed meanwhile, nothing changes. */
export async function refreshOrder(tx: Tx, { config }: Pick<Biller, 'config'>, id: string, now: number): Promise<void> {
  const order = await lockOrder(tx, id);
  if (!order || order.closed_at !== null) return;
  await lockVouchers(tx, order.organization_id);
  const asked = { id, organizationId: order.organization_id, month: order.month, payer: storedPayer(order.payer) };
  const { currency, lines, totals, vatPercent, payer, uses } = await workOut(tx, config, asked, now);
  await noteUses(tx, id, uses);
  await sql`
    update orders set currency = ${currency}, lines = ${JSON.stringify(storedLines(lines))}::jsonb, baseprice = ${String(totals.baseprice)}::bigint,
      discount = ${String(totals.discount)}::bigint, voucher = ${String(totals.voucher)}::bigint, vat = ${String(totals.vat)}::bigint,
      vat_percent = ${vatPercent}, total = ${String(totals.total)}::bigint, payer = ${JSON.stringify(payer)}::jsonb,
      refreshed_at = to_timestamp(${now / 1000}::double precision) where id = ${id}::bigint`.execute(tx);
}

/**
 * Changes something that the open order of an organization depends on, and refreshes it. The order is taken first and then all vouchers, as everybody does who needs
 * them, so that nobody waits in a circle.
 */
export async function changeAndRefresh(
  tx: Tx,
  platform: Pick<Biller, 'config'>,
  organizationId: string,
  now: number,
  change: () => Promise<void>,
): Promise<void> {
  const order = await openOrderOf(tx, organizationId, monthAt(now));
  if (order) await lockOrder(tx, order.id);
  await lockVouchers(tx, organizationId);
  await change();
  if (order) await refreshOrder(tx, platform, order.id, now);
}
