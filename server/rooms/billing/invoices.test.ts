import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { invoiceLines, pay } from '../../../cli/invoice.ts';
import { notePrepayment } from '../../../cli/prepayment.ts';
import { downloadUrl } from './download-token.ts';
import { markPastDue } from './payment/settle.ts';
import { invoiced as withInvoice, openBilledPlatform, signed, type Billed, type BilledPlatform } from './test-billed.ts';
import { correctInvoice, markPaid } from './work.ts';

const waiting: Billed[] = [];
let prepaying: Billed;

let billing: BilledPlatform;
let home: BilledPlatform['home'];
let db: BilledPlatform['db'];
let established: BilledPlatform['established'];

const invoicedMax = 5;

beforeAll(async () => {
  billing = await openBilledPlatform();
  ({ home, db, established } = billing);
  while (waiting.length < invoicedMax) waiting.push(await established());
  prepaying = await established();
  await notePrepayment(db, [prepaying.name, '10']);
});

const tell = (event: object, signature?: string) => billing.tell(event, signature);

/** Another organization with the invoice of last month. */
async function invoiced(billed = waiting.pop()) {
  if (!billed) throw new Error('All organizations with an invoice are used up');
  return withInvoice(billing, billed);
}

test('invoices are downloaded by whoever has the link, for a while', async () => {
  const { invoice } = await invoiced();
  expect(invoice).toMatchObject({ type: 'invoice', status: 'pending', total: 24.19, currency: 'EUR', company: 'Acme' });
  const at = (url: string) => home.send({ method: 'GET', url: url.replace(home.platform.config.url, '') });
  const pdf = await at(invoice.invoice_pdf.url);
  expect(pdf).toMatchObject({ status: 200, headers: { 'content-type': 'application/pdf' }, text: expect.stringMatching(/^%PDF-/) });
  expect((await at(`${invoice.invoice_pdf.url}x`)).status).toBe(400);
  expect((await at(downloadUrl(home.platform, invoice.id, -1))).status).toBe(400);
});

test('invoices are paid when the provider says so, signed and once', async () => {
  const { owner, path, invoice: issued } = await invoiced();
  const { invoice_number, order_id } = issued;
  await home.mail();
  const news = billing.told.map(({ body, signature }) => ({ ...JSON.parse(body), isSigned: signature === signed(body) }));
  expect(news.find(({ invoice }) => invoice.invoice_number === invoice_number)).toMatchObject({
    event: 'invoice.issued',
    isSigned: true,
    invoice: { outstanding: '24.19', currency: 'EUR', payer: { label: 'Acme' } },
  });
  const authorize = () => owner.send('POST', `${path}/orders/${order_id}/authorize`);
  expect((await authorize()).status).toBe(400);
  const url = 'https://pay.example/confirm';
  expect((await tell({ id: `a${order_id}`, event: 'authorization_required', invoice_number, url })).status).toBe(200);
  expect((await authorize()).json).toMatchObject({ redirect_to_url: { url }, type: 'redirect_to_url' });

  const paid = { id: `p${order_id}`, event: 'paid', invoice_number, amount: '24.19', currency: 'EUR' };
  expect((await tell(paid, signed('something else'))).status).toBe(400);
  // Whoever guesses at signatures is refused soon, and the provider is heard all the same.
  const guesses: number[] = [];
  while (guesses.length < 31) guesses.push((await tell(paid, signed('something else'))).status);
  expect(guesses.at(-1)).toBe(429);
  expect((await tell({ ...paid, amount: '1.00' })).status).toBe(400);
  const status = async () => (await owner.send('GET', `${path}/orders/${order_id}`)).json.status;
  expect(await status()).toBe('pending');
  expect((await tell({ id: `f${order_id}`, event: 'failed', invoice_number })).status).toBe(200);
  expect(await status()).toBe('payment_failed_soft_decline');
  expect([(await tell(paid)).status, (await tell(paid)).status, await status()]).toEqual([200, 200, 'completed']);
  // What comes late does not undo it.
  await tell({ id: `g${order_id}`, event: 'declined', invoice_number });
  expect(await status()).toBe('completed');
  expect((await authorize()).status).toBe(400);
});

