import { sql } from 'kysely';
import { dayAt, type Day } from '../../kernel/days.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Currency } from './money.ts';
import { builtInPriceList, type PriceList } from './price-list.ts';

/** All that were ever set, oldest first. */
export async function priceLists(db: Db | Tx): Promise<PriceList[]> {
  const { rows } = await sql<PriceList>`
    select version, currency, effective_from, content from price_lists order by effective_from, version`.execute(db);
  return rows;
}

/** Days that are billed keep their prices: whoever bills takes the row that is looked at here to himself. */
export const insertPriceList = (db: Db, list: Omit<PriceList, 'version'>): Promise<PriceList> =>
  db.transaction().execute(async (tx) => {
    const billed = await sql<{ billed_until: Day }>`select billed_until from billing for share`.execute(tx);
    const firstOpenDay = billed.rows[0]?.billed_until ?? '';
    if (list.effective_from < firstOpenDay)
      throw new Problem(
        'conflict',
        `What was used before ${firstOpenDay} is billed; let the list be effective from that day on, or later.`,
      );
    const { rows } = await sql<PriceList>`
      insert into price_lists (currency, effective_from, content)
      values (${list.currency}, ${list.effective_from}::date, ${JSON.stringify(list.content)}::jsonb)
      returning version, currency, effective_from, content`.execute(tx);
    const [inserted] = rows;
    if (!inserted) throw new Error('The price list was not stored');
    return inserted;
  });

/** The list that holds on a day: the latest that is effective by then, and of several from the same day the last that was set. */
export const listOn = (lists: readonly PriceList[], currency: Currency, day: Day): PriceList =>
  lists.findLast((list) => list.currency === currency && list.effective_from <= day) ?? builtInPriceList;

/**
 * What somebody pays in on a day: the currency of their country where there are prices in it by then, else that of the first of these lists that was set. Before the
 * first day that has prices, it is what they will pay in on that day.
 */
export function currencyFor(lists: readonly PriceList[], ofCountry: Currency | undefined, day: Day): Currency {
  const firstDay = lists[0]?.effective_from ?? day;
  const known = lists.filter(({ effective_from }) => effective_from <= day || effective_from === firstDay);
  if (ofCountry !== undefined && known.some(({ currency }) => currency === ofCountry)) return ofCountry;
  const [first] = known.toSorted((one, other) => one.version - other.version);
  return first?.currency ?? builtInPriceList.currency;
}

export const priceListToday = (db: Db | Tx, ofCountry?: Currency): Promise<PriceList> => priceListOn(db, ofCountry, dayAt(Date.now()));

export async function priceListOn(db: Db | Tx, ofCountry: Currency | undefined, day: Day): Promise<PriceList> {
  const lists = await priceLists(db);
  const currency = currencyFor(lists, ofCountry, day);
  return { ...listOn(lists, currency, day), currency };
}
