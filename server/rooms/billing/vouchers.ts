/** Vouchers: an operator makes them, an organization applies them, and its orders use them up. */
import { sql } from 'kysely';
import { randomBytes } from 'node:crypto';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Currency } from '../prices/public.ts';

export interface Voucher {
  code: string;
  currency: Currency;
  /** Of the smallest unit, as text. */
  amount: string;
  organization_id: string;
}

const codeCharacters = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const [codeGroups, groupCharacters] = [4, 5];

/** Long enough that nobody finds one by trying. */
export const newCode = () =>
  Array.from({ length: codeGroups }, () =>
    Array.from(randomBytes(groupCharacters), (byte) => codeCharacters[byte % codeCharacters.length]).join(''),
  ).join('-');

export const insertVoucher = (db: Db, voucher: { code: string; currency: Currency; amount: bigint }) =>
  sql`insert into vouchers (code, currency, amount) values (${voucher.code}, ${voucher.currency}, ${String(voucher.amount)})`.execute(db);

export async function allVouchers(db: Db): Promise<(Voucher & { used: string })[]> {
  const { rows } = await sql<Voucher & { used: string }>`
    select vouchers.code, currency, vouchers.amount::text, organization_id, coalesce(sum(voucher_uses.amount), 0)::text as used
    from vouchers left join voucher_uses using (code) group by vouchers.code order by vouchers.created_at, vouchers.code`.execute(db);
  return rows;
}

/** Of two organizations that apply the same, one has it. Applying it again changes nothing. */
export async function applyVoucher(tx: Tx, organizationId: string, code: string): Promise<void> {
  const { rows } = await sql`
    update vouchers set organization_id = ${organizationId}, applied_at = coalesce(applied_at, now())
    where code = ${code} and organization_id in ('', ${organizationId}) returning code`.execute(tx);
  if (rows.length === 0)
    throw new Problem('invalid-request', 'There is no such voucher, or somebody else has it; check the code.', {
      fields: { code: 'is not that of a voucher that can be applied' },
    });
}

/** What is left of the vouchers of an organization, beside what one of its orders uses now. */
export async function voucherBalances(db: Db | Tx, organizationId: string, currency: Currency, besideOrder: string | undefined) {
  const { rows } = await sql<{ code: string; balance: string }>`
    select code, (amount - coalesce((select sum(voucher_uses.amount) from voucher_uses
      where voucher_uses.code = vouchers.code and order_id is distinct from ${besideOrder ?? null}::bigint), 0))::text as balance
    from vouchers where organization_id = ${organizationId} and currency = ${currency} order by applied_at, code`.execute(db);
  return rows.map(({ code, balance }) => ({ code, balance: BigInt(balance) })).filter(({ balance }) => balance > 0n);
}

/** Until the transaction ends, nobody else uses vouchers of the organization. */
export const lockVouchers = (tx: Tx, organizationId: string) =>
  sql`select from vouchers where organization_id = ${organizationId} order by code for update`.execute(tx);

export async function noteUses(tx: Tx, orderId: string, uses: readonly { code: string; amount: bigint }[]): Promise<void> {
  await sql`delete from voucher_uses where order_id = ${orderId}::bigint`.execute(tx);
  for (const { code, amount } of uses)
    await sql`insert into voucher_uses (code, order_id, amount) values (${code}, ${orderId}::bigint, ${String(amount)}::bigint)`.execute(
      tx,
    );
}

export interface VoucherUse {
  code: string;
  order_id: string;
  status: string;
  month: string;
  order_total: string;
  amount: string;
}

export async function vouchersOf(db: Db, organizationId: string): Promise<{ vouchers: Voucher[]; uses: VoucherUse[] }> {
  const { rows: vouchers } = await sql<Voucher>`
    select code, currency, amount::text, organization_id from vouchers where organization_id = ${organizationId} order by applied_at, code`.execute(
    db,
  );
  const { rows: uses } = await sql<VoucherUse>`
    select voucher_uses.code, order_id::text, status, month, total::text as order_total, voucher_uses.amount::text
    from vouchers join voucher_uses using (code) join orders on orders.id = order_id
    where vouchers.organization_id = ${organizationId} order by month, order_id`.execute(db);
  return { vouchers, uses };
}
