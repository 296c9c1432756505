/** Organizations that pay, for tests of billing: a platform with prices since last month and a payment provider that writes down what it is told. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { afterAll } from 'vitest';
import { setPriceList } from '../../../cli/prices.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { closeMonths } from './close-orders.ts';
import { monthAt, monthsAfter } from './month.ts';

const providerKey = 'a-key-of-the-provider';
export const lastMonth = monthsAfter(monthAt(Date.now()), -1);

const prices = `
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
`;

export interface Billed {
  owner: Person;
  id: string;
  name: string;
  path: string;
  project_id: string;
  subscription: string;
}

export type BilledPlatform = Awaited<ReturnType<typeof openBilledPlatform>>;

export async function openBilledPlatform(settings: Record<string, string> = {}) {
  const told: { body: string; signature: string }[] = [];
  const provider = createServer((request, reply) => {
    void request.toArray().then((chunks) => {
      told.push({ body: Buffer.concat(chunks as Buffer[]).toString(), signature: String(request.headers['x-jws-signature']) });
      reply.end();
    });
  });
  await new Promise<void>((resolve) => void provider.listen(0, '127.0.0.1', resolve));
  const home = await openTestPlatform(undefined, undefined, {
    OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1',
    OFFSHOOT_PAYMENT_WEBHOOK_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`,
    OFFSHOOT_PAYMENT_WEBHOOK_KEY: providerKey,
    ...settings,
  });
  afterAll(() => void provider.close());
  await setPriceList(home.platform.db, prices);
  let organizations = 0;
  return {
    home,
    db: home.platform.db,
    told,
    established: () => established(home, (organizations += 1)),
    tell: (event: object, signature?: string) => tell(home, event, signature),
  };
}

/** An organization in the Netherlands with a project, both there since before last month; the provider knows how it pays. */
async function established(home: TestPlatform, nth: number): Promise<Billed> {
  const { db } = home.platform;
  const owner = await home.person();
  const name = `acme-${nth}`;
  const { id } = (await owner.send('POST', '/organizations', { label: 'Acme', name, country: 'NL' })).json;
  await tell(home, { id: crypto.randomUUID(), event: 'source_added', organization_id: id });
  const { project_id } = await sampleProject(owner, id);
  await sql`update plan_records set started_at = ${`${monthsAfter(lastMonth, -1)}T00:00:00Z`} where project_id = ${project_id}`.execute(db);
  await sql`insert into billed_users (organization_id, day, admin_users, viewer_users, user_management, support_level)
    values (${id}, ${lastMonth}, 1, 0, '', '')`.execute(db);
  const { subscription_id } = (await owner.send('GET', `/organizations/${id}/projects/${project_id}`)).json;
  return { owner, id, name, path: `/organizations/${id}`, project_id, subscription: String(subscription_id) };
}

/** So many requests in an hour. */
export async function meter({ db }: BilledPlatform, { id, project_id }: Billed, hour: string, requests: number): Promise<void> {
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

/** With the invoice of last month. A month is closed once, so whoever is to have one was there before. */
export async function invoiced({ home }: BilledPlatform, billed: Billed) {
  await closeMonths(home.platform, Date.now());
  const invoice = (await billed.owner.send('GET', `${billed.path}/invoices`)).json.items[0];
  return { ...billed, invoice };
}

export const signed = (body: string, key = providerKey): string => {
  const header = Buffer.from('{"alg":"HS256","b64":false,"crit":["b64"]}').toString('base64url');
  return `${header}..${createHmac('sha256', key).update(`${header}.${body}`).digest('base64url')}`;
};

function tell(home: TestPlatform, event: object, signature?: string) {
  const payload = JSON.stringify(event);
  return home.send({
    method: 'POST',
    url: '/payments/events',
    headers: { 'content-type': 'application/json', 'x-jws-signature': signature ?? signed(payload) },
    payload,
  });
}
