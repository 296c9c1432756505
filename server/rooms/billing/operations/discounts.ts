import { Type } from 'typebox';
import { dayAt } from '../../../kernel/days.ts';
import { one, operation, plain } from '../../../kernel/operation.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { amountOf, currencyAmount, decimal, listOn, priceLists } from '../../prices/public.ts';
import { DiscountEntity, discountsOf, shownDiscount } from '../discounts.ts';
import { inMilliseconds } from '../../../kernel/schema.ts';

export const listOrgDiscounts = operation({
  summary: 'List what is taken off the orders of an organization each month',
  endpoint: 'GET /organizations/{organization_id}/discounts',
  on: OrganizationEntity,
  rel: 'discounts',
  deprecated: true,
  permission: 'billing:view',
  returns: plain(
    Type.Object({ items: Type.Array(DiscountEntity.schema), _links: Type.Object({ self: Type.Object({ href: Type.String() }) }) }),
  ),
  handle: async ({ target }, { db }) => {
    const discounts = (await discountsOf(db, target.id)).map((row) => shownDiscount(row, Date.now()));
    const items = discounts.map((each) => ({
      ...each,
      start_at: inMilliseconds(each.start_at),
      end_at: each.end_at === null ? null : inMilliseconds(each.end_at),
    }));
    return { items, _links: { self: { href: `/organizations/${target.id}/discounts` } } };
  },
});

export const getDiscount = operation({
  summary: 'Show a discount',
  endpoint: 'GET /discounts/{id}',
  on: DiscountEntity,
  permission: 'billing:view',
  returns: one(DiscountEntity),
  handle: async ({ target }) => target,
});

const allowanceCurrencies = ['EUR', 'USD', 'GBP', 'AUD', 'CAD'];
const Allowance = Type.Object({ formatted: Type.String(), amount: Type.Number(), currency: Type.String(), currency_symbol: Type.String() });

export const getTypeAllowance = operation({
  summary: 'Show what an allowance takes off in a month, by currency',
  endpoint: 'GET /discounts/types/allowance',
  permission: 'signed-in',
  returns: plain(Type.Object({ currencies: Type.Object(Object.fromEntries(allowanceCurrencies.map((code) => [code, Allowance]))) })),
  handle: async (_request, { db }) => {
    const lists = await priceLists(db);
    const allowanceIn = (code: string) => {
      const { allowance } = listOn(lists, code, dayAt(Date.now())).content;
      const { currency_code, ...amount } = currencyAmount(amountOf(decimal(allowance), code), code);
      return { ...amount, currency: currency_code };
    };
    return { currencies: Object.fromEntries(allowanceCurrencies.map((code) => [code, allowanceIn(code)])) };
  },
});
