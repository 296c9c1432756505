/** What is sent to others so that nothing is lost: mail, and what rooms below tell other machines. */
import type { Room } from '../../kernel/room.ts';
import { forgetDeliveries } from './forget-deliveries.ts';
import { mailDelivery } from './mail-delivery.ts';

export const deliveries: Room = {
  name: 'Deliveries',
  about: 'What is sent to others, recorded with what it tells of, and sent until it has arrived.',
  operations: {},
  deliveries: [mailDelivery],
  reconcilers: [forgetDeliveries],
};
