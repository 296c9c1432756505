/** The short form of things that a list mentions, by a signed link. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';

export const references: Room = {
  name: 'References',
  about: 'The short form of things that a list mentions, by a signed link.',
  operations,
};
