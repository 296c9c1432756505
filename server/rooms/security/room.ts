/** How people keep an account theirs: e-mail address, password, second factor, phone, and ways to sign in elsewhere. */
import type { Room } from '../../kernel/room.ts';
import { mountPages } from './mount-pages.ts';
import * as connections from './operations/connections.ts';
import * as emailAndPassword from './operations/e-mail-and-password.ts';
import * as phone from './operations/phone.ts';
import * as secondFactor from './operations/second-factor.ts';

export const security: Room = {
  name: 'Account security',
  about: 'How people keep an account theirs: a new e-mail address, a new password, a second factor, a verified phone number.',
  operations: { ...emailAndPassword, ...secondFactor, ...connections, ...phone },
  mount: mountPages,
};
