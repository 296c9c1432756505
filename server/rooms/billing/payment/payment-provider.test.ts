/** A payment provider of one's own, written from docs/operating/billing.md alone: over HTTP both ways, by another process as far as the platform can tell. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBilledPlatform, invoiced, type Billed, type BilledPlatform } from '../test-billed.ts';
import { markPastDue } from './settle.ts';

const key = 'the-key-that-both-share';
const header = Buffer.from(JSON.stringify({ alg: 'HS256', b64: false, crit: ['b64'] })).toString('base64url');
const mac = (protectedHeader: string, body: string, by: string) =>
  createHmac('sha256', by).update(`${protectedHeader}.${body}`).digest('base64url');

interface Told {
  event: string;
  invoice: { invoice_number: string; outstanding: string; currency: string; organization_id: string };
  answer_to: string;
}

const invoices = new Map<string, Told>();
const deliveries: string[] = [];
let failures = 1;
let provider: Server;
let platform: Server;
let billing: BilledPlatform;
let [payer, debtor]: Billed[] = [];

const bodyOf = async (request: IncomingMessage) => Buffer.concat((await request.toArray()) as Buffer[]).toString();

/** Takes what is signed, once for each delivery. The first request of all finds it out of order. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await bodyOf(request);
  const [protectedHeader = '', , signature = ''] = String(request.headers['x-jws-signature']).split('.');
  const expected = Buffer.from(mac(protectedHeader, body, key));
  if (expected.length !== signature.length || !timingSafeEqual(expected, Buffer.from(signature))) return 401;
  deliveries.push(String(request.headers['x-delivery-id']));
  if ((failures -= 1) >= 0) return 503;
  const told = JSON.parse(body) as Told;
  invoices.set(told.invoice.organization_id, told);
  return 200;
}

beforeAll(async () => {
  provider = createServer((request, reply) => void receive(request).then((status) => reply.writeHead(status).end()));
  platform = createServer((request, reply) => {
    void bodyOf(request).then(async (payload) => {
      const { url = '/', headers } = request;
      const answer = await billing.home.send({ method: 'POST', url, headers, payload });
      reply.writeHead(answer.status).end(answer.text);
    });
  });
  for (const server of [provider, platform]) await once(server.listen(0, '127.0.0.1'), 'listening');
  billing = await openBilledPlatform({
    OFFSHOOT_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
    OFFSHOOT_PAYMENT_WEBHOOK_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/invoices`,
    OFFSHOOT_PAYMENT_WEBHOOK_KEY: key,
  });
  [payer, debtor] = [await billing.established(), await billing.established()];
});
afterAll(() => {
  for (const server of [provider, platform]) server.close();
});

/** The provider's answer, as the documents have it. */
async function answer(to: string, event: object, by = key): Promise<number> {
  const body = JSON.stringify(event);
  const signature = `${header}..${mac(header, body, by)}`;
  const { status } = await fetch(to, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-jws-signature': signature },
    body,
  });
  return status;
}

const subjects = async ({ owner }: Billed) => (await billing.home.mail(owner.user.email)).map(({ subject }) => subject);

test('an order is closed, told to the provider, and paid or not as the provider says, each told by mail', async () => {
  if (!payer || !debtor) throw new Error('There are no organizations');
  const { invoice } = await invoiced(billing, payer);
  const { invoice: owed } = await invoiced(billing, debtor);
  const statusOf = async ({ owner, path }: Billed, id: string) => (await owner.send('GET', `${path}/orders/${id}`)).json.status;
  await billing.home.mail();
  await billing.db.updateTable('delivery_lanes').set({ due_at: new Date().toISOString() }).execute();
  await billing.home.mail();
  expect(deliveries.length).toBeGreaterThan(new Set(deliveries).size);
  const [told, toldOwed] = [invoices.get(payer.id), invoices.get(debtor.id)];
  if (!told || !toldOwed) throw new Error('The provider was not told');
  expect(told).toMatchObject({ event: 'invoice.issued', invoice: { invoice_number: invoice.invoice_number, outstanding: '24.19' } });

  const { invoice_number, outstanding: amount, currency } = told.invoice;
  const paid = { id: 'evt-1', event: 'paid', invoice_number, amount, currency };
  // Forged, and altered after it was signed.
  expect(await answer(told.answer_to, paid, 'another key of somebody')).toBe(400);
  expect(await answer(told.answer_to, { id: 'evt-0', event: 'failed', invoice_number })).toBe(200);
  expect(await statusOf(payer, invoice.order_id)).toBe('payment_failed_soft_decline');
  expect([await answer(told.answer_to, paid), await answer(told.answer_to, paid)]).toEqual([200, 200]);
  // Replayed, what failed before does not take back that it is paid.
  expect(await answer(told.answer_to, { id: 'evt-0', event: 'failed', invoice_number })).toBe(200);
  expect(await statusOf(payer, invoice.order_id)).toBe('completed');
  expect(await subjects(payer)).toEqual([
    expect.stringMatching(/^Invoice R\d+ for .*: €24.19$/),
    `The payment of invoice ${invoice_number} failed: €24.19`,
    `Invoice ${invoice_number} is paid: €24.19`,
  ]);

  const unpaid = toldOwed.invoice.invoice_number;
  await markPastDue(billing.home.platform, Date.now() + 20 * 86_400_000);
  expect(await answer(toldOwed.answer_to, { id: 'evt-2', event: 'failed', invoice_number: unpaid })).toBe(200);
  expect(await statusOf(debtor, owed.order_id)).toBe('past_due');
  expect((await subjects(debtor)).at(-1)).toBe(`Invoice ${unpaid} is past due: €24.19`);
  expect(await answer(toldOwed.answer_to, { ...paid, id: 'evt-3', invoice_number: unpaid })).toBe(200);
  expect(await statusOf(debtor, owed.order_id)).toBe('completed');
});
