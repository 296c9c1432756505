/** Organizations own projects; people belong to them with permissions. */
import type { Room } from '../../kernel/room.ts';
import * as billingDetails from './operations/billing-details.ts';
import * as members from './operations/members.ts';
import * as mfaEnforcement from './operations/mfa-enforcement.ts';
import * as organizationOperations from './operations/organizations.ts';

export const organizations: Room = {
  name: 'Organizations',
  about: 'Organizations own projects; people belong to them with permissions.',
  operations: { ...organizationOperations, ...members, ...mfaEnforcement, ...billingDetails },
};
