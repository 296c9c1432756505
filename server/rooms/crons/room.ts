/** Crons: commands of apps that run at their times. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { cronActivity } from './run-cron.ts';
import { startCrons } from './start-crons.ts';

export const crons: Room = {
  name: 'Crons',
  about: 'Commands of applications that run at their times.',
  operations,
  activities: { cronActivity },
  reconcilers: [startCrons],
};
