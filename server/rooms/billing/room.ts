/** Billing: what each month costs, who pays it, and what is taken off. */
import type { Room } from '../../kernel/room.ts';
import { tellOfCost } from './billing-alerts.ts';
import { keepMonthsClosed } from './close-orders.ts';
import * as addons from './operations/addons.ts';
import * as alerts from './operations/alerts.ts';
import * as discounts from './operations/discounts.ts';
import * as estimates from './operations/estimates.ts';
import * as invoices from './operations/invoices.ts';
import * as orders from './operations/orders.ts';
import { getOrgPrepaymentInfo, listOrgPrepaymentTransactions } from './operations/prepayment.ts';
import * as records from './operations/records.ts';
import * as vouchers from './operations/vouchers.ts';
import { paymentDelivery } from './payment/drivers.ts';
import { keepTermsWatched } from './payment/settle.ts';
import { keepOrdersRefreshed } from './refresh-orders.ts';

export const billing: Room = {
  name: 'Billing',
  about: 'What each month costs an organization, from what was metered and the price list; orders, invoices, vouchers and discounts.',
  operations: {
    ...records,
    ...estimates,
    ...orders,
    ...invoices,
    ...vouchers,
    ...discounts,
    getOrgPrepaymentInfo,
    listOrgPrepaymentTransactions,
    ...addons,
    ...alerts,
  },
  deliveries: [paymentDelivery],
  reconcilers: [keepOrdersRefreshed, keepMonthsClosed, keepTermsWatched, tellOfCost],
};
