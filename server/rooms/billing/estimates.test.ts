import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { makeDiscount } from '../../../cli/discount.ts';
import { notePrepayment } from '../../../cli/prepayment.ts';
import { setPriceList } from '../../../cli/prices.ts';
import { startOf } from '../../kernel/days.ts';
import { endOfMonth, monthAt, monthsAfter, secondsOf } from './month.ts';
import { setFallback } from './work.ts';
import { lastMonth, meter, openBilledPlatform, type Billed, type BilledPlatform } from './test-billed.ts';

let billing: BilledPlatform;
let home: BilledPlatform['home'];
let db: BilledPlatform['db'];
let established: BilledPlatform['established'];

beforeAll(async () => {
  billing = await openBilledPlatform();
  ({ home, db, established } = billing);
});

/** Half a CPU and a GB of memory from now on, as a deployment notes it. */
const allocate = ({ id, project_id }: Billed) =>
  sql`insert into allocations (organization_id, project_id, environment, subject, version, amounts, since)
    values (${id}, ${project_id}, 'main', 'deployment', '1', ${JSON.stringify([{ service: 'app', kind: 'app', cpu: 0.5, memory: 1024, disk: 10_240 }])}::jsonb, now())`.execute(
    db,
  );

test('estimates follow the price list, as texts and with format=complex', async () => {
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

test('estimates of an organization go on as it is now, until the end of the month and in the next', async () => {
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

test('an estimate shows what the allowance of the price list would take off, once', async () => {
  const { owner, path, name } = await established();
  const total = async (query: string) =>
    (await owner.send('GET', `${path}/estimate?current_month=false&format=complex${query}`)).json.total.amount;
  // 19.99 less 12.50, and 21 percent.
  expect([await total(''), await total('&simulate_discount=false')]).toEqual([24.19, 24.19]);
  expect([await total('&simulate_discount=allowance'), await total('&simulate_discount=true')]).toEqual([9.06, 9.06]);
  const refused = await owner.send('GET', `${path}/estimate?simulate_discount=enterprise`);
  expect([refused.status, Object.keys(refused.json.detail)]).toEqual([400, ['simulate_discount']]);
  await makeDiscount(db, [name, 'allowance', 'default', '3'], Date.now());
  expect([await total(''), await total('&simulate_discount=allowance')]).toEqual([9.06, 9.06]);
});

test('a company elsewhere in the Union is charged no tax by a VAT number of another country than the seller, and no other number', async () => {
  const { owner, path } = await established();
  const tax = async (vat_number: string) => {
    expect((await owner.send('PATCH', `${path}/profile`, { vat_number })).status).toBe(200);
    const { total, sub_total } = (await owner.send('GET', `${path}/estimate?current_month=false&format=complex`)).json;
    return Math.round((total.amount - sub_total.amount) * 100);
  };
  expect([await tax(''), await tax('NL123456782B01'), await tax('BE0428759497')]).toEqual([420, 0, 0]);
  // The seller is in Germany, and Switzerland and Northern Ireland are no part of the Union where services are sold.
  expect([await tax('DE136695976'), await tax('CHE107787577'), await tax('XI980780684')]).toEqual([420, 420, 420]);
});

test('estimates are in the currency of the country from the month on in which there are prices in it', async () => {
  const owner = await home.person();
  const { id } = (await owner.send('POST', '/organizations', { label: 'Bolt', name: 'bolt', country: 'US' })).json;
  await setPriceList(db, `currency: USD\nfrom: ${endOfMonth(monthAt(Date.now()))}\nlicences: { admin_user: 12 }\n`);
  const total = async (query: string) => (await owner.send('GET', `/organizations/${id}/estimate?${query}`)).json.total;
  expect([await total(''), await total('current_month=false')]).toEqual([expect.stringMatching(/^€(?!0\.00)/), '$12.00']);
});

test('estimates decide what can be afforded by those who only pay ahead', async () => {
  const billed = await established();
  const ask = (cpu: string) => billed.owner.send('POST', `/subscriptions/${billed.subscription}/can-afford`, { resources: { cpu } });
  expect((await ask('1000')).status).toBe(200);
  await notePrepayment(db, [billed.name, '30']);
  await setFallback(db, billed.id, null);
  // The plan, a user and tax come to 24.19 already.
  expect((await ask('0.2')).status).toBe(200);
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

test('records tell what was contracted and used, and are filtered by when', async () => {
  const billed = await established();
  const { owner, path, subscription } = billed;
  await owner.send('PATCH', `${path}/subscriptions/${subscription}`, { plan: 'large', continuous_profiling: 'full' });
  await meter(billing, billed, `${lastMonth}T10:00:00Z`, 150);
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
