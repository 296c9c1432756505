/** Vouchers: what somebody may have for nothing. */
import { Problem } from '../server/kernel/problem.ts';
import { orConflict, type Db } from '../server/kernel/sql.ts';
import { allVouchers, insertVoucher, newCode } from '../server/rooms/billing/work.ts';
import { formatted } from '../server/rooms/prices/public.ts';
import { operate } from './database.ts';
import { readPositive } from './money.ts';

export const createVoucher = (words: string[]) => operate(async (db) => console.log(await makeVoucher(db, words)));

export async function makeVoucher(db: Db, [amount = '', currency = '', code = newCode()]: string[]): Promise<string> {
  if (!Intl.supportedValuesOf('currency').includes(currency))
    throw new Problem('invalid-request', 'Give an amount and its currency (ISO 4217): ./offshoot voucher create 50 EUR');
  if (!/^[A-Za-z0-9-]{4,100}$/.test(code)) throw new Problem('invalid-request', 'A code has 4 to 100 letters, digits and dashes.');
  const voucher = { code, currency, amount: readPositive(amount, currency) };
  await orConflict(insertVoucher(db, voucher), { vouchers_pkey: `There is a voucher ${code} already.` });
  return `The voucher ${code} is worth ${formatted(voucher.amount, currency)} to whoever applies it first.`;
}

export const listVouchers = () =>
  operate(async (db) => {
    const names = new Map((await db.selectFrom('organizations').select(['id', 'name']).execute()).map(({ id, name }) => [id, name]));
    for (const { code, currency, amount, organization_id, used } of await allVouchers(db)) {
      const whose = organization_id === '' ? 'nobody has it' : (names.get(organization_id) ?? organization_id);
      const left = formatted(BigInt(amount) - BigInt(used), currency);
      console.log([code, formatted(BigInt(amount), currency), `${left} left`, whose].join('  '));
    }
  });
