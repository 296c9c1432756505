/** A simulated month: two organizations in two currencies, prices that change within it, a voucher, a prepayment, a project that is deleted, and a closer that is killed again and again. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { notePrepayment } from '../../../cli/prepayment.ts';
import { setPriceList } from '../../../cli/prices.ts';
import { makeVoucher } from '../../../cli/voucher.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { closeMonths } from './close-orders.ts';
import type { Asked } from './test-closer.ts';

const key = randomBytes(32);
let home: TestPlatform;
let ada: Person;
let bob: Person;
let acme: string;
let bolt: string;
let shop: string;
let old: string;

const euros = (from: string, cpu: string) => `
currency: EUR
from: ${from}
plans: { flexible: 9 }
usage:
  cpu_app: { price: ${cpu}, free: 0.1 }
  ingress_requests: { price: 0.0000002 }
licences: { admin_user: 10 }
vat: { NL: 21 }
seller: { name: Example Hosting, country: DE, invoice_prefix: R, payment_days: 10 }
`;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_REGION_CARBON_INTENSITY: '50' });
  home.platform.secrets = openSecrets([key]);
  const { db } = home.platform;
  [ada, bob] = [await home.person(), await home.person()];
  acme = (await ada.send('POST', '/organizations', { label: 'Acme', name: 'acme', country: 'NL' })).json.id;
  bolt = (await bob.send('POST', '/organizations', { label: 'Bolt', name: 'bolt', country: 'US' })).json.id;
  shop = (await sampleProject(ada, acme)).project_id;
  old = (await sampleProject(ada, acme)).project_id;
  await sampleProject(bob, bolt);
  await sql`update projects set title = 'Shop' where id = ${shop}`.execute(db);
  await sql`update projects set status = 'deleted' where id = ${old}`.execute(db);
  await sql`update plan_records set started_at = '2025-12-01T00:00:00Z'`.execute(db);
  await sql`update plan_records set ended_at = '2026-01-11T00:00:00Z' where project_id = ${old}`.execute(db);
  await sql`insert into billed_users (organization_id, day, admin_users, viewer_users, user_management, support_level)
    values (${acme}, '2025-12-31', 1, 0, '', ''), (${bolt}, '2025-12-31', 1, 0, '', '')`.execute(db);
  await use(shop, '2026-01-31', { cpu_allocated: 0.5 * 86_400_000, requests: 1_000_000 });
  await use(old, '2026-01-10', { cpu_allocated: 86_400_000, requests: 0 });
  await setPriceList(db, euros('2026-01-01', '18.10'));
  await setPriceList(db, euros('2026-01-16', '20'));
  await setPriceList(db, 'currency: USD\nfrom: 2026-01-01\nplans: { flexible: 12 }\n');
  await makeVoucher(db, ['50', 'EUR', 'WELCOME']);
  await ada.send('POST', `/organizations/${acme}/vouchers/apply`, { code: 'WELCOME' });
  await notePrepayment(db, ['bolt', '5']);
});

/** So much on each day from the first of January on. */
async function use(project_id: string, until: string, each: { cpu_allocated: number; requests: number }) {
  const { db } = home.platform;
  const metered = { organization_id: acme, project_id, environment: 'main', service: 'app', kind: 'app' };
  const { id } = await db.insertInto('metered').values(metered).returning('id').executeTakeFirstOrThrow();
  await sql`insert into usage_hours (metered_id, hour, cpu_allocated, requests)
    select ${id}, day, ${each.cpu_allocated}, nullif(${each.requests}::bigint, 0)
    from generate_series('2026-01-01T00:00:00Z'::timestamptz, ${until}::timestamptz, interval '1 day') as day`.execute(db);
}

