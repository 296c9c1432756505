/** What other rooms may use of profiles: what an address consists of. */
export { addressFields } from './address.ts';
