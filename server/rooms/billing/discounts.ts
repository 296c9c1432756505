/** Discounts: what the operator takes off an organization's orders, each month for some months or for good. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import { midnight } from '../../kernel/days.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { CurrencyAmount, currencyAmount, type Currency } from '../prices/public.ts';
import { monthAt, monthsAfter, type Month } from './month.ts';

export interface DiscountRow {
  id: number;
  organization_id: string;
  type: string;
  currency: Currency;
  monthly: string;
  start_month: Month;
  months: number | null;
  /** From which on it takes nothing off any more; null: it was not ended. */
  ended_month: Month | null;
}

export const discountTypes: Record<string, string> = { allowance: 'Allowance', startup: 'Startup', enterprise: 'Enterprise' };

const money = { type: ['object', 'null'], properties: CurrencyAmount.properties };
const OptionalMoney = Type.Unsafe<ReturnType<typeof currencyAmount> | null>(JSON.parse(JSON.stringify(money)));

export type Discount = ReturnType<typeof shownDiscount>;

export const DiscountEntity = entity({
  name: 'discount',
  path: '/discounts/{id}',
  params: { id: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }) },
  schema: Type.Object({
    id: Type.Integer(),
    organization_id: Type.String(),
    type: Type.String({ enum: Object.keys(discountTypes) }),
    type_label: Type.String(),
    status: Type.String({ enum: ['inactive', 'active', 'expired', 'deactivated'] }),
    commitment: nullable(Type.Object({})),
    total_months: nullable(Type.Integer()),
    discount: Type.Object({ monthly: CurrencyAmount, commitment_period: OptionalMoney, contract_total: OptionalMoney }),
    config: Type.Object({}),
    start_at: Time,
    end_at: nullable(Time),
  }),
  address: ({ id }: Discount) => ({ id: String(id) }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  load: async ({ id }, { db }) => {
    const [row] = await discountsWhere(db, sql`id = ${id}::integer`);
    return row && shownDiscount(row, Date.now());
  },
});

export function shownDiscount(
  { id, organization_id, type, currency, monthly, start_month, months, ended_month }: DiscountRow,
  now: number,
) {
  const end = months === null ? null : monthsAfter(start_month, months);
  const amount = BigInt(monthly);
  return {
    id,
    organization_id,
    type,
    type_label: discountTypes[type] ?? type,
    status: statusAt(monthAt(now), start_month, end, ended_month !== null),
    /** Nobody commits to anything here: a discount is given. */
    commitment: null,
    total_months: months,
    discount: {
      monthly: currencyAmount(amount, currency),
      commitment_period: null,
      contract_total: months === null ? null : currencyAmount(amount * BigInt(months), currency),
    },
    config: {},
    start_at: midnight(start_month),
    end_at: end === null ? null : midnight(end),
  };
}

function statusAt(month: Month, start: Month, end: Month | null, isEnded: boolean): string {
  if (isEnded) return 'deactivated';
  if (month < start) return 'inactive';
  return end !== null && month >= end ? 'expired' : 'active';
}

async function discountsWhere(db: Db, condition: ReturnType<typeof sql>): Promise<DiscountRow[]> {
  const { rows } = await sql<DiscountRow>`
    select id, organization_id, type, currency, monthly::text, start_month, months, ended_month from discounts where ${condition} order by id`.execute(
    db,
  );
  return rows;
}

export const discountsOf = (db: Db, organizationId: string) => discountsWhere(db, sql`organization_id = ${organizationId}`);
export const allDiscounts = (db: Db) => discountsWhere(db, sql`true`);

export async function insertDiscount(
  db: Db,
  given: Omit<DiscountRow, 'id' | 'ended_month' | 'monthly'> & { monthly: bigint },
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into discounts (organization_id, type, currency, monthly, start_month, months)
    values (${given.organization_id}, ${given.type}, ${given.currency}, ${String(given.monthly)}::bigint, ${given.start_month}::date, ${given.months})
    returning id`.execute(db);
  return rows[0]?.id ?? 0;
}

/** Months before keep what it takes off, also while their orders are still to be closed. Ending it again changes nothing. */
export async function endDiscount(db: Db, id: string, month: Month): Promise<boolean> {
  const { rows } =
    await sql`update discounts set ended_month = coalesce(ended_month, ${month}::date) where id = ${id}::integer returning id`.execute(db);
  return rows.length > 0;
}
