/** Orders: what an organization has to pay for a month. Open while the month lasts, closed once, and never changed afterwards. */
import { sql } from 'kysely';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Currency } from '../prices/public.ts';
import type { Month } from './month.ts';
import { lineTypes, type Line } from './reckon.ts';

export interface OrderRow {
  id: string;
  organization_id: string;
  month: Month;
  currency: Currency;
  status: string;
  lines: StoredLine[];
  baseprice: string;
  discount: string;
  voucher: string;
  vat: string;
  vat_percent: string;
  total: string;
  payer: unknown;
  prepaid: string;
  refreshed_at: string | null;
  closed_at: string | null;
  due_on: string | null;
  paid_on: string | null;
  authorization_url: string;
  /** Of the invoice that follows from it. */
  invoice_id: string | null;
}

export type StoredLine = Omit<Line, 'amount'> & { amount: string };

export const storedLines = (lines: readonly Line[]): StoredLine[] => lines.map((line) => ({ ...line, amount: String(line.amount) }));
export const readLines = (lines: readonly StoredLine[]): Line[] => lines.map((line) => ({ ...line, amount: BigInt(line.amount) }));

const columns = sql`
  orders.id::text, orders.organization_id, month, month as billing_period_start, orders.currency, orders.status, lines, baseprice::text, discount::text, voucher::text,
  vat::text, vat_percent, orders.total::text, payer, prepaid::text, refreshed_at, closed_at, orders.due_on, paid_on, authorization_url,
  (select invoices.id::text from invoices where order_id = orders.id and type = 'invoice') as invoice_id`;

export async function orderById(db: Db | Tx, id: string): Promise<OrderRow | undefined> {
  const { rows } = await sql<OrderRow>`select ${columns} from orders where id = ${id}::bigint`.execute(db);
  return rows[0];
}

/** The order as it is, and as nobody else changes it until the transaction ends. */
export async function lockOrder(tx: Tx, id: string): Promise<OrderRow | undefined> {
  await sql`select from orders where id = ${id}::bigint for update`.execute(tx);
  return orderById(tx, id);
}

const listed = (db: Db, organizationId: string) =>
  db.selectFrom(sql<OrderRow>`(select ${columns} from orders where orders.organization_id = ${organizationId})`.as('orders')).selectAll();

export const ordersPage = (db: Db, organizationId: string, list: ListRequest): Promise<Page<OrderRow>> =>
  paged(listed(db, organizationId), list, 'id');

export async function openOrderOf(db: Db | Tx, organizationId: string, month: Month): Promise<OrderRow | undefined> {
  const { rows } = await sql<OrderRow>`
    select ${columns} from orders where orders.organization_id = ${organizationId} and month = ${month}::date and closed_at is null`.execute(
    db,
  );
  return rows[0];
}

export type OpenOrder = Pick<OrderRow, 'id' | 'organization_id'>;

export async function openOrders(db: Db | Tx, month: Month, refreshedBefore?: string): Promise<OpenOrder[]> {
  const { rows } = await sql<OpenOrder>`
    select id::text, organization_id from orders where month = ${month}::date and closed_at is null
      and (${refreshedBefore ?? null}::timestamptz is null or refreshed_at is null or refreshed_at < ${refreshedBefore ?? null}::timestamptz)
    order by orders.id`.execute(db);
  return rows;
}

/** Everybody who had something in the month has an order for it; whoever has one already keeps it. */
export const ensureOrders = (db: Db | Tx, month: Month, end: string) =>
  sql`
  insert into orders (organization_id, month)
  select organization_id, ${month}::date from (
    select organization_id from plan_records where started_at < ${`${end}T00:00:00Z`} and (ended_at is null or ended_at > ${`${month}T00:00:00Z`})
    union select organization_id from billed_users where day >= ${month}::date and day < ${end}::date
    union select organization_id from metered where exists (select from usage_hours
      where metered_id = metered.id and hour >= ${`${month}T00:00:00Z`} and hour < ${`${end}T00:00:00Z`})
    union select id from organizations where created_at < ${`${end}T00:00:00Z`}) as found
  where organization_id <> '' order by organization_id
  on conflict (organization_id, month) do nothing`.execute(db);

/** The lines, each project's and the organization's followed by their sum. */
export function withSubtotals(lines: readonly Line[]): { line: Line; isSubtotal: boolean }[] {
  const groups = [...Map.groupBy(lines, ({ project }) => project?.id ?? '').values()];
  return groups.flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const amount = group.reduce((sum, line) => sum + line.amount, 0n);
    const product = first.project ? first.project.title : 'Organization';
    const subtotal = { ...first, sku: 'subtotal', product, quantity: '', amount };
    return [...group.map((line) => ({ line, isSubtotal: false })), { line: subtotal, isSubtotal: true }];
  });
}

export const typeOf = ({ line, isSubtotal }: { line: Line; isSubtotal: boolean }): string =>
  isSubtotal ? (line.project ? 'project_subtotal' : 'organization_subtotal') : line.type;

export const shownLineTypes = [...lineTypes, 'project_subtotal', 'organization_plan', 'organization_subtotal'];
