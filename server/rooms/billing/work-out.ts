/** What an order comes to at this moment: the facts, the prices, and what is taken off. Nothing is written down here. */
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import { daysAfter } from '../../kernel/days.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { amountOf, currencyFor, decimal, listOn, priceLists, type Currency, type PriceContent } from '../prices/public.ts';
import { factsOf } from './facts.ts';
import { endOfMonth, type Month } from './month.ts';
import { payerNow, type Payer } from './payer.ts';
import { linesOf, totalsOf, type Line, type MonthFacts, type Totals } from './reckon.ts';
import { isReverseCharged, vatPercentOf } from './vat.ts';
import { voucherBalances } from './vouchers.ts';

export interface WorkedOut {
  currency: Currency;
  payer: Payer;
  seller: PriceContent['seller'];
  lines: Line[];
  totals: Totals;
  vatPercent: string;
  isReverseCharged: boolean;
  /** What it takes of each voucher. */
  uses: { code: string; amount: bigint }[];
}

export interface OrderAsked {
  /** Undefined: an estimate, for which there is no order. */
  id: string | undefined;
  organizationId: string;
  month: Month;
  /** What is known of who pays where the organization is gone. */
  payer: Payer;
  /** As though the organization had the allowance of the price list. */
  withAllowance?: boolean;
  /** As though its lines came to so much more. */
  more?: bigint;
}

export async function workOut(
  db: Db | Tx,
  config: Pick<Config, 'region' | 'url'>,
  order: OrderAsked,
  until: number,
  project: (facts: MonthFacts) => Promise<MonthFacts> | MonthFacts = (facts) => facts,
): Promise<WorkedOut> {
  const { organizationId, month } = order;
  const payer = (await payerNow(db, organizationId)) ?? order.payer;
  const lists = await priceLists(db);
  const currency = currencyFor(lists, payer.currency, month);
  const { content } = listOn(lists, currency, daysAfter(endOfMonth(month), -1));
  const taxed = { country: payer.address['country'] ?? '', vat_number: payer.vat_number };
  const vatPercent = vatPercentOf(content, taxed);
  const lines = linesOf(await project(await factsOf(db, config, { organizationId, month, currency, lists, until })));
  const balances = await voucherBalances(db, organizationId, currency, order.id);
  const granted = await discountIn(db, organizationId, month, currency);
  const simulated = order.withAllowance && !granted.hasAllowance ? amountOf(decimal(content.allowance), currency) : 0n;
  const discount = granted.monthly + simulated;
  const voucher = balances.reduce((sum, { balance }) => sum + balance, 0n);
  const totals = totalsOf(lines, { discount, voucher }, vatPercent, order.more);
  return {
    currency,
    payer,
    seller: content.seller,
    lines,
    totals,
    vatPercent,
    isReverseCharged: isReverseCharged(content, taxed),
    uses: taken(balances, totals.voucher),
  };
}

/** The vouchers that were applied first are used up first. */
function taken(balances: readonly { code: string; balance: bigint }[], amount: bigint) {
  let left = amount;
  return balances.flatMap(({ code, balance }) => {
    const use = balance < left ? balance : left;
    left -= use;
    return use > 0n ? [{ code, amount: use }] : [];
  });
}

async function discountIn(db: Db | Tx, organizationId: string, month: Month, currency: Currency) {
  const { rows } = await sql<{ monthly: string; has_allowance: boolean }>`
    select coalesce(sum(monthly), 0)::text as monthly, coalesce(bool_or(type = 'allowance'), false) as has_allowance from discounts
    where organization_id = ${organizationId} and currency = ${currency} and start_month <= ${month}::date
      and (ended_month is null or ended_month > ${month}::date)
      and (months is null or start_month + make_interval(months => months) > ${month}::date)`.execute(db);
  return { monthly: BigInt(rows[0]?.monthly ?? '0'), hasAllowance: rows[0]?.has_allowance ?? false };
}
