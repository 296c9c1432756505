/** Invoices, for the operator: what is open, what was paid, what has to be given back. */
import { Problem } from '../server/kernel/problem.ts';
import type { Db } from '../server/kernel/sql.ts';
import { allInvoices, correctInvoice, invoiceByNumber, markPaid, type Invoice } from '../server/rooms/billing/work.ts';
import { asOperator } from '../server/rooms/audit/work.ts';
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
  const invoice = await invoiceNumbered(db, invoiceNumber);
  const deed = { ...deedTo(invoice), command: 'invoice paid', summary: `Note that ${invoiceNumber} is paid` };
  const { type } = await asOperator(db, invoice.organization_id, deed, () => markPaid(db, invoiceNumber));
  return type === 'invoice' ? `${invoiceNumber} is paid.` : `What ${invoiceNumber} gives back has been given back.`;
}

async function invoiceNumbered(db: Db, invoiceNumber: string): Promise<Invoice> {
  const invoice = await invoiceByNumber(db, invoiceNumber);
  if (!invoice) throw new Problem('not-found', `There is no invoice ${invoiceNumber}; ./offshoot invoice list --all names all.`);
  return invoice;
}

const deedTo = ({ id }: Invoice) => ({ kind: 'invoice', target: `/invoices/${id}` });

export const correct = ([invoiceNumber = '', amount = '', ...reason]: string[]) =>
  withSecrets(async (platform) => {
    const invoice = await invoiceNumbered(platform.db, invoiceNumber);
    if (reason.length === 0) throw new Problem('invalid-request', 'Say why: ./offshoot invoice correct R000001 12.50 "Billed twice"');
    const less = readPositive(amount, invoice.currency);
    const summary = `Correct ${invoiceNumber} by ${formatted(less, invoice.currency)}: ${reason.join(' ')}`;
    const memo = await asOperator(platform.db, invoice.organization_id, { ...deedTo(invoice), command: 'invoice correct', summary }, () =>
      correctInvoice(platform, invoiceNumber, less, reason.join(' '), Date.now()),
    );
    console.log(
      `The credit memo ${memo.invoice_number} over ${formatted(BigInt(memo.total), memo.currency)} is issued; those who pay are told by mail.`,
    );
  });
