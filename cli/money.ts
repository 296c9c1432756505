/** Amounts as an operator types them, and organizations by their names. */
import { dayAt } from '../server/kernel/days.ts';
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { organizationAt } from '../server/rooms/organizations/public.ts';
import { amountOf, currencyFor, decimal, digitsOf, priceLists, type Currency } from '../server/rooms/prices/public.ts';
import { payerNow } from '../server/rooms/billing/work.ts';

/** More decimals than the currency has are refused: rounding would be somebody else's amount. */
export function readPositive(text: string, currency: Currency): bigint {
  const [, whole = '', fraction = ''] = /^(\d{1,9})(?:\.(\d{1,10}))?$/.exec(text) ?? [];
  const amount = whole === '' || fraction.length > digitsOf(currency) ? 0n : amountOf(decimal(text), currency);
  if (amount > 0n) return amount;
  const example = digitsOf(currency) > 0 ? '12.50' : '1250';
  throw new Problem('invalid-request', `${JSON.stringify(text)} is no amount in ${currency}; write one such as ${example}.`);
}

export async function organizationNamed(db: Db, name: string): Promise<{ id: string; label: string; currency: Currency }> {
  const organization = await organizationAt(db, `name=${name}`);
  if (!organization) throw new Problem('not-found', `There is no organization ${name}.`);
  const lists = await priceLists(db);
  if (lists.length === 0)
    throw new Problem('conflict', 'There is no price list, so nothing costs anything; set one first: ./offshoot prices set <file>');
  const { id, label } = organization;
  return { id, label, currency: currencyFor(lists, (await payerNow(db, id))?.currency, dayAt(Date.now())) };
}
