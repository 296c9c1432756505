/** What others may have done about the entrance. */
export { announceApi } from './announce-api.ts';
export { openEntrance } from './open-entrance.ts';
