import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { priceLines, setPriceList } from '../../../cli/prices.ts';
import { openDatabase, openPool, type Db } from '../../kernel/sql.ts';
import { cloneDatabase } from '../../testing/platform.ts';
import { amountOf, amountText, currencyAmount, decimal, dividedBy, formatted } from './money.ts';
import { readPriceList } from './price-list.ts';
import { currencyFor, listOn, priceLists } from './queries.ts';

let db: Db;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await cloneDatabase();
  db = openDatabase(openPool(database.url));
  drop = async () => {
    await db.destroy();
    await database.drop();
  };
});
afterAll(() => drop());

describe('amounts', () => {
  test('are exact, and halves are rounded away from zero', () => {
    expect(decimal('0.1') + decimal('0.2')).toBe(decimal('0.3'));
    expect([5n, -5n, 4n, -4n].map((amount) => dividedBy(amount, 10n))).toEqual([1n, -1n, 0n, 0n]);
    expect(amountOf(decimal('1.005'), 'EUR')).toBe(101n);
  });

  test('have the decimals of their currency', () => {
    expect(amountText(-5n, 'EUR')).toBe('-0.05');
    expect(amountText(1234n, 'JPY')).toBe('1234');
    expect([formatted(123_456n, 'EUR'), formatted(5n, 'JPY'), formatted(0n, 'XXX')]).toEqual(['€1,234.56', '¥5', '0.00']);
    expect(currencyAmount(-250n, 'USD')).toEqual({ formatted: '-$2.50', amount: -2.5, currency_code: 'USD', currency_symbol: '$' });
  });
});

const written = (currency: string, from: string, price: string) => `
currency: ${currency}
from: ${from}
usage:
  cpu_app: { price: ${price}, free: 0.10 }
licences: { admin_user: 10 }
`;

describe('price lists', () => {
  test('are none at first: nothing costs anything, and the operator is told so', async () => {
    expect(await priceLines(db, '2026-01-01')).toEqual([expect.stringContaining('There is no price list, so nothing costs anything.')]);
    expect(currencyFor([], 'EUR', '2026-01-01')).toBe('XXX');
    expect(listOn([], 'XXX', '2026-01-01')).toMatchObject({ version: 0, content: { usage: {}, allowance: '0' } });
  });

  test('hold in their currency from their day on; of the same day, the last that was set', async () => {
    await setPriceList(db, written('EUR', '2026-02-01', '18.10'));
    await setPriceList(db, written('EUR', '2026-03-01', '20'));
    await setPriceList(db, written('EUR', '2026-03-01', '21.0000000001'));
    expect(await setPriceList(db, JSON.stringify({ currency: 'USD', from: '2026-01-01', plans: { flexible: 9 } }))).toBe(
      'Version 4 is set: prices in USD, effective from 2026-01-01.',
    );
    const lists = await priceLists(db);
    const priceOn = (day: string) => listOn(lists, 'EUR', day).content.usage['cpu_app']?.price;
    expect(['2026-01-31', '2026-02-01', '2026-02-28', '2026-03-01'].map(priceOn)).toEqual([undefined, '18.10', '18.10', '21.0000000001']);
    const currenciesOn = (day: string) => ['USD', 'EUR', 'CHF', undefined].map((code) => currencyFor(lists, code, day));
    expect(currenciesOn('2026-02-01')).toEqual(['USD', 'EUR', 'EUR', 'EUR']);
    // A list that is to come is nobody's yet; before there is any, the first counts.
    for (const day of ['2026-01-31', '2025-12-31']) expect(currenciesOn(day)).toEqual(['USD', 'USD', 'USD', 'USD']);
    expect((await priceLines(db, '2026-02-15')).filter((line) => line.startsWith('Version'))).toEqual([
      'Version 1, EUR, from 2026-02-01: holds',
      'Version 4, USD, from 2026-01-01: holds',
      'Version 2, EUR, from 2026-03-01: is to come',
      'Version 3, EUR, from 2026-03-01: is to come',
    ]);
  });

  test('cannot change what is billed', async () => {
    await db.updateTable('billing').set({ billed_until: '2026-04-01' }).execute();
    await expect(setPriceList(db, written('EUR', '2026-03-31', '1'))).rejects.toThrow('What was used before 2026-04-01 is billed');
    await setPriceList(db, written('EUR', '2026-04-01', '1'));
  });

  test.for([
    ['currency: EURO\nfrom: 2026-01-01', 'currency'],
    ['currency: QQQ\nfrom: 2026-01-01', 'QQQ is no currency'],
    ['currency: EUR\nfrom: 2026-02-30', 'from must be a day'],
    ['currency: EUR\nfrom: 2026-01-01\nusage: {cpu_app: {price: -1}}', 'usage.cpu_app.price'],
    ['currency: EUR\nfrom: 2026-01-01\nusage: {cpus: {price: 1}}', 'usage.cpus'],
    ['currency: EUR\nfrom: 2026-01-01\nsupport_levels: {premium: 101}', 'support_levels.premium'],
    ['currency: [', 'The price list cannot be used'],
  ])('%j is refused', ([text = '', sentence = '']) => {
    expect(() => readPriceList(text)).toThrow(sentence);
  });
});
