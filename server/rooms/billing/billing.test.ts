import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDiscount } from '../../../cli/discount.ts';
import { invoiceLines, pay } from '../../../cli/invoice.ts';
import { notePrepayment } from '../../../cli/prepayment.ts';
import { setPriceList } from '../../../cli/prices.ts';
import { makeVoucher } from '../../../cli/voucher.ts';
import { startOf } from '../../kernel/days.ts';
import type { Db } from '../../kernel/sql.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { tellOfCost } from './billing-alerts.ts';
import { closeMonths } from './close-orders.ts';
import { downloadUrl } from './download-token.ts';
import { endOfMonth, monthAt, monthsAfter, secondsOf } from './month.ts';
import { nobody } from './payer.ts';
import { correctInvoice, endDiscount, markPaid, setFallback } from './work.ts';
import { markPastDue } from './payment/settle.ts';
import { refreshOrders } from './refresh-orders.ts';
import { workOut } from './work-out.ts';

const providerKey = 'a-key-of-the-provider';
const lastMonth = monthsAfter(monthAt(Date.now()), -1);
let home: TestPlatform;
let db: Db;
let provider: Server;
const told: { body: string; signature: string }[] = [];

beforeAll(async () => {
  provider = createServer((request, reply) => {
    void request.toArray().then((chunks) => {
      told.push({ body: Buffer.concat(chunks as Buffer[]).toString(), signature: String(request.headers['x-jws-signature']) });
      reply.end();
    });
  });
  await new Promise<void>((resolve) => void provider.listen(0, '127.0.0.1', resolve));
  home = await openTestPlatform(undefined, undefined, {
    OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1',
    OFFSHOOT_PAYMENT_WEBHOOK_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`,
    OFFSHOOT_PAYMENT_WEBHOOK_KEY: providerKey,
  });
  ({ db } = home.platform);
  await setPriceList(
    db,
    `
currency: EUR
from: ${lastMonth}
plans: { flexible: 9.99 }
usage: { cpu_app: { price: 20 }, memory_app: { price: 5 }, storage_app_services: { price: 0.50, free: 5 }, ingress_requests: { price: 0.001, free: 1000 } }
licences: { admin_user: 10, viewer_user: 0 }
user_management: { standard: 0, advanced: 5 }
support_levels: { standard: 10, premium: 19 }
addons: { continuous_profiling: { full: 7 } }
allowance: 12.50
vat: { DE: 19, NL: 21 }
seller: { name: Example Hosting, country: DE, invoice_prefix: R, payment: Please transfer it. }
`,
  );
  while (waiting.length < invoicedMax) waiting.push(await established());
  prepaying = await established();
  await notePrepayment(db, [prepaying.name, '10']);
});
afterAll(() => void provider.close());

const invoicedMax = 5;
const waiting: Billed[] = [];
let prepaying: Billed;

let organizations = 0;

interface Billed {
  owner: Person;
  id: string;
  name: string;
  path: string;
  project_id: string;
  subscription: string;
}

/** An organization in the Netherlands with a project, both there since before last month. */
async function established(): Promise<Billed> {
  const owner = await home.person();
  const name = `acme-${(organizations += 1)}`;
  const { id } = (await owner.send('POST', '/organizations', { label: 'Acme', name, country: 'NL' })).json;
  const { project_id } = await sampleProject(owner, id);
  await sql`update plan_records set started_at = ${`${monthsAfter(lastMonth, -1)}T00:00:00Z`} where project_id = ${project_id}`.execute(db);
  await sql`insert into billed_users (organization_id, day, admin_users, viewer_users, user_management, support_level)
    values (${id}, ${lastMonth}, 1, 0, '', '')`.execute(db);
  const { subscription_id } = (await owner.send('GET', `/organizations/${id}/projects/${project_id}`)).json;
  return { owner, id, name, path: `/organizations/${id}`, project_id, subscription: String(subscription_id) };
}

/** Half a CPU and a GB of memory from now on, as a deployment notes it. */
const allocate = ({ id, project_id }: Billed) =>
  sql`insert into allocations (organization_id, project_id, environment, subject, version, amounts, since)
    values (${id}, ${project_id}, 'main', 'deployment', '1', ${JSON.stringify([{ service: 'app', kind: 'app', cpu: 0.5, memory: 1024, disk: 10_240 }])}::jsonb, now())`.execute(
    db,
  );

async function meter({ id, project_id }: Billed, hour: string, requests: number) {
  const metered = { organization_id: id, project_id, environment: 'main', service: '', kind: 'router' };
  const found = await db
    .selectFrom('metered')
    .select('id')
    .where('project_id', '=', project_id)
    .where('kind', '=', 'router')
    .executeTakeFirst();
  const { id: metered_id } = found ?? (await db.insertInto('metered').values(metered).returning('id').executeTakeFirstOrThrow());
  await db
    .insertInto('usage_hours')
    .values({ metered_id, hour, requests: String(requests) })
    .execute();
}

/** Another organization with the invoice of last month. A month is closed once, so they were all there before. */
async function invoiced(billed = waiting.pop()) {
  if (!billed) throw new Error('All organizations with an invoice are used up');
  await closeMonths(home.platform, Date.now());
  const invoice = (await billed.owner.send('GET', `${billed.path}/invoices`)).json.items[0];
  return { ...billed, invoice };
}

const signed = (body: string) => {
  const header = Buffer.from('{"alg":"HS256","b64":false,"crit":["b64"]}').toString('base64url');
  return `${header}..${createHmac('sha256', providerKey).update(`${header}.${body}`).digest('base64url')}`;
};
const tell = (event: object, signature?: string) => {
  const payload = JSON.stringify(event);
  return home.send({
    method: 'POST',
    url: '/payments/events',
    headers: { 'content-type': 'application/json', 'x-jws-signature': signature ?? signed(payload) },
    payload,
  });
};

describe('estimates', () => {
  test('follow the price list, as texts and with format=complex', async () => {
    const { owner, path, subscription } = await established();
    const query = 'plan=flexible&environments=3&storage=10240&user_licenses=2';
    expect((await owner.send('GET', `${path}/subscriptions/estimate?${query}`)).json).toMatchObject({
      plan: '€9.99',
      user_licenses: '€20.00',
      environments: '€0.00',
      storage: '€2.50',
      total: '€32.49',
      options: { cpu_app: '€20.00', ingress_requests: '€0.001' },
    });
    const complex = (await owner.send('GET', `${path}/subscriptions/${subscription}/estimate?plan=flexible&format=complex`)).json;
    expect(complex.total).toEqual({ formatted: '€19.99', amount: 19.99, currency_code: 'EUR', currency_symbol: '€' });
  });

  test('of an organization go on as it is now, until the end of the month and in the next', async () => {
    const billed = await established();
    const { owner, path, subscription } = billed;
    await allocate(billed);
    const next = (await owner.send('GET', `${path}/estimate?current_month=false`)).json;
    // 9.99 for the plan, half a CPU, a GB, 5 GB of storage beyond what is free, one user; and tax.
    expect(next).toMatchObject({
      sub_total: '€37.49',
      total: '€45.36',
      user_licenses: { base: { count: 1, total: '€10.00' } },
      subscriptions: { total: '€27.49', list: [{ total: '€27.49', usage: { cpu: 0.5, memory: 1, storage: 10, environments: 1 } }] },
    });
    const now = Date.now();
    const left = (startOf(endOfMonth(monthAt(now))) - now) / 1000 / secondsOf(monthAt(now));
    const { sub_total } = (await owner.send('GET', `${path}/estimate?format=complex`)).json;
    expect(sub_total.amount).toBeGreaterThan(15 * left);
    expect(sub_total.amount).toBeLessThan(37.5);
    expect((await owner.send('GET', `${path}/subscriptions/${subscription}/current_usage?usage_groups=cpu_app`)).json).toMatchObject({
      cpu_app: { current_usage: 0.5, not_charged: false, type: true },
    });
  });

  test('are in the currency of the country from the month on in which there are prices in it', async () => {
    const owner = await home.person();
    const { id } = (await owner.send('POST', '/organizations', { label: 'Bolt', name: 'bolt', country: 'US' })).json;
    await setPriceList(db, `currency: USD\nfrom: ${endOfMonth(monthAt(Date.now()))}\nlicences: { admin_user: 12 }\n`);
    const total = async (query: string) => (await owner.send('GET', `/organizations/${id}/estimate?${query}`)).json.total;
    expect([await total(''), await total('current_month=false')]).toEqual([expect.stringMatching(/^€(?!0\.00)/), '$12.00']);
  });

  test('decide what can be afforded by those who only pay ahead', async () => {
    const billed = await established();
    const ask = (cpu: string) => billed.owner.send('POST', `/subscriptions/${billed.subscription}/can-afford`, { resources: { cpu } });
    expect((await ask('1000')).status).toBe(200);
    await notePrepayment(db, [billed.name, '30']);
    await setFallback(db, billed.id, null);
    // The plan, a user and tax come to 24.19 already.
    expect((await ask('0.25')).status).toBe(200);
    const refused = await ask('1');
    expect({ status: refused.status, detail: refused.text }).toEqual({
      status: 402,
      detail: expect.stringContaining('€30.00 are prepaid'),
    });
    const guest = await home.person();
    await billed.owner.send('POST', `/projects/${billed.project_id}/user-access`, [
      { user_id: guest.user.id, permissions: ['viewer'], auto_add_member: true },
    ]);
    const answer = await guest.send('POST', `/subscriptions/${billed.subscription}/can-afford`, { resources: { cpu: '1' } });
    expect({ status: answer.status, isToldAmounts: answer.text.includes('€') }).toEqual({ status: 402, isToldAmounts: false });
    expect((await ask('much')).status).toBe(400);
    expect((await billed.owner.send('GET', `${billed.path}/prepayment`)).json.prepayment).toMatchObject({
      balance: { amount: 30 },
      sufficient: true,
      fallback: null,
    });
  });
});

test('records tell what was contracted and used, and are filtered by when', async () => {
  const billed = await established();
  const { owner, path, subscription } = billed;
  await owner.send('PATCH', `${path}/subscriptions/${subscription}`, { plan: 'large', continuous_profiling: 'full' });
  await meter(billed, `${lastMonth}T10:00:00Z`, 150);
  const plans = async (filter: string) =>
    (await owner.send('GET', `${path}/records/plan?${filter}`)).json.items.map(({ plan }: { plan: string }) => plan);
  expect(await plans('')).toEqual(['flexible', 'large']);
  expect(await plans('filter[plan]=large')).toEqual(['large']);
  expect(await plans(`filter[end]=${lastMonth}`)).toEqual(['flexible']);
  expect(await plans(`filter[start]=${monthsAfter(lastMonth, 12)}`)).toEqual(['large']);
  expect(await plans(`filter[started_at][value]=${lastMonth}&filter[started_at][operator]=>`)).toEqual(['large']);
  expect(await plans(`filter[subscription_id]=${Number(subscription) + 1}`)).toEqual([]);
  const used = (await owner.send('GET', `${path}/records/usage?filter[usage_group]=ingress_requests`)).json.items;
  expect(used).toMatchObject([{ subscription_id: subscription, quantity: 150, start: `${lastMonth}T00:00:00.000Z` }]);
  expect((await owner.send('GET', `${path}/records/usage?filter[usage_group]=storage`)).json.items).toHaveLength(2);
});

describe('orders', () => {
  test('are refreshed while the month is open, with vouchers and discounts', async () => {
    const billed = await established();
    const { owner, path, name } = billed;
    await meter(billed, new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString(), 11_000);
    await refreshOrders(home.platform, Date.now());
    const open = async () => (await owner.send('GET', `${path}/orders?mode=details`)).json.items.at(-1);
    const requests = (await open()).line_items.find(({ sku }: { sku: string }) => sku === 'ingress_requests');
    expect(requests).toMatchObject({ total: 10, quantity: '11000 requests' });
    await makeVoucher(db, ['3', 'EUR', `V-${name}`]);
    const { owner: other, path: elsewhere } = await established();
    expect((await owner.send('POST', `${path}/vouchers/apply`, { code: `V-${name}` })).status).toBe(204);
    expect((await open()).components.voucher).toMatchObject({ amount: -3 });
    expect((await owner.send('GET', `${path}/estimate`)).json.vouchers).toBe('€3.00');
    expect((await other.send('POST', `${elsewhere}/vouchers/apply`, { code: `V-${name}` })).json).toMatchObject({ status: 400 });
    expect(await makeDiscount(db, [name, 'allowance', 'default', '2'], Date.now())).toContain(
      'takes €12.50 off each month of Acme, for 2 months',
    );
    const [discount] = (await owner.send('GET', `${path}/discounts`)).json.items;
    expect(discount).toMatchObject({
      type: 'allowance',
      status: 'active',
      discount: { monthly: { amount: 12.5 }, contract_total: { amount: 25 } },
    });
    await sql`update orders set refreshed_at = null where closed_at is null`.execute(db);
    await refreshOrders(home.platform, Date.now());
    expect((await open()).components.discount.amount).toBeLessThan(0);
    // Once it is ended, it takes nothing off this month, and as much as before off months that are over.
    await sql`update discounts set start_month = ${lastMonth}::date where id = ${discount.id}`.execute(db);
    const thisMonth = monthAt(Date.now());
    expect(await endDiscount(db, String(discount.id), thisMonth)).toBe(true);
    const discountIn = async (month: string) => {
      const asked = { id: undefined, organizationId: billed.id, month, payer: nobody };
      return (await workOut(db, home.platform.config, asked, startOf(endOfMonth(month)))).totals.discount;
    };
    expect([await discountIn(lastMonth), await discountIn(thisMonth)]).toEqual([1250n, 0n]);
    expect((await owner.send('GET', `/discounts/${discount.id}`)).json.status).toBe('deactivated');
  });

  test('are refreshed also when one of them cannot be', async () => {
    const [broken, sound] = [await established(), await established()];
    await sql`alter table orders add constraint broken check (organization_id <> ${sql.lit(broken.id)} or refreshed_at is null) not valid`.execute(
      db,
    );
    await expect(refreshOrders(home.platform, Date.now())).rejects.toThrow('broken');
    await sql`alter table orders drop constraint broken`.execute(db);
    const refreshed = await sql`select organization_id from orders
      where refreshed_at is not null and organization_id in (${broken.id}, ${sound.id})`.execute(db);
    expect(refreshed.rows).toEqual([{ organization_id: sound.id }]);
  });

  test('charge the levels that an organization chooses', async () => {
    const billed = await established();
    const { owner, path } = billed;
    expect((await owner.send('PATCH', `${path}/addons`, { support_level: 'golden' })).status).toBe(400);
    expect((await owner.send('PATCH', `${path}/addons`, { support_level: 'standard', user_management: 'advanced' })).json).toMatchObject({
      current: { support_level: { standard: 10 }, user_management: { advanced: 5 } },
      upgrades_available: { support_level: ['premium'], user_management: [] },
    });
    // A level that is not sold costs nothing, whatever it is called.
    const unsold = { continuous_profiling: 'constructor' };
    expect((await owner.send('PATCH', `${path}/subscriptions/${billed.subscription}`, unsold)).status).toBe(200);
    expect((await owner.send('GET', `${path}/subscriptions/${billed.subscription}/addons`)).json.current).toMatchObject({
      continuous_profiling: { constructor: 0 },
    });
    // 9.99 + 10 + 5, and ten percent of that.
    const next = (await owner.send('GET', `${path}/estimate?current_month=false`)).json;
    expect(next).toMatchObject({ user_management: '€5.00', support_level: '€2.50', sub_total: '€27.49' });

    // The day is charged by the dearest level that was had on it, also when nobody has it any more at its end.
    await owner.send('PATCH', `${path}/addons`, { support_level: 'premium' });
    await owner.send('PATCH', `${path}/addons`, { support_level: 'standard', user_management: '' });
    await refreshOrders(home.platform, Date.now());
    const { rows } =
      await sql`select support_level, user_management from billed_users where organization_id = ${billed.id} order by day desc limit 1`.execute(
        db,
      );
    expect(rows).toEqual([{ support_level: 'premium', user_management: 'advanced' }]);
  });
});

describe('invoices', () => {
  test('are downloaded by whoever has the link, for a while', async () => {
    const { invoice } = await invoiced();
    expect(invoice).toMatchObject({ type: 'invoice', status: 'pending', total: 24.19, currency: 'EUR', company: 'Acme' });
    const at = (url: string) => home.send({ method: 'GET', url: url.replace(home.platform.config.url, '') });
    const pdf = await at(invoice.invoice_pdf.url);
    expect(pdf).toMatchObject({ status: 200, headers: { 'content-type': 'application/pdf' }, text: expect.stringMatching(/^%PDF-/) });
    expect((await at(`${invoice.invoice_pdf.url}x`)).status).toBe(400);
    expect((await at(downloadUrl(home.platform, invoice.id, -1))).status).toBe(400);
  });

  test('are paid when the provider says so, signed and once', async () => {
    const { owner, path, invoice: issued } = await invoiced();
    const { invoice_number, order_id } = issued;
    await home.mail();
    const news = told.map(({ body, signature }) => ({ ...JSON.parse(body), isSigned: signature === signed(body) }));
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

  test('that nobody pays are past due after their term, and those who pay are reminded once', async () => {
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

  test('are corrected by credit memos, never by more than they ask for', async () => {
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

  test('that are canceled take no payment, however often it is told', async () => {
    const { owner, path, invoice } = await invoiced();
    const { invoice_number, order_id } = invoice;
    await correctInvoice(home.platform, invoice_number, 2419n, 'Not ordered', Date.now());
    const paid = { id: `c${order_id}`, event: 'paid', invoice_number, amount: '24.19', currency: 'EUR' };
    expect([(await tell(paid)).status, (await tell(paid)).status]).toEqual([409, 409]);
    expect((await owner.send('GET', `${path}/orders/${order_id}`)).json.status).toBe('canceled');
  });

  test('of which a part was prepaid are given back by two credit memos', async () => {
    const { owner, path, invoice } = await invoiced(prepaying);
    const correct = (amount: bigint) => correctInvoice(home.platform, invoice.invoice_number, amount, 'Not ordered', Date.now());
    await expect(correct(2419n)).rejects.toThrow('make two credit memos: one over €14.19, then one over €10.00');
    expect([(await correct(1419n)).status, (await correct(1000n)).status]).toEqual(['paid', 'refund_pending']);
    expect((await owner.send('GET', `${path}/invoices/${invoice.id}`)).json.status).toBe('paid');
  });
});

test('whoever pays is told once a day when the month costs more than the alert says', async () => {
  const billed = await established();
  const { owner, path } = billed;
  expect((await owner.send('PATCH', `${path}/alerts/billing`, { active: true })).status).toBe(400);
  await owner.send('PATCH', `${path}/profile`, { billing_contact: `money@${billed.name}.example` });
  const look = () => tellOfCost.run(home.platform, new AbortController().signal);
  const mails = async (to: string) => (await home.mail(to)).filter(({ subject }) => subject.includes('will come to'));
  await owner.send('PATCH', `${path}/alerts/billing`, { active: true, config: { threshold: 1000 } });
  await look();
  expect(await mails(owner.user.email)).toEqual([]);
  await owner.send('PATCH', `${path}/alerts/billing`, { config: { threshold: 15 } });
  await look();
  await look();
  for (const to of [owner.user.email, `money@${billed.name}.example`]) expect(await mails(to)).toHaveLength(1);
  expect((await owner.send('GET', `${path}/alerts/billing`)).json).toMatchObject({
    active: true,
    alerts_sent: 1,
    config: { threshold: { amount: 15, currency_code: 'EUR' }, mode: 'estimate' },
  });
});
