/** Invoices, for the operator: what is open, what was paid, what has to be given back. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { allInvoices, correctInvoice, invoiceByNumber, markPaid, type Invoice } from '../server/rooms/billing/work.ts';
import { formatted } from '../server/rooms/prices/public.ts';
import { operate } from './database.ts';
import { readPositive } from './money.ts';
import { withSecrets } from './with-secrets.ts';

export const listInvoices = (isAll: boolean) =>
  operate(async (db) => {
    for (const line of await invoiceLines(db, isAll)) console.log(line);
  });

export async function invoiceLines(db: Db, isAll: boolean): Promise<string[]> {
  const invoices = await allInvoices(db, isAll);
  return invoices.length === 0 ? [isAll ? 'There are no invoices.' : 'Nothing is open; --all shows all invoices.'] : invoices.map(lineOf);
}

function lineOf({ invoice_number, type, status, total, currency, issued_on, due_on, document }: Invoice): string {
  const amount = formatted(BigInt(total), currency);
  const due = due_on === null ? [] : [`due ${due_on}`];
  return [invoice_number, type.replace('_', ' '), status, amount, issued_on, ...due, document.payer.label].join('  ');
}

export const payInvoice = ([invoiceNumber = '']: string[]) => operate(async (db) => console.log(await pay(db, invoiceNumber)));

export async function pay(db: Db, invoiceNumber: string): Promise<string> {
  const { type } = await markPaid(db, invoiceNumber);
  return type === 'invoice' ? `${invoiceNumber} is paid.` : `What ${invoiceNumber} gives back has been given back.`;
}

export const correct = ([invoiceNumber = '', amount = '', ...reason]: string[]) =>
  withSecrets(async (platform) => {
    const invoice = await invoiceByNumber(platform.db, invoiceNumber);
    if (!invoice) throw new Problem('not-found', `There is no invoice ${invoiceNumber}; ./offshoot invoice list --all names all.`);
    if (reason.length === 0) throw new Problem('invalid-request', 'Say why: ./offshoot invoice correct R000001 12.50 "Billed twice"');
    const memo = await correctInvoice(platform, invoiceNumber, readPositive(amount, invoice.currency), reason.join(' '), Date.now());
    console.log(
      `The credit memo ${memo.invoice_number} over ${formatted(BigInt(memo.total), memo.currency)} is issued; those who pay are told by mail.`,
    );
  });
