/** Metering: what every environment was given and used, hour by hour. */
import type { Room } from '../../kernel/room.ts';
import { keepAllocationsSeen, keepHoursMetered } from './reconcilers.ts';

export const metering: Room = {
  name: 'Metering',
  about: 'What environments were given and used, hour by hour, for years.',
  operations: {},
  reconcilers: [keepAllocationsSeen, keepHoursMetered],
};
