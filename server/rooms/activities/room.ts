/** Changes to projects, under way and done. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { expireActivities } from './reconcilers.ts';

export const activities: Room = {
  name: 'Activities',
  about: 'Changes to projects, under way and done.',
  operations,
  reconcilers: [expireActivities],
};
