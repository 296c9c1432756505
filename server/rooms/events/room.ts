/** What changes, told to those who may see it. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';

export const events: Room = {
  name: 'Events',
  about: 'What changes, told as it happens to those who may see it.',
  operations,
};
