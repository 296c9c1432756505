import { Type } from 'typebox';
import { one, operation, page, plain } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { OrganizationEntity } from '../../organizations/public.ts';
import { OrderEntity, shownOrder, withoutDetails } from '../order.ts';
import { ordersPage } from '../orders.ts';

const ModeQuery = Type.Object({
  mode: Type.Optional(Type.String({ enum: ['details'], description: 'Shows each line beside the sums of projects and organization.' })),
});

export const listOrgOrders = operation({
  summary: 'List the orders of an organization: what it has to pay for each month',
  endpoint: 'GET /organizations/{organization_id}/orders',
  on: OrganizationEntity,
  rel: 'orders',
  deprecated: true,
  permission: 'billing:view',
  query: ModeQuery,
  returns: page(OrderEntity, { sort: ['billing_period_start'], filter: { status: 'string', total: 'string' } }),
  handle: async ({ target, list, query: { mode } }, platform) => {
    const found = await ordersPage(platform.db, target.id, list);
    const rows = found.rows.map((row) => shownOrder(row, platform));
    return { ...found, rows: mode === 'details' ? rows : rows.map(withoutDetails) };
  },
});

export const getOrgOrder = operation({
  summary: 'Show an order',
  endpoint: 'GET /organizations/{organization_id}/orders/{order_id}',
  on: OrderEntity,
  deprecated: true,
  permission: 'billing:view',
  query: ModeQuery,
  returns: one(OrderEntity),
  handle: async ({ target, query: { mode } }) => (mode === 'details' ? target : withoutDetails(target)),
});

export const createAuthorizationCredentials = operation({
  summary: 'Ask where the payment of an order has to be confirmed',
  endpoint: 'POST /organizations/{organization_id}/orders/{order_id}/authorize',
  on: OrderEntity,
  deprecated: true,
  permission: 'billing:manage',
  returns: plain(Type.Object({ redirect_to_url: Type.Object({ return_url: Type.String(), url: Type.String() }), type: Type.String() })),
  handle: async ({ target: { authorization_url } }, { config }) => {
    if (authorization_url === '') throw new Problem('invalid-request', 'No payment of this order has to be confirmed.');
    return { redirect_to_url: { return_url: config.url, url: authorization_url }, type: 'redirect_to_url' };
  },
});
