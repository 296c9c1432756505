/** What others may have done: sending. */
export { deliverDue, startDeliveries, type Deliveries } from './start-deliveries.ts';
