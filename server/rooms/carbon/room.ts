/** What environments cost in energy, and what that does to the climate. */
import type { Room } from '../../kernel/room.ts';
import { closeCarbonDays } from './close-days.ts';
import * as operations from './operations.ts';

export const carbon: Room = {
  name: 'Carbon',
  about: 'What environments cost in energy, and what that does to the climate.',
  operations,
  reconcilers: [closeCarbonDays],
};
