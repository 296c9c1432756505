/** What apps said, who visited them, and what went wrong: kept on the machine, read there and over the API. */
import type { Room } from '../../kernel/room.ts';
import * as operations from './operations.ts';
import { collectLogs } from './reconcilers.ts';

export const logs: Room = {
  name: 'Logs',
  about: 'What apps and workers said, who visited them, and what went wrong.',
  operations,
  reconcilers: [collectLogs],
};
