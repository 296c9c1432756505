/** What other rooms may know of what waits. */
export { openActivities, waitingDeliveries } from './of-database.ts';
