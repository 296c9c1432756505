/** An organization that has to pay for something: prices hold since last month, and last month was closed, with an invoice. */
import { sql } from 'kysely';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { secretKeysOf } from '../cli/backup.ts';
import { withPlainDatabase } from '../cli/database.ts';
import { readConfig } from '../server/config.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { closeMonths } from '../server/rooms/billing/close-orders.ts';
import { monthAt, monthsAfter } from '../server/rooms/billing/month.ts';
import type { Installation } from './installation.ts';

const pricesSince = (day: string) => `
currency: EUR
from: ${day}
plans: { flexible: 9 }
usage: { cpu_app: { price: 18.10 }, memory_app: { price: 6.50 }, storage_app_services: { price: 0.40, free: 5 } }
licences: { admin_user: 10, viewer_user: 0 }
vat: { NL: 21, default: 21 }
seller: { name: Example Hosting, country: NL, invoice_prefix: R }
`;

/** The platform itself would look at the month within ten minutes. */
export async function billLastMonth({ data, url, run }: Installation, organization: string) {
  const last = monthsAfter(monthAt(Date.now()), -1);
  const before = `${monthsAfter(last, -1)}T00:00:00Z`;
  const file = join(data, 'prices.yaml');
  await writeFile(file, pricesSince(last));
  await run(['prices', 'set', file]);
  const config = { ...readConfig({ OFFSHOOT_DATA: data }), url };
  await withPlainDatabase(config, async (_, db) => {
    await sql`update plan_records set started_at = ${before} where organization_id = ${organization}`.execute(db);
    await sql`insert into billed_users (organization_id, day, admin_users, viewer_users, user_management, support_level)
      values (${organization}, ${last}, 2, 1, '', '')`.execute(db);
    await closeMonths({ db, config, secrets: openSecrets(secretKeysOf(config)) }, Date.now());
  });
}
