/** Discounts: what is taken off an organization's orders each month. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { dayAt } from '../server/kernel/days.ts';
import { allDiscounts, discountTypes, endDiscount, insertDiscount, monthAt, shownDiscount } from '../server/rooms/billing/work.ts';
import { asOperator } from '../server/rooms/audit/work.ts';
import { formatted, listOn, priceLists } from '../server/rooms/prices/public.ts';
import { operate } from './database.ts';
import { organizationNamed, readPositive } from './money.ts';

export const createDiscount = (words: string[]) => operate(async (db) => console.log(await makeDiscount(db, words, Date.now())));

export async function makeDiscount(db: Db, [name = '', type = '', amount = '', months]: string[], now: number): Promise<string> {
  if (!Object.hasOwn(discountTypes, type) || (months !== undefined && !/^[1-9]\d{0,2}$/.test(months)))
    throw new Problem('invalid-request', 'Say whose, of which type and how much: ./offshoot discount create acme startup 50 12');
  const { id: organization_id, label, currency } = await organizationNamed(db, name);
  const { allowance } = listOn(await priceLists(db), currency, dayAt(now)).content;
  const monthly = readPositive(type === 'allowance' && amount === 'default' ? allowance : amount, currency);
  const lasting = months === undefined ? null : Number(months);
  const summary = `Give a discount of ${formatted(monthly, currency)} a month`;
  const discount = { organization_id, type, currency, monthly, start_month: monthAt(now), months: lasting };
  const deed = { command: 'discount create', kind: 'discount', target: '/discounts', summary };
  const id = await asOperator(db, organization_id, deed, () => insertDiscount(db, discount));
  return `Discount ${id} takes ${formatted(monthly, currency)} off each month of ${label}${months === undefined ? '' : `, for ${months} months`}.`;
}

export const listDiscounts = () =>
  operate(async (db) => {
    const names = new Map((await db.selectFrom('organizations').select(['id', 'name']).execute()).map(({ id, name }) => [id, name]));
    for (const row of await allDiscounts(db)) {
      const { id, type, status, start_at, end_at } = shownDiscount(row, Date.now());
      const until = end_at === null ? [] : [`until ${end_at.slice(0, 10)}`];
      const monthly = `${formatted(BigInt(row.monthly), row.currency)} a month`;
      console.log([id, names.get(row.organization_id), type, monthly, status, `from ${start_at.slice(0, 10)}`, ...until].join('  '));
    }
  });

export const endDiscountAt = ([id = '']: string[]) =>
  operate(async (db) => {
    const found = (await allDiscounts(db)).find((discount) => String(discount.id) === id);
    const missing = new Problem('not-found', `There is no discount ${id}; ./offshoot discount list names all.`);
    if (!found) throw missing;
    const deed = { command: 'discount end', kind: 'discount', target: '/discounts', summary: `End discount ${id}` };
    await asOperator(db, found.organization_id, deed, async () => {
      if (!(await endDiscount(db, id, monthAt(Date.now())))) throw missing;
    });
    console.log(`Discount ${id} takes nothing off any more, from this month on; months that are over keep it.`);
  });
