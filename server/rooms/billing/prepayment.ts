/** What organizations have paid ahead. The balance is the sum of its transactions; orders take from it as they are closed. */
import { sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Currency } from '../prices/public.ts';
import { monthName, type Month } from './month.ts';

export interface PrepaymentTransaction {
  id: string;
  organization_id: string;
  order_id: string | null;
  message: string;
  currency: Currency;
  amount: string;
  created_at: string;
}

/** Whatever was paid in another currency stays where it is. */
export async function balanceOf(
  db: Db | Tx,
  organizationId: string,
  currency: Currency,
): Promise<{ balance: bigint; changedAt: string | null }> {
  const { rows } = await sql<{ balance: string; changed_at: string | null }>`
    select coalesce(sum(amount), 0)::text as balance, max(created_at) as changed_at from prepayment_transactions
    where organization_id = ${organizationId} and currency = ${currency}`.execute(db);
  return { balance: BigInt(rows[0]?.balance ?? '0'), changedAt: rows[0]?.changed_at ?? null };
}

/** Null: nothing pays what the balance does not; undefined: nothing was ever prepaid. */
export async function fallbackOf(db: Db | Tx, organizationId: string): Promise<string | null | undefined> {
  const { rows } = await sql<{
    fallback: string | null;
  }>`select fallback from prepayments where organization_id = ${organizationId}`.execute(db);
  return rows[0] && rows[0].fallback;
}

/** Takes from the balance what there is of it, and answers with how much. Orders of an organization are closed one after the other. */
export async function takePrepaid(tx: Tx, organizationId: string, orderId: string, currency: Currency, total: bigint, month: Month) {
  await sql`select from prepayments where organization_id = ${organizationId} for update`.execute(tx);
  const { balance } = await balanceOf(tx, organizationId, currency);
  const amount = balance < total ? balance : total;
  if (amount <= 0n) return 0n;
  const message = `Order ${orderId}, ${monthName(month)} ${month.slice(0, 4)}`;
  await sql`insert into prepayment_transactions (organization_id, order_id, message, currency, amount)
    values (${organizationId}, ${orderId}::bigint, ${message}, ${currency}, ${String(-amount)}::bigint)`.execute(tx);
  return amount;
}

/** Unless somebody says otherwise, what the balance does not cover is invoiced. */
export const addPrepayment = (db: Db, organizationId: string, currency: Currency, amount: bigint, message: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await sql`insert into prepayments (organization_id, fallback) values (${organizationId}, 'invoice') on conflict do nothing`.execute(tx);
    await sql`select from prepayments where organization_id = ${organizationId} for update`.execute(tx);
    await sql`insert into prepayment_transactions (organization_id, message, currency, amount)
      values (${organizationId}, ${message}, ${currency}, ${String(amount)}::bigint)`.execute(tx);
  });

export const setFallback = (db: Db, organizationId: string, fallback: 'invoice' | null) =>
  sql`insert into prepayments (organization_id, fallback) values (${organizationId}, ${fallback})
    on conflict (organization_id) do update set fallback = excluded.fallback`.execute(db);

export const transactionsPage = (db: Db, organizationId: string, list: ListRequest): Promise<Page<PrepaymentTransaction>> =>
  paged(
    db
      .selectFrom(
        sql<PrepaymentTransaction>`(select id, organization_id, order_id::text, message, currency, amount::text, created_at, created_at as created
          from prepayment_transactions where organization_id = ${organizationId})`.as('transactions'),
      )
      .selectAll(),
    list,
    'id',
  );
