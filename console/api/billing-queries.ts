/** What is asked of the API about what an organization pays. Nothing tells of changes to these, and they change once a day. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Organization } from './resources.ts';

interface Part {
  amount: number;
  amount_formatted: string;
  display_title: string;
}

/** What the organization pays for one month. Its total is of the smallest unit of the currency. */
export interface Order extends Resource {
  id: string;
  status: string;
  billing_period_start: string;
  billing_period_label: { formatted: string };
  paid_on: string | null;
  total_formatted: string;
  components: Readonly<Record<string, Part>>;
  currency: string;
  invoice_url: string;
  last_refreshed: string | null;
  invoiced: boolean;
  line_items: readonly OrderLine[];
}

export interface OrderLine {
  type: string;
  project_id: string | null;
  product: string;
  quantity: string;
  total: number;
  total_formatted: string;
  /** Whether it is the sum of the lines before it. */
  exclude_from_invoice: boolean;
}

export interface Invoice extends Resource {
  id: string;
  invoice_number: string;
  type: 'invoice' | 'credit_memo';
  order_id: string;
  status: string;
  invoice_date: string | null;
  invoice_due: string | null;
  total: number;
  currency: string;
  notes: string;
  invoice_pdf: { url: string };
}

interface ListPage<T> extends Resource {
  items: readonly T[];
}

const listedMax = 12;

const listOf = <T>(organization: Organization, rel: string, sort: string) =>
  infiniteQueryOptions({
    queryKey: ['organizations', organization.id, rel],
    queryFn: ({ signal, pageParam }) => request<ListPage<T>>('GET', pageParam, undefined, signal),
    initialPageParam: `${hrefOf(organization, rel)}?sort=${sort}&page[size]=${listedMax}`,
    getNextPageParam: (page) => hrefOf(page, 'next'),
    enabled: hrefOf(organization, rel) !== undefined,
  });

export const ordersQuery = (organization: Organization) => listOf<Order>(organization, 'orders', '-billing_period_start');
export const invoicesQuery = (organization: Organization) => listOf<Invoice>(organization, 'invoices', '-created');

export const orderQuery = (organization: Organization, order: string) =>
  queryOptions({
    queryKey: ['organizations', organization.id, 'orders', order],
    queryFn: ({ signal }) =>
      request<Order>('GET', `${hrefOf(organization, 'orders')}/${encodeURIComponent(order)}?mode=details`, undefined, signal),
    enabled: hrefOf(organization, 'orders') !== undefined,
  });

const partOf = <T>(organization: Organization, rel: string, query = '') =>
  queryOptions({
    queryKey: ['organizations', organization.id, rel],
    queryFn: ({ signal }) => request<T>('GET', `${hrefOf(organization, rel)}${query}`, undefined, signal),
    enabled: hrefOf(organization, rel) !== undefined,
  });

interface Money {
  formatted: string;
  amount: number;
  currency_code: string;
}

/** Currency XXX: the operator set no price list. */
export interface MonthEstimate {
  total: Money;
  subscriptions: { list: readonly { license_id: string; project_title: string; total: Money }[] };
}

export const monthEstimateQuery = (organization: Organization) => partOf<MonthEstimate>(organization, 'estimate', '?format=complex');

export interface Vouchers {
  vouchers_total: string;
  vouchers_remaining_balance: string;
  currency: string;
  vouchers: readonly {
    code: string;
    amount: string;
    currency: string;
    orders: readonly { order_id: string; billing_period_start: string; order_discount: string; currency: string }[];
  }[];
}

export const vouchersQuery = (organization: Organization) => partOf<Vouchers>(organization, 'vouchers');

export interface Prepayment {
  prepayment: { balance: Money; sufficient: boolean; fallback: string | null };
}

export const prepaymentQuery = (organization: Organization) => partOf<Prepayment>(organization, 'prepayment');

export interface BillingAddress extends Resource {
  name_line?: string;
  thoroughfare?: string;
  premise?: string;
  sub_premise?: string;
  postal_code?: string;
  locality?: string;
  dependent_locality?: string;
  administrative_area?: string;
  country?: string;
}

export const billingAddressQuery = (organization: Organization) => partOf<BillingAddress>(organization, 'address');

export interface BillingProfile extends Resource {
  company_name: string;
  legal_entity_name: string;
  customer_type: string;
  vat_number: string;
  billing_contact: string;
  email: string;
}

export const billingProfileQuery = (organization: Organization) => partOf<BillingProfile>(organization, 'profile');
