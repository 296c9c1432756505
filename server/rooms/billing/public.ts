/** What the platform is told of billing: whether organizations can take on what costs more. */
export { openSpending } from './spending.ts';
