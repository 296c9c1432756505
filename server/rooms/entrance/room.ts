/** Where people and programs come in to the platform itself. */
import type { Room } from '../../kernel/room.ts';
import { keepPlatformReached } from './keep-reached.ts';

export const entrance: Room = {
  name: 'Entrance',
  about: 'The way in to the platform itself: the edge ends TLS for it, and leads to the processes that serve the API.',
  operations: {},
  reconcilers: [keepPlatformReached],
};
