import { Type } from 'typebox';
import { uuidOfUlid } from '../../../kernel/id.ts';
import { nothing, operation, plain } from '../../../kernel/operation.ts';
import { closed, Line } from '../../../kernel/schema.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { amountText, priceListToday } from '../../prices/public.ts';
import { countAttempts } from '../../sign-in/public.ts';
import { endOfMonth } from '../month.ts';
import { payerNow } from '../payer.ts';
import { changeAndRefresh } from '../refresh-orders.ts';
import { applyVoucher, vouchersOf } from '../vouchers.ts';

const text = Type.String();

const Use = Type.Object({
  order_id: text,
  status: text,
  billing_period_start: text,
  billing_period_end: text,
  order_total: text,
  order_discount: text,
  currency: text,
});

export const listOrgVouchers = operation({
  summary: 'List the vouchers of an organization, and which orders used them',
  endpoint: 'GET /organizations/{organization_id}/vouchers',
  on: OrganizationEntity,
  rel: 'vouchers',
  deprecated: true,
  permission: 'billing:view',
  returns: plain(
    Type.Object({
      uuid: Type.String({ format: 'uuid', description: 'The id of the organization, spelled as a UUID.' }),
      vouchers_total: text,
      vouchers_applied: text,
      vouchers_remaining_balance: text,
      currency: text,
      vouchers: Type.Array(Type.Object({ code: text, amount: text, currency: text, orders: Type.Array(Use) })),
      _links: Type.Object({ self: Type.Object({ href: text }) }),
    }),
  ),
  handle: async ({ target }, { db }) => {
    const { vouchers, uses } = await vouchersOf(db, target.id);
    const { currency } = await priceListToday(db, (await payerNow(db, target.id))?.currency);
    const inCurrency = new Set(vouchers.filter((voucher) => voucher.currency === currency).map(({ code }) => code));
    const sum = (amounts: { code: string; amount: string }[]) =>
      amounts.filter(({ code }) => inCurrency.has(code)).reduce((total, { amount }) => total + BigInt(amount), 0n);
    const [total, used] = [sum(vouchers), sum(uses)];
    return {
      uuid: uuidOfUlid(target.id),
      vouchers_total: amountText(total, currency),
      vouchers_applied: amountText(used, currency),
      vouchers_remaining_balance: amountText(total - used, currency),
      currency,
      vouchers: vouchers.map((voucher) => ({
        code: voucher.code,
        amount: amountText(BigInt(voucher.amount), voucher.currency),
        currency: voucher.currency,
        orders: uses
          .filter(({ code }) => code === voucher.code)
          .map(({ order_id, status, month, order_total, amount }) => ({
            order_id,
            status,
            billing_period_start: `${month}T00:00:00.000Z`,
            billing_period_end: `${endOfMonth(month)}T00:00:00.000Z`,
            order_total: amountText(BigInt(order_total), voucher.currency),
            order_discount: amountText(BigInt(amount), voucher.currency),
            currency: voucher.currency,
          })),
      })),
      _links: { self: { href: `/organizations/${target.id}/vouchers` } },
    };
  },
});

export const applyOrgVoucher = operation({
  summary: 'Apply a voucher to the orders of an organization, beginning with the open one',
  endpoint: 'POST /organizations/{organization_id}/vouchers/apply',
  on: OrganizationEntity,
  rel: 'apply-voucher',
  deprecated: true,
  permission: 'billing:manage',
  body: closed({ code: Line(100, { charactersMin: 1 }) }),
  returns: nothing,
  handle: async ({ caller, target, body: { code } }, platform) => {
    await countAttempts(platform.db, [{ limit: 'voucher of account', of: caller.id }]);
    await platform.db
      .transaction()
      .execute((tx) => changeAndRefresh(tx, platform, target.id, Date.now(), () => applyVoucher(tx, target.id, code)));
  },
});
