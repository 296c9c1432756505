/** What the operator asks for what is used. */
import { readFileSync } from 'node:fs';
import { dayAt, type Day } from '../server/kernel/days.ts';
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { asOperatorForAll } from '../server/rooms/audit/work.ts';
import { features, insertPriceList, priceLists, readPriceList, type FeatureName, type PriceList } from '../server/rooms/prices/public.ts';
import { operate } from './database.ts';

export const showPrices = () =>
  operate(async (db) => {
    for (const line of await priceLines(db, dayAt(Date.now()))) console.log(line);
  });

export const setPrices = ([file]: string[]) =>
  operate(async (db) => {
    if (file === undefined) throw new Problem('invalid-request', 'Name a file: ./offshoot prices set prices.yaml');
    console.log(await setPriceList(db, readFile(file)));
  });

export async function setPriceList(db: Db, text: string): Promise<string> {
  const list = readPriceList(text);
  const summary = `Set prices in ${list.currency}, effective from ${list.effective_from}`;
  const deed = { command: 'prices set', kind: 'price list', summary };
  const { version, currency, effective_from } = await asOperatorForAll(db, deed, () => insertPriceList(db, list));
  return `Version ${version} is set: prices in ${currency}, effective from ${effective_from}.`;
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem('not-found', `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** The list of each currency that holds on that day, and all that are to come. */
export async function priceLines(db: Db, today: Day): Promise<string[]> {
  const lists = await priceLists(db);
  const currencies = [...new Set(lists.map(({ currency }) => currency))].toSorted();
  const holding = currencies.flatMap((code) => lists.findLast((list) => list.currency === code && list.effective_from <= today) ?? []);
  const coming = lists.filter(({ effective_from }) => effective_from > today);
  if (lists.length === 0)
    return [
      'There is no price list, so nothing costs anything. ./offshoot prices set <file> sets one; docs/operating/billing.md shows how it is written.',
    ];
  return [...holding.flatMap((list) => listLines(list, 'holds')), ...coming.flatMap((list) => listLines(list, 'is to come'))];
}

function listLines({ version, currency, effective_from, content }: PriceList, state: string): string[] {
  const { plans, usage, licences, user_management, support_levels, addons, vat } = content;
  const priced = (title: string, prices: Record<string, string>, unit: string) =>
    Object.entries(prices).map(([name, price]) => `  ${title} ${name}: ${price} ${unit}`);
  return [
    `Version ${version}, ${currency}, from ${effective_from}: ${state}`,
    ...priced('plan', plans, `${currency} a month`),
    ...Object.entries(usage).map(([name, { price = '0', free }]) => `  ${usageLine(name as FeatureName, price, free, currency)}`),
    ...priced('licence', licences, `${currency} a month`),
    ...priced('user management', user_management, `${currency} for each user and month`),
    ...priced('support level', support_levels, 'percent of everything else'),
    ...Object.entries(addons).flatMap(([addon, levels]) => priced(addon, levels, `${currency} a month`)),
    `  green regions: ${content.green_discount} percent off CPU, memory and builds`,
    ...priced('VAT', vat, 'percent'),
  ];
}

function usageLine(name: FeatureName, price: string, free: string | undefined, currency: string): string {
  const { unit, isAllocated } = features[name];
  const freely = free === undefined ? '' : `, ${free} ${unit} of each project and month are free`;
  return `${name}: ${price} ${currency} for ${unit}${isAllocated ? ' and month' : ''}${freely}`;
}
