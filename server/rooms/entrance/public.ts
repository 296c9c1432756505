/** What others may use of the entrance. */
export { announceApi } from './announce-api.ts';
export { keepPlatformReached } from './keep-reached.ts';
