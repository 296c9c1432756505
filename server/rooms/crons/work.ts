/** What others may have crons do. */
export { startCronsAt } from './start-crons.ts';