/** Answers with how it ended. */
async function closeIn(now: string, killedAt: number): Promise<NodeJS.Signals | number | null> {
  const { config } = home.platform;
  const asked: Asked = { databaseUrl: home.databaseUrl, data: config.data, key: key.toString('hex'), now: Date.parse(now), killedAt };
  const closer = spawn(process.execPath, [join(import.meta.dirname, 'test-closer.ts'), JSON.stringify(asked)], { stdio: 'inherit' });
  const [code, signal] = (await once(closer, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal ?? code;
}

const everyRow = async () => ({
  orders: (await sql`select * from orders where closed_at is not null order by id`.execute(home.platform.db)).rows,
  invoices: (await sql`select * from invoices order by id`.execute(home.platform.db)).rows,
  uses: (await sql`select * from voucher_uses order by order_id, code`.execute(home.platform.db)).rows,
  prepaid: (await sql`select * from prepayment_transactions order by id`.execute(home.platform.db)).rows,
});

const orderOf = async (person: Person, organization: string, nth: number) =>
  (await person.send('GET', `/organizations/${organization}/orders?mode=details`)).json.items[nth];

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
const linesOf = (order: any) => order.line_items.map(({ type, product, total }: any) => [type, product, total]);

const cents = (amount: number) => Math.round(amount * 100);

test('a month is closed once, whenever its closer is killed, and adds up', { timeout: 240_000 }, async () => {
  const { db } = home.platform;
  let kills = 0;
  for (let killedAt = 1; (await closeIn('2026-02-02T00:00:00Z', killedAt)) === 'SIGKILL'; killedAt += 3) {
    kills += 1;
    const { orders, invoices } = await everyRow();
    expect(invoices.length).toBe(orders.length);
    expect(invoices.map((invoice) => (invoice as { number: number }).number)).toEqual(invoices.map((_, index) => index + 1));
  }
  expect(kills).toBeGreaterThan(10);

  const first = await orderOf(ada, acme, 0);
  // 0.5 CPUs for 15 days at 18.10 and for 16 at 20, of which the first 3.1 days of a CPU are free, 3 percent less in a green region: (4.4 * 18.10 + 8 * 20) / 31 * 0.97.
  // The deleted project: a CPU for 10 days, (6.9 * 18.10) / 31 * 0.97, and 10 of 31 days of its plan.
  expect(linesOf(first)).toEqual([
    ['project_plan', 'Plan flexible', 9],
    ['project_feature', 'CPU of applications', 7.5],
    ['project_feature', 'Requests in', 6.2],
    ['project_subtotal', 'Shop', 22.7],
    ['project_plan', 'Plan flexible', 2.9],
    ['project_feature', 'CPU of applications', 3.91],
    ['project_subtotal', 'Sample', 6.81],
    ['organization_feature', 'Users', 10],
    ['organization_subtotal', 'Organization', 10],
  ]);
  expect(first).toMatchObject({
    status: 'completed',
    total: 0,
    components: { baseprice: { amount: 39.51 }, voucher: { amount: -39.51 }, vat: { amount: 0 } },
  });
  expect(await orderOf(bob, bolt, 0)).toMatchObject({ status: 'pending', total: 1200, currency: 'USD', total_formatted: '$12.00' });
  expect((await bob.send('GET', `/organizations/${bolt}/prepayment/transactions`)).json.transactions.map(amountIn)).toEqual([5, -5]);

  // What is closed never changes, whatever becomes of prices, addresses, metering or titles.
  const before = await everyRow();
  await expect(setPriceList(db, euros('2026-01-31', '1'))).rejects.toThrow('is billed');
  await ada.send('PATCH', `/organizations/${acme}/address`, { country: 'DE' });
  await ada.send('PATCH', `/organizations/${acme}/address`, { country: 'NL' });
  await sql`update usage_hours set requests = 9000000`.execute(db);
  await sql`update projects set title = 'Renamed' where id = ${shop}`.execute(db);
  await closeMonths(home.platform, Date.parse('2026-02-10T00:00:00Z'));
  expect(await everyRow()).toEqual(before);
  await expect(sql`update orders set total = 1`.execute(db)).rejects.toThrow('is closed and cannot change');
  await expect(sql`delete from invoices`.execute(db)).rejects.toThrow('is issued and cannot change');

  // The next month takes what is left of the voucher, and the rest is taxed: 9 + 10 - 10.49, and 21 percent.
  // An order that cannot be closed keeps no other waiting, and is closed by the next look that can.
  const nextMonth = Date.parse('2026-03-01T00:10:00Z');
  await sql`alter table orders add constraint broken check (organization_id <> ${sql.lit(acme)} or closed_at is null) not valid`.execute(
    db,
  );
  await expect(closeMonths(home.platform, nextMonth)).rejects.toThrow('broken');
  expect(
    (await everyRow()).invoices.map((invoice) => (invoice as { organization_id: string }).organization_id).slice(before.invoices.length),
  ).toEqual([bolt]);
  await sql`alter table orders drop constraint broken`.execute(db);
  await closeMonths(home.platform, nextMonth);
  const second = await orderOf(ada, acme, 1);
  expect(second).toMatchObject({
    status: 'pending',
    total: 1030,
    components: { baseprice: { amount: 19 }, voucher: { amount: -10.49 }, vat: { amount: 1.79 } },
  });
  for (const order of [first, second]) {
    const sum = (isSubtotal: boolean) =>
      order.line_items
        .filter((line: { exclude_from_invoice: boolean }) => line.exclude_from_invoice === isSubtotal)
        .reduce((total: number, line: { total: number }) => total + cents(line.total), 0);
    expect([sum(false), sum(true)]).toEqual([cents(order.components.baseprice.amount), cents(order.components.baseprice.amount)]);
    const parts = Object.values(order.components as Record<string, { amount: number }>).reduce(
      (total, { amount }) => total + cents(amount),
      0,
    );
    expect(parts).toBe(order.total);
  }
  expect((await ada.send('GET', `/organizations/${acme}/vouchers`)).json).toMatchObject({
    vouchers_total: '50.00',
    vouchers_remaining_balance: '0.00',
    vouchers: [{ code: 'WELCOME', orders: [{ order_discount: '39.51' }, { order_discount: '10.49' }] }],
  });
  expect((await everyRow()).orders.slice(0, before.orders.length)).toEqual(before.orders);
  const { rows } = await sql<{ invoice_number: string }>`select invoice_number from invoices order by number`.execute(db);
  expect(rows.map(({ invoice_number }) => invoice_number.replace('R', ''))).toEqual(['000001', '000002', '000003', '000004']);
  // Each invoice was told of once.
  expect((await home.mail(ada.user.email)).map(({ subject }) => subject)).toEqual([
    expect.stringMatching(/^Invoice R00000\d for January 2026: €0.00$/),
    expect.stringMatching(/^Invoice R00000\d for February 2026: €10.30$/),
  ]);
});

const amountIn = ({ amount }: { amount: { amount: number } }) => amount.amount;
