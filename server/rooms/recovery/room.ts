/** What brings an installation back after its machine is gone. */
import type { Room } from '../../kernel/room.ts';
import { backUpDaily } from './back-up-daily.ts';
import { lookAtPlaces } from './look-at-places.ts';

export const recovery: Room = {
  name: 'Recovery',
  about: 'Backups of the installation itself, and its return from them.',
  operations: {},
  reconcilers: [backUpDaily, lookAtPlaces],
};
