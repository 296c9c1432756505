/** Builds: from a commit to the configuration it holds, and to a slug for each of its applications. */
import type { Room } from '../../kernel/room.ts';
import { collectSlugs } from './reconcilers.ts';

export const builds: Room = {
  name: 'Builds',
  about: 'From a commit to what its applications and tasks run from.',
  operations: {},
  reconcilers: [collectSlugs],
};
