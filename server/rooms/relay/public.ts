/** What others may know of the relay: how it is. */
export { relayFamilies } from './instruments.ts';
