/** Mail that apps send. */
import type { Room } from '../../kernel/room.ts';
import { mailOfApp } from './send-mail.ts';
import { serveRelay } from './serve-relay.ts';
import { tellOwners } from './tell-owners.ts';

export const relay: Room = {
  name: 'Relay',
  about: 'Mail that apps send: taken over SMTP, and sent through the mail server of the operator.',
  operations: {},
  deliveries: [mailOfApp],
  reconcilers: [tellOwners],
  listeners: [serveRelay],
};