test('invoices that nobody pays are past due after their term, and those who pay are reminded once', async () => {
  const { owner, path, invoice: issued } = await invoiced();
  const { invoice_number, order_id } = issued;
  const status = async () => (await owner.send('GET', `${path}/orders/${order_id}`)).json.status;
  await markPastDue(home.platform, Date.now());
  expect(await status()).toBe('pending');
  const later = Date.now() + 20 * 86_400_000;
  await markPastDue(home.platform, later);
  await markPastDue(home.platform, later);
  expect(await status()).toBe('past_due');
  const reminders = (await home.mail(owner.user.email)).filter(({ subject }) => subject.includes('past due'));
  expect(reminders).toMatchObject([{ subject: `Invoice ${invoice_number} is past due: €24.19` }]);
  expect((await invoiceLines(db, false)).some((line) => line.startsWith(invoice_number))).toBe(true);
  expect(await pay(db, invoice_number)).toBe(`${invoice_number} is paid.`);
  expect(await status()).toBe('completed');
});

test('invoices are corrected by credit memos, never by more than they ask for', async () => {
  const { owner, path, invoice: issued } = await invoiced();
  const { invoice_number, order_id } = issued;
  const correct = (amount: bigint) => correctInvoice(home.platform, invoice_number, amount, 'Billed twice', Date.now());
  const orderStatus = async () => (await owner.send('GET', `${path}/orders/${order_id}`)).json.status;
  const memo = await correct(1210n);
  const before = await orderStatus();
  expect(memo).toMatchObject({
    type: 'credit_memo',
    status: 'paid',
    total: '-1210',
    document: { totals: { vat: '-210', baseprice: '-1000' } },
  });
  await expect(correct(1210n)).rejects.toThrow('No more than €12.09');
  // What becomes of a memo says nothing of the order.
  expect((await tell({ id: `m${order_id}`, event: 'declined', invoice_number: memo.invoice_number })).status).toBe(200);
  expect(await orderStatus()).toBe(before);
  await markPaid(db, invoice_number);
  expect(await correct(1209n)).toMatchObject({ status: 'refund_pending' });
  const listed = (await owner.send('GET', `${path}/invoices?filter[order_id]=${order_id}`)).json.items;
  expect(listed.map(({ type, total, status }: Record<string, unknown>) => [type, total, status])).toEqual([
    ['invoice', 24.19, 'paid'],
    ['credit_memo', -12.1, 'paid'],
    ['credit_memo', -12.09, 'refund_pending'],
  ]);
  const { rows } = await sql<{ gaps: boolean }>`select max(number) <> count(*) as gaps from invoices`.execute(db);
  expect(rows).toEqual([{ gaps: false }]);
});

test('invoices that are canceled take no payment, however often it is told', async () => {
  const { owner, path, invoice } = await invoiced();
  const { invoice_number, order_id } = invoice;
  await correctInvoice(home.platform, invoice_number, 2419n, 'Not ordered', Date.now());
  const paid = { id: `c${order_id}`, event: 'paid', invoice_number, amount: '24.19', currency: 'EUR' };
  expect([(await tell(paid)).status, (await tell(paid)).status]).toEqual([409, 409]);
  expect((await owner.send('GET', `${path}/orders/${order_id}`)).json.status).toBe('canceled');
});

test('invoices of which a part was prepaid are given back by two credit memos', async () => {
  const { owner, path, invoice } = await invoiced(prepaying);
  const correct = (amount: bigint) => correctInvoice(home.platform, invoice.invoice_number, amount, 'Not ordered', Date.now());
  await expect(correct(2419n)).rejects.toThrow('make two credit memos: one over €14.19, then one over €10.00');
  expect([(await correct(1419n)).status, (await correct(1000n)).status]).toEqual(['paid', 'refund_pending']);
  expect((await owner.send('GET', `${path}/invoices/${invoice.id}`)).json.status).toBe('paid');
});
