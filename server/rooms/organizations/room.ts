/** Organizations own projects; people belong to them with permissions. */
import type { Room } from '../../kernel/room.ts';
import * as members from './operations/members.ts';
import * as mfaEnforcement from './operations/mfa-enforcement.ts';
import * as organizationOperations from './operations/organizations.ts';

/** For whoever lets people in: by invitation, or with access to a project. */
export { joinOrganization, refuseTooManyMembers, refuseWithoutRoom } from './membership.ts';
export { keptPermissions, lackedOf, OrganizationPermissions, refuseGrantingMore } from './granting.ts';
export { OrganizationAddress, OrganizationEntity } from './organization.ts';
export { lockOrganization, memberAt, organizationAt, setUsersMax, type Organization } from './queries.ts';

export const organizations: Room = {
  name: 'Organizations',
  about: 'Organizations own projects; people belong to them with permissions.',
  operations: { ...organizationOperations, ...members, ...mfaEnforcement },
};
