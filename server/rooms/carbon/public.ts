/** What other rooms may know of carbon. */
export { emissionsSoFar } from './queries.ts';
