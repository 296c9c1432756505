import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { makeDiscount } from '../../../cli/discount.ts';
import { makeVoucher } from '../../../cli/voucher.ts';
import { startOf } from '../../kernel/days.ts';
import { tellOfCost } from './billing-alerts.ts';
import { endOfMonth, monthAt } from './month.ts';
import { nobody } from './payer.ts';
import { refreshOrders } from './refresh-orders.ts';
import { lastMonth, meter, openBilledPlatform, type BilledPlatform } from './test-billed.ts';
import { endDiscount } from './work.ts';
import { workOut } from './work-out.ts';

let billing: BilledPlatform;
let home: BilledPlatform['home'];
let db: BilledPlatform['db'];
let established: BilledPlatform['established'];

beforeAll(async () => {
  billing = await openBilledPlatform();
  ({ home, db, established } = billing);
});

test('orders are refreshed while the month is open, with vouchers and discounts', async () => {
  const billed = await established();
  const { owner, path, name } = billed;
  await meter(billing, billed, new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString(), 11_000);
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

test('orders are refreshed also when one of them cannot be', async () => {
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

test('orders charge the levels that an organization chooses', async () => {
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
