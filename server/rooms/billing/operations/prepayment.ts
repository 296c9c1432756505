import { Type } from 'typebox';
import { entity, operation, page, plain } from '../../../kernel/operation.ts';
import { inMilliseconds, nullable, Time } from '../../../kernel/schema.ts';
import { OrganizationAddress, OrganizationEntity } from '../../organizations/public.ts';
import { CurrencyAmount, currencyAmount } from '../../prices/public.ts';
import { estimateMonth } from '../estimate.ts';
import { monthAt } from '../month.ts';
import { balanceOf, fallbackOf, transactionsPage, type PrepaymentTransaction } from '../prepayment.ts';

const href = Type.Object({ href: Type.String() });

export const getOrgPrepaymentInfo = operation({
  summary: 'Show what an organization has paid ahead, and whether it suffices for this month',
  endpoint: 'GET /organizations/{organization_id}/prepayment',
  on: OrganizationEntity,
  rel: 'prepayment',
  deprecated: true,
  permission: 'billing:view',
  returns: plain(
    Type.Object({
      prepayment: Type.Object({
        organization_id: Type.String(),
        balance: CurrencyAmount,
        last_updated_at: nullable(Type.String({ format: 'date-time' })),
        sufficient: Type.Boolean(),
        fallback: nullable(Type.String({ description: 'What pays where the balance does not suffice.' })),
      }),
      _links: Type.Object({ self: href, transactions: href }),
    }),
  ),
  handle: async ({ target }, { db, config }) => {
    const now = Date.now();
    const { currency, totals } = await estimateMonth(db, config, target.id, monthAt(now), now);
    const { balance, changedAt } = await balanceOf(db, target.id, currency);
    const fallback = await fallbackOf(db, target.id);
    const path = `/organizations/${target.id}/prepayment`;
    return {
      prepayment: {
        organization_id: target.id,
        balance: currencyAmount(balance, currency),
        last_updated_at: changedAt === null ? null : inMilliseconds(changedAt),
        sufficient: balance >= totals.total,
        // Whoever never paid ahead pays by invoice.
        fallback: fallback === undefined ? 'invoice' : fallback,
      },
      _links: { self: { href: path }, transactions: { href: `${path}/transactions` } },
    };
  },
});

const shownTransaction = ({ id, organization_id, order_id, message, currency, amount, created_at }: PrepaymentTransaction) => ({
  id,
  organization_id,
  order_id: order_id ?? '',
  message,
  status: 'completed',
  amount: currencyAmount(BigInt(amount), currency),
  created: created_at,
  updated: null,
  expire_date: null,
});

/** A transaction has no address of its own; it is found in its list. */
export const PrepaymentTransactionEntity = entity({
  name: 'prepayment transaction',
  path: '/organizations/{organization_id}/prepayment/transactions',
  params: { organization_id: OrganizationAddress },
  schema: Type.Object({
    order_id: Type.String(),
    message: Type.String(),
    status: Type.String(),
    amount: CurrencyAmount,
    created: Time,
    updated: nullable(Time),
    expire_date: nullable(Time),
  }),
  address: ({ organization_id }: ReturnType<typeof shownTransaction>) => ({ organization_id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'billing:view',
  load: async () => undefined,
});

export const listOrgPrepaymentTransactions = operation({
  summary: 'List what an organization paid ahead, and which orders took from it',
  endpoint: 'GET /organizations/{organization_id}/prepayment/transactions',
  on: OrganizationEntity,
  deprecated: true,
  permission: 'billing:view',
  returns: page(PrepaymentTransactionEntity, { key: 'transactions', sort: ['created'] }),
  handle: async ({ target, list }, { db }) => {
    const found = await transactionsPage(db, target.id, list);
    return { ...found, rows: found.rows.map(shownTransaction) };
  },
});
