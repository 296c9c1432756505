/** One of everything about money: an organization with a month that is closed, its invoice, a voucher, a discount and a prepayment. */
import { sql } from 'kysely';
import { ulid } from '../kernel/id.ts';
import type { Person } from './platform.ts';

type Address = Record<string, string>;
type Project = { organization_id: string; project_id: string };

const month = '2026-01-01';

const documentOf = (number: string, owner: Person) => ({
  type: 'invoice',
  number,
  corrects: null,
  month,
  issued_on: '2026-02-01',
  due_on: '2026-02-15',
  currency: 'EUR',
  seller: { name: 'Example Hosting', address: ['1 Main Street', '10115 Berlin'], vat_number: 'DE123456789', email: '', payment: '' },
  payer: payerOf(owner),
  groups: [{ title: 'Sample', lines: [{ product: 'Plan flexible', quantity: '', amount: '1000' }], amount: '1000' }],
  totals: { baseprice: '1000', discount: '0', voucher: '100', vat: '189', total: '1089', prepaid: '0' },
  vat_percent: '21',
  is_reverse_charged: false,
  notes: '',
});

const payerOf = ({ user }: Person) => ({
  owner_id: user.id,
  label: 'Sample',
  company: 'Analytical Engines',
  vat_number: 'NL123456782B01',
  email: user.email,
  currency: 'EUR',
  address: { country: 'NL', name_line: 'Ada Lovelace', locality: 'Amsterdam', postal_code: '' },
});

/** A closed order with an invoice that is not paid, written straight into the tables. */
export async function sampleBilled(owner: Person, { organization_id, project_id }: Project) {
  const { db } = owner.home.platform;
  const project = { id: project_id, subscription_id: 1, title: 'Sample' };
  const lines = [{ type: 'project_plan', project, sku: 'flexible', product: 'Plan flexible', quantity: '', amount: '1000' }];
  return db.transaction().execute(async (tx) => {
    const { rows: orders } = await sql<{ id: string }>`
      insert into orders (organization_id, month, currency, lines, baseprice, voucher, vat, vat_percent, total, payer, refreshed_at, closed_at, due_on)
      values (${organization_id}, ${month}, 'EUR', ${JSON.stringify(lines)}::jsonb, 1000, 100, 189, '21', 1089,
        ${JSON.stringify(payerOf(owner))}::jsonb, now(), now(), '2026-02-15') returning id::text`.execute(tx);
    const order_id = orders[0]?.id ?? '';
    const { rows: numbers } = await sql<{ last: number }>`update invoice_numbers set last = last + 1 returning last`.execute(tx);
    const number = numbers[0]?.last ?? 0;
    const { rows: invoices } = await sql<{ id: string }>`
      insert into invoices (number, invoice_number, type, order_id, organization_id, status, currency, total, issued_on, due_on, document)
      values (${number}, ${`R${number}`}, 'invoice', ${order_id}, ${organization_id}, 'pending', 'EUR', 1089, '2026-02-01', '2026-02-15',
        ${JSON.stringify(documentOf(`R${number}`, owner))}::jsonb) returning id::text`.execute(tx);
    const code = ulid();
    await sql`insert into vouchers (code, currency, amount, organization_id, applied_at) values (${code}, 'EUR', 5000, ${organization_id}, now())`.execute(
      tx,
    );
    await sql`insert into voucher_uses (code, order_id, amount) values (${code}, ${order_id}, 100)`.execute(tx);
    const { rows: discounts } = await sql<{ id: number }>`
      insert into discounts (organization_id, type, currency, monthly, start_month, months)
      values (${organization_id}, 'startup', 'EUR', 500, ${month}, 12) returning id`.execute(tx);
    await sql`insert into prepayments (organization_id, fallback) values (${organization_id}, 'invoice')`.execute(tx);
    await sql`insert into prepayment_transactions (organization_id, message, currency, amount)
      values (${organization_id}, 'Paid ahead', 'EUR', 2000)`.execute(tx);
    const metered = { organization_id, project_id, environment: 'main', service: 'app', kind: 'router' };
    const { id } = await tx.insertInto('metered').values(metered).returning('id').executeTakeFirstOrThrow();
    await tx.insertInto('usage_hours').values({ metered_id: id, hour: '2026-01-05T10:00:00Z', requests: '150' }).execute();
    return { organization_id, order_id, invoice_id: invoices[0]?.id ?? '', id: String(discounts[0]?.id ?? '') };
  });
}

/** A voucher that nobody has yet, as the body that applies it. */
export async function freshVoucher({ home: { platform } }: Person) {
  const code = ulid();
  await sql`insert into vouchers (code, currency, amount) values (${code}, 'EUR', 5000)`.execute(platform.db);
  return { code };
}

/** The payment of the order has to be confirmed at a provider. */
export async function withAuthorization({ home: { platform } }: Person, { order_id = '' }: Address) {
  await sql`update orders set authorization_url = 'https://pay.example/confirm' where id = ${order_id}::bigint`.execute(platform.db);
}

/** What follows the question mark of the address at which an invoice is downloaded. */
export async function downloadQuery(owner: Person, { organization_id = '', invoice_id = '' }: Address): Promise<Address> {
  const { json } = await owner.send('GET', `/organizations/${organization_id}/invoices/${invoice_id}`);
  return { '?': String(json.invoice_pdf.url).split('?')[1] ?? '' };
}
