/** Whether environments are well, and who is told where they are not. */
import type { Room } from '../../kernel/room.ts';
import { addFirstReceivers } from './add-first-receivers.ts';
import { greetReceivers } from './greet-receivers.ts';
import { noteRestarts } from './note-restarts.ts';
import { healthKinds } from './receivers/receivers.ts';
import { noticeFailures, watchHealth } from './watch-health.ts';

export const health: Room = {
  name: 'Health',
  about: 'Looks after production environments, and tells the integrations of their projects what is wrong and when it is over.',
  operations: {},
  deliveries: healthKinds,
  reconcilers: [watchHealth, noticeFailures, noteRestarts, greetReceivers, addFirstReceivers],
};
