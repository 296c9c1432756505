import { Type } from 'typebox';
import { midnight } from '../../kernel/days.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { OrganizationAddress, organizationAt } from '../organizations/public.ts';
import { formatted, type Currency } from '../prices/public.ts';
import { apiDownloadUrl } from './download-token.ts';
import { endOfMonth, monthName, secondsOf } from './month.ts';
import { orderById, readLines, shownLineTypes, typeOf, withSubtotals, type OrderRow } from './orders.ts';
import { storedPayer, type Payer } from './payer.ts';
import { amountNumber } from './shown-money.ts';

export const documentIdPattern = '^[1-9][0-9]{0,17}$';
export const DocumentId = Type.String({ pattern: documentIdPattern });

export const orderStatuses = ['completed', 'past_due', 'pending', 'canceled', 'payment_failed_soft_decline', 'payment_failed_hard_decline'];

const text = Type.String();
export const PayerAddress = Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } });

const Component = {
  type: 'object',
  properties: {
    amount: { type: 'number' },
    amount_formatted: { type: 'string' },
    display_title: { type: 'string' },
    currency: { type: 'string' },
  },
};
const Components = Type.Unsafe<Record<string, object>>({ type: 'object', additionalProperties: Component });

const LineItem = Type.Object({
  type: Type.String({ enum: shownLineTypes }),
  license_id: nullable(Type.Integer()),
  project_id: nullable(text),
  product: text,
  sku: text,
  quantity: Type.String({ description: 'How much of it, with its unit.' }),
  total: Type.Number(),
  total_formatted: text,
  components: Components,
  exclude_from_invoice: Type.Boolean({ description: 'Whether it is a sum of others.' }),
});

export type ShownOrder = ReturnType<typeof shownOrder>;

export const OrderEntity = entity({
  name: 'order',
  path: '/organizations/{organization_id}/orders/{order_id}',
  params: { organization_id: OrganizationAddress, order_id: DocumentId },
  schema: Type.Object({
    id: text,
    status: Type.String({ enum: orderStatuses }),
    owner: Type.String({ format: 'uuid' }),
    address: PayerAddress,
    company: text,
    vat_number: text,
    billing_period_start: Time,
    billing_period_end: Time,
    billing_period_label: Type.Object({ formatted: text, month: text, year: text, next_month: text }),
    billing_period_duration: Type.Integer({ description: 'Seconds' }),
    paid_on: nullable(Time),
    total: Type.Integer({ description: 'Of the smallest unit of the currency.' }),
    total_formatted: text,
    components: Components,
    currency: text,
    invoice_url: text,
    last_refreshed: nullable(Time),
    invoiced: Type.Boolean(),
    line_items: Type.Array(LineItem),
  }),
  address: ({ organization_id, id }: ShownOrder) => ({ organization_id, order_id: id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  links: ({ organization_id, id }) => ({ invoices: { href: `/organizations/${organization_id}/invoices?filter[order_id]=${id}` } }),
  load: async ({ organization_id, order_id }, platform) => {
    const organization = await organizationAt(platform.db, organization_id);
    const order = organization && (await orderById(platform.db, order_id));
    return order && order.organization_id === organization.id ? shownOrder(order, platform) : undefined;
  },
});

/** Empty fields are no address. */
export const shownAddress = ({ address }: Payer): Record<string, string> =>
  Object.fromEntries(Object.entries(address).filter(([, value]) => value !== ''));

export function shownOrder(order: OrderRow, platform: Pick<Platform, 'config' | 'secrets'>) {
  const { id, organization_id, month, currency, status, total, closed_at, invoice_id } = order;
  const payer = storedPayer(order.payer);
  const [name, year] = [monthName(month), month.slice(0, 4)];
  return {
    id,
    organization_id,
    status,
    owner: payer.owner_id,
    address: shownAddress(payer),
    company: payer.company,
    vat_number: payer.vat_number,
    billing_period_start: midnight(month),
    billing_period_end: midnight(endOfMonth(month)),
    billing_period_label: { formatted: `${name} ${year}`, month: name, year, next_month: monthName(endOfMonth(month)) },
    billing_period_duration: secondsOf(month),
    paid_on: order.paid_on,
    total: Number(total),
    total_formatted: formatted(BigInt(total), currency),
    components: componentsOf(order),
    currency,
    invoice_url: invoice_id === null ? '' : apiDownloadUrl(platform, invoice_id),
    last_refreshed: order.refreshed_at,
    invoiced: closed_at !== null,
    line_items: lineItems(order),
    authorization_url: order.authorization_url,
  };
}

const component = (amount: bigint, display_title: string, currency: Currency) => ({
  amount: amountNumber(amount, currency),
  amount_formatted: formatted(amount, currency),
  display_title,
  currency,
});

/** What the total is made of; what takes off is negative. */
const componentsOf = ({ baseprice, discount, voucher, vat, vat_percent, currency }: OrderRow) => ({
  baseprice: component(BigInt(baseprice), 'Base price', currency),
  ...(discount !== '0' && { discount: component(-BigInt(discount), 'Discounts', currency) }),
  ...(voucher !== '0' && { voucher: component(-BigInt(voucher), 'Vouchers', currency) }),
  vat: component(BigInt(vat), `VAT ${vat_percent} %`, currency),
});

const lineItems = ({ lines, currency }: OrderRow) =>
  withSubtotals(readLines(lines)).map(({ line, isSubtotal }) => ({
    type: typeOf({ line, isSubtotal }),
    license_id: line.project?.subscription_id ?? null,
    project_id: line.project?.id ?? null,
    product: line.product,
    sku: line.sku,
    quantity: line.quantity,
    total: amountNumber(line.amount, currency),
    total_formatted: formatted(line.amount, currency),
    components: { baseprice: component(line.amount, 'Base price', currency) },
    exclude_from_invoice: isSubtotal,
  }));

/** Without `mode=details` an order shows what each project and the organization come to. */
export const withoutDetails = (order: ShownOrder): ShownOrder => ({
  ...order,
  line_items: order.line_items.filter(({ exclude_from_invoice }) => exclude_from_invoice),
});
