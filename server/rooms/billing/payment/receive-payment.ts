/**
 * What a payment provider tells: signed with the key that it shares with the platform, as the platform signs what it sends. An event is heard once, by its id: whoever is
 * not sure that it arrived sends it again.
 */
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { parseJson } from '../../../kernel/parse.ts';
import type { Arrival } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { isSame } from '../../../kernel/secrets.ts';
import { flawOf, oneOf } from '../../../kernel/stored-json.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { amountText } from '../../prices/public.ts';
import { countAttempts, networkOf } from '../../sign-in/public.ts';
import { organizationAt } from '../../organizations/public.ts';
import { invoiceById, lockInvoice, type Invoice } from '../invoices.ts';
import { tellOfInvoice, type InvoiceNews, type Teller } from '../tell-of-invoice.ts';
import { askForAuthorization, settleFailed, settlePaid } from './settle.ts';
import { addSource, removeSource } from './sources.ts';

const id = Type.String({ minLength: 1, maxLength: 200, pattern: '^[ -~]+$' });

const PaymentEvent = Type.Object({
  id,
  event: oneOf('paid', 'failed', 'declined', 'authorization_required'),
  invoice_number: Type.String({ minLength: 1, maxLength: 60, pattern: '^[ -~]+$' }),
  /** Of `paid`: as a decimal, such as 12.50. */
  amount: Type.Optional(Type.String({ maxLength: 40 })),
  currency: Type.Optional(Type.String({ maxLength: 3 })),
  /** Of `authorization_required`: where whoever pays confirms the payment. */
  url: Type.Optional(Type.String({ maxLength: 2000, pattern: '^https://[!-~]+$' })),
});
type PaymentEvent = Static<typeof PaymentEvent>;

const SourceEvent = Type.Object({ id, event: oneOf('source_added', 'source_removed'), organization_id: Type.String({ maxLength: 26 }) });
type SourceEvent = Static<typeof SourceEvent>;

export async function receivePayment(platform: Teller & Pick<Platform, 'db'>, { headers, body, address }: Arrival): Promise<void> {
  const { db, config } = platform;
  const key = config.payment.webhook?.shared_key;
  if (key === undefined || key === null) throw new Problem('conflict', 'This installation has no payment provider.');
  if (!isSignedWith(key, body, headers['x-jws-signature'])) {
    await countAttempts(db, [{ limit: 'wrong signature from address', of: networkOf(address) }]);
    throw new Problem('invalid-request', 'The header x-jws-signature does not sign this body with the key of the payment provider.');
  }
  const event = parseJson(body);
  if (Value.Check(SourceEvent, event)) return db.transaction().execute((tx) => hearOfSource(tx, event));
  if (!Value.Check(PaymentEvent, event)) throw new Problem('invalid-request', `The event cannot be read: ${flawOf(PaymentEvent, event)}.`);
  await db.transaction().execute((tx) => hear(tx, platform, event));
}

/** A detached JSON Web Signature (RFC 7797) over the body as it came, by whatever header the provider protects with it. */
function isSignedWith(key: string, body: string, signature: string | string[] | undefined): boolean {
  const [header = '', payload, mac = ''] = typeof signature === 'string' ? signature.split('.') : [];
  if (payload !== '' || !isHs256(header)) return false;
  return isSame(mac, createHmac('sha256', key).update(`${header}.${body}`).digest('base64url'));
}

function isHs256(header: string): boolean {
  try {
    const { alg, b64 } = JSON.parse(Buffer.from(header, 'base64url').toString()) as Record<string, unknown>;
    return alg === 'HS256' && b64 === false;
  } catch {
    return false;
  }
}

async function hearOfSource(tx: Tx, event: SourceEvent): Promise<void> {
  const organization = await organizationAt(tx, event.organization_id);
  if (!organization) throw new Problem('invalid-request', `There is no organization ${event.organization_id}.`);
  if (!(await isNews(tx, event, null))) return;
  if (event.event === 'source_added') await addSource(tx, organization.id);
  else await removeSource(tx, organization.id);
}

/** Whether nobody has told of it before. */
async function isNews(tx: Tx, event: { id: string; event: string }, invoiceId: string | null): Promise<boolean> {
  const { rows } = await sql`insert into payment_events (id, invoice_id, event) values (${event.id}, ${invoiceId}::bigint, ${event.event})
    on conflict do nothing returning id`.execute(tx);
  return rows.length > 0;
}

async function hear(tx: Tx, platform: Teller, event: PaymentEvent): Promise<void> {
  const invoice = await lockInvoice(tx, event.invoice_number);
  if (!invoice) throw new Problem('invalid-request', `There is no invoice ${event.invoice_number}.`);
  const isHeard = await isNews(tx, event, invoice.id);
  // That a credit memo could not be paid back says nothing of the order.
  const isForOrder = invoice.type === 'invoice' || event.event === 'paid';
  if (!isHeard || !isForOrder) return;
  const news = await follow[event.event](tx, invoice, event);
  const changed = news && (await invoiceById(tx, invoice.id));
  if (changed) await tellOfInvoice(tx, platform, changed, news);
}

/** Each answers with what those who pay are to be told. */
const follow: Record<PaymentEvent['event'], (tx: Tx, invoice: Invoice, event: PaymentEvent) => Promise<InvoiceNews | undefined>> = {
  paid: async (tx, invoice, event) => {
    refuseOtherAmount(invoice, event);
    return (await settlePaid(tx, invoice)) ? 'paid' : undefined;
  },
  failed: async (tx, invoice) => ((await settleFailed(tx, invoice, false)) ? 'unpaid' : undefined),
  declined: async (tx, invoice) => ((await settleFailed(tx, invoice, true)) ? 'unpaid' : undefined),
  authorization_required: async (tx, invoice, { url }) => {
    if (url === undefined) throw new Problem('invalid-request', 'url must say where the payment is confirmed.');
    await askForAuthorization(tx, invoice, url);
    return undefined;
  },
};

const openStatuses = new Set(['pending', 'charged_off', 'refund_pending']);

/** A payment of another amount is a matter for people. The event is not kept, so that it can be told again. */
function refuseOtherAmount({ type, status, total, outstanding, currency, invoice_number }: Invoice, event: PaymentEvent): void {
  if (!openStatuses.has(status)) return;
  const expected = amountText(BigInt(type === 'invoice' ? outstanding : total), currency);
  if (event.amount === expected && event.currency === currency) return;
  throw new Problem('invalid-request', `amount and currency must be what is open of ${invoice_number}: ${expected} ${currency}.`);
}
