/** Letting people into an organization or a project by mail. */
import type { Room } from '../../kernel/room.ts';
import { invitationDelivery } from './invite.ts';
import { mountPages } from './mount-pages.ts';
import * as operations from './operations.ts';

export const invitations: Room = {
  name: 'Invitations',
  about: 'Letting people into an organization or a project by mail.',
  operations,
  deliveries: [invitationDelivery],
  mount: mountPages,
};
