/** What organizations have paid ahead. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { addPrepayment, balanceOf, setFallback } from '../server/rooms/billing/work.ts';
import { asOperator } from '../server/rooms/audit/work.ts';
import { formatted } from '../server/rooms/prices/public.ts';
import { operate } from './database.ts';
import { organizationNamed, readPositive } from './money.ts';

const prepaymentDeed = { kind: 'prepayment', target: '/prepayment' };

export const prepay = (words: string[]) => operate(async (db) => console.log(await notePrepayment(db, words)));
export const giveBack = (words: string[]) => operate(async (db) => console.log(await noteGivenBack(db, words)));

export const notePrepayment = (db: Db, words: string[]) => note(db, words, 'Paid ahead', (amount) => amount);
const noteGivenBack = (db: Db, words: string[]) => note(db, words, 'Given back', (amount) => -amount);

async function note(
  db: Db,
  [name = '', amount = '', ...message]: string[],
  usual: string,
  signed: (amount: bigint) => bigint,
): Promise<string> {
  const { id, label, currency } = await organizationNamed(db, name);
  const paid = signed(readPositive(amount, currency));
  const deed = { ...prepaymentDeed, command: 'prepayment', summary: `Note a prepayment of ${formatted(paid, currency)}` };
  await asOperator(db, id, deed, () => addPrepayment(db, id, currency, paid, message.join(' ') || usual));
  const { balance } = await balanceOf(db, id, currency);
  return `${label} has ${formatted(balance, currency)} prepaid.`;
}

export const chooseFallback = ([name = '', fallback = '']: string[]) =>
  operate(async (db) => {
    if (fallback !== 'invoice' && fallback !== 'none')
      throw new Problem('invalid-request', 'Say invoice or none: ./offshoot prepayment fallback acme none');
    const { id, label } = await organizationNamed(db, name);
    const deed = { ...prepaymentDeed, command: 'prepayment fallback', summary: `Choose what pays beyond the prepayment: ${fallback}` };
    await asOperator(db, id, deed, () => setFallback(db, id, fallback === 'invoice' ? 'invoice' : null));
    console.log(
      fallback === 'invoice'
        ? `What the balance of ${label} does not cover is invoiced.`
        : `${label} can have more only as far as its balance goes; what it has used is invoiced all the same.`,
    );
  });
