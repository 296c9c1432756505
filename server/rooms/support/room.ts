/** Tickets: people ask for help, operators give it, and a help desk can take over. */
import type { Room } from '../../kernel/room.ts';
import { tidyAttachments } from './attached-files.ts';
import * as operations from './operations.ts';
import { helpDeskDelivery } from './tell-ticket.ts';

export const support: Room = {
  name: 'Support',
  about: 'Tickets: people ask for help, and the operators of the installation give it.',
  operations,
  deliveries: [helpDeskDelivery],
  reconcilers: [tidyAttachments],
};
