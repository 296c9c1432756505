/** Those who pay are told of invoices by mail, and the payment provider is told in its own way: both with the transaction in which something happens. */
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { billingRecipients } from '../organizations/public.ts';
import { formatted } from '../prices/public.ts';
import { downloadUrl } from './download-token.ts';
import type { Invoice } from './invoices.ts';
import { monthName } from './month.ts';
import { paymentDriver } from './payment/drivers.ts';

export type Teller = Pick<Platform, 'config' | 'secrets'>;

/** `unpaid`: a payment was tried, and failed. */
export type InvoiceNews = 'issued' | 'past due' | 'paid' | 'unpaid';

const linkDays = 60;

export async function tellOfInvoice(tx: Tx, platform: Teller, invoice: Invoice, news: InvoiceNews): Promise<void> {
  for (const to of await recipientsOf(tx, invoice)) await recordMail(tx, platform, { to, ...letter(platform, invoice, news) });
  if (news === 'issued') await paymentDriver(platform.config).onIssued(tx, platform, invoice);
}

/** Where the organization is gone, whoever was to pay last. In the order of the addresses, which is that of their lanes. */
async function recipientsOf(tx: Tx, { organization_id, document: { payer } }: Invoice): Promise<string[]> {
  const recipients = await billingRecipients(tx, organization_id);
  return recipients.length > 0 ? recipients : [payer.email].filter((email) => email !== '');
}

function letter({ config, secrets }: Teller, invoice: Invoice, news: InvoiceNews) {
  const { invoice_number, currency, type, document } = invoice;
  const total = formatted(BigInt(invoice.total), currency);
  const month = `${monthName(document.month)} ${document.month.slice(0, 4)}`;
  const subject = {
    issued: type === 'invoice' ? `Invoice ${invoice_number} for ${month}: ${total}` : `Credit memo ${invoice_number}: ${total}`,
    paid: type === 'invoice' ? `Invoice ${invoice_number} is paid: ${total}` : `Credit memo ${invoice_number} is paid back: ${total}`,
    unpaid: `The payment of invoice ${invoice_number} failed: ${formatted(BigInt(invoice.outstanding), currency)}`,
    'past due': `Invoice ${invoice_number} is past due: ${formatted(BigInt(invoice.outstanding), currency)}`,
  }[news];
  return {
    subject,
    text: `${opening({ news, type, document, month })}

Total: ${total}
${dueLine(invoice)}
It can be downloaded for ${linkDays} days:
${downloadUrl({ config, secrets }, invoice.id, linkDays * 86_400)}
`,
  };
}

function opening({
  news,
  type,
  document: { number, seller, payer },
  month,
}: Pick<Invoice, 'type' | 'document'> & { news: InvoiceNews; month: string }) {
  if (news === 'paid') return `The payment of ${number} of ${seller.name} for ${payer.label}, ${month}, has arrived. Thank you.`;
  if (news === 'unpaid')
    return `The invoice ${number} of ${seller.name} for ${payer.label}, ${month}, could not be paid in the way that was tried. Please see to it that it can, or pay it otherwise.`;
  if (news === 'past due') return `The invoice ${number} of ${seller.name} for ${payer.label}, ${month}, has not been paid in time.`;
  return `${seller.name} has issued the ${type === 'invoice' ? 'invoice' : 'credit memo'} ${number} for ${payer.label}, ${month}.`;
}

function dueLine({ type, status, outstanding, currency, due_on, document }: Invoice): string {
  if (type === 'credit_memo') return `It corrects the invoice ${document.corrects}.\n`;
  if (status === 'paid') return 'It is paid.\n';
  return `To be paid until ${due_on}: ${formatted(BigInt(outstanding), currency)}\n${document.seller.payment}\n`;
}
