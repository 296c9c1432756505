/** What other rooms may use of regions. */
export { RegionEntity, regionFields, regionsOf } from './region.ts';
