/** Where projects can run. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';

export const regions: Room = {
  name: 'Regions',
  about: 'Where projects can run.',
  operations,
};
