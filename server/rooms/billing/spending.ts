/**
 * What keeps an organization from taking on further costs: what it owes is past due, nobody knows how it pays, or it pays ahead and has not paid enough. As long as there is
 * no price list, nothing does. What runs already goes on.
 */
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { requiredAction, type ContractTerms, type Spending, type SpendingHindrance } from '../../spending.ts';
import { amountOf, decimal, formatted, priceListOn, priceLists, priceOf, type PriceList } from '../prices/public.ts';
import { estimateContract } from './contract-estimate.ts';
import { estimateMonth } from './estimate.ts';
import { endOfMonth, monthAt, monthName } from './month.ts';
import { payerNow } from './payer.ts';
import { hasSource, sourcesUrlFor } from './payment/sources.ts';
import { balanceOf, fallbackOf } from './prepayment.ts';

export type SpendingConfig = Pick<Config, 'region' | 'url' | 'payment'>;

export const openSpending = (config: SpendingConfig): Spending => ({
  hindrance: async (db, organizationId, { wanted, before }) => {
    const list = await pricesOfNextMonth(db, organizationId, Date.now());
    const more = costOf(list, wanted) - (before ? costOf(list, before) : 0n);
    return before && more <= 0n ? undefined : hindranceTo(db, config, organizationId, more);
  },
});

export const pricesOfNextMonth = async (db: Db | Tx, organizationId: string, now: number): Promise<PriceList> =>
  priceListOn(db, (await payerNow(db, organizationId))?.currency, endOfMonth(monthAt(now)));

function costOf(list: PriceList, { plan, storage, options }: ContractTerms): bigint {
  const contract = estimateContract(list, { plan, storage, user_licenses: 0 });
  const addons = Object.entries(list.content.addons).map(([addon, levels]) => decimal(priceOf(levels, options[addon] ?? '')));
  return addons.reduce((sum, price) => sum + amountOf(price, list.currency), contract.plan + contract.storage);
}

/** Of so much more in a month, before tax. */
export async function hindranceTo(
  db: Db | Tx,
  config: SpendingConfig,
  organizationId: string,
  more: bigint,
): Promise<SpendingHindrance | undefined> {
  if ((await priceLists(db)).length === 0) return undefined;
  for (const look of [pastDue, withoutSource, beyondPrepaid]) {
    const found = await look(db, organizationId, config, more);
    if (found) return found;
  }
  return undefined;
}

type Look = (db: Db | Tx, organizationId: string, config: SpendingConfig, more: bigint) => Promise<SpendingHindrance | undefined>;

const pastDue: Look = async (db, organizationId) => {
  const { rows } = await sql<{ month: string; invoice_number: string; status: string }>`
    select month, invoice_number, orders.status from orders join invoices on invoices.order_id = orders.id and invoices.type = 'invoice'
    where orders.organization_id = ${organizationId} and orders.status in ('past_due', 'payment_failed_hard_decline') order by month limit 1`.execute(
    db,
  );
  const [order] = rows;
  if (!order) return undefined;
  const what = order.status === 'past_due' ? 'is past due' : 'could not be paid: the payment was declined';
  const invoice = `The invoice ${order.invoice_number} for ${monthName(order.month)} ${order.month.slice(0, 4)}`;
  return {
    sentence: 'What the organization owes is not paid, so nothing can be added that costs more; ask whoever pays for it.',
    sentenceWithAmounts: `${invoice} ${what}, so nothing can be added that costs more. Pay it, or ask the operator of this installation.`,
    required_action: requiredAction('billing_details', 'payment'),
  };
};

const withoutSource: Look = async (db, organizationId, { payment }) => {
  if (payment.sourcesUrl === undefined || (await hasSource(db, organizationId))) return undefined;
  const page = sourcesUrlFor(payment.sourcesUrl, organizationId);
  const sentence = `The organization has not said how it pays; do so at ${page}.`;
  return { sentence, sentenceWithAmounts: sentence, required_action: requiredAction('billing_details', 'payment_source', page) };
};

/** Whoever pays by invoice can afford what the quota allows. */
const beyondPrepaid: Look = async (db, organizationId, config, more) => {
  if ((await fallbackOf(db, organizationId)) !== null) return undefined;
  const now = Date.now();
  const { currency, totals } = await estimateMonth(db, config, organizationId, endOfMonth(monthAt(now)), now, { more });
  const needed = totals.total;
  const { balance } = await balanceOf(db, organizationId, currency);
  if (needed <= balance) return undefined;
  return {
    sentence: 'A month with this costs more than is prepaid; ask whoever pays for the organization.',
    sentenceWithAmounts: `A month with this costs ${formatted(needed, currency)}, and ${formatted(balance, currency)} are prepaid; pay ahead, or ask the operator of this installation.`,
    required_action: requiredAction('billing_details', 'prepayment'),
  };
};
