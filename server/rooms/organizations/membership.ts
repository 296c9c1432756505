/**
 * How people come into an organization, within the number that an operator allows it. Members and those who are invited count, so that
 * nobody is invited in vain; whoever was invited while there was room is let in as long as the members alone are not too many.
 */
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import { addPermissions, insertMember, invitedCount, lockOrganization, memberCount, noteAcceptance, type Organization } from './queries.ts';

/** For somebody who accepted to come: from now on what concerns how they sign in concerns the organization. */
export async function acceptMembership(tx: Tx, organizationId: string, userId: string, permissions: readonly string[]): Promise<void> {
  await joinOrganization(tx, organizationId, userId, permissions);
  await noteAcceptance(tx, organizationId, userId);
}

/** Makes the person a member with these permissions; somebody who is already a member gets the permissions in addition to their own. */
export async function joinOrganization(tx: Tx, organizationId: string, userId: string, permissions: readonly string[] = []): Promise<void> {
  const organization = await lockOrganization(tx, organizationId);
  const joined = await insertMember(tx, { organization_id: organizationId, user_id: userId, permissions: [...permissions] });
  if (joined) await refuseTooManyMembers(tx, organization);
  else if (permissions.length > 0) await addPermissions(tx, organizationId, userId, permissions);
}

/** Call this after people were added, in the same transaction, which must have locked the organization. */
export async function refuseTooManyMembers(tx: Tx, organization: Organization): Promise<void> {
  if (organization.users_max !== null && (await memberCount(tx, organization.id)) > organization.users_max) throw overLimit(organization);
}

/** Call this before one more person is added or invited, in a transaction that has locked the organization. */
export async function refuseWithoutRoom(tx: Tx, organization: Organization, email: string): Promise<void> {
  if (organization.users_max === null) return;
  const others = (await memberCount(tx, organization.id)) + (await invitedCount(tx, organization.id, email));
  if (others >= organization.users_max) throw overLimit(organization);
}

const overLimit = ({ users_max }: Organization) =>
  new Problem(
    'payment-required',
    `This organization may have ${users_max === 1 ? 'one user' : `${users_max} users`}, invited ones included; remove one, or ask the operator for more.`,
  );
