/**
 * Accepting an invitation: the person, their membership, their access and the end of the invitation come together or not at all. The
 * organization and the project are held before the invitation is touched, in the order in which deleting them would, so that neither waits
 * for the other for ever. Whoever invited must be able to invite to the same still: what was taken from them is not given on.
 */
import { recordDeed } from '../../kernel/audit.ts';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { permissions as permissionTable, rolesIn, type Grants } from '../../permissions.ts';
import { acceptMembership, lackedOf, lockOrganization, memberAt } from '../organizations/public.ts';
import { effectivePermissions } from '../projects/public.ts';
import { userById } from '../users/public.ts';
import { invitationLife } from './life-cycle.ts';
import { finishInvitation, giveAccess, holdProject, isOfProject, openInvitation, type Invitation } from './queries.ts';

export const invitationGone = () => new Problem('not-found', invitationLife.otherwise('accepted', 'accept'));

/** `personOf` finds or makes the person within the transaction. */
export const acceptInvitation = (
  db: Db,
  token: string,
  personOf: (tx: Tx, invitation: Invitation) => Promise<string>,
): Promise<Invitation> =>
  db.transaction().execute(async (tx) => {
    const invitation = await openInvitation(tx, fingerprint(token));
    if (!invitation) throw invitationGone();
    const { organization_id, project_id, permissions } = invitation;
    const organization = await lockOrganization(tx, organization_id);
    if (organization.status === 'suspended') throw isSuspended(organization.label);
    const isThere = project_id === null || (await holdProject(tx, project_id));
    if (!isThere || !(await finishInvitation(tx, invitation.id, 'accept'))) throw invitationGone();
    if (!(await mayStillInvite(tx, invitation))) throw mayNoLongerInvite();
    const user_id = await personOf(tx, invitation);
    await acceptMembership(tx, organization_id, user_id, isOfProject(invitation) ? [] : permissions);
    if (isOfProject(invitation)) await giveAccess(tx, { project_id: invitation.project_id, organization_id, user_id, permissions });
    await recordDeed(tx, {
      user_id,
      operation: 'acceptInvitation',
      kind: 'organization member',
      summary: 'Accept an invitation',
      target: `/organizations/${organization_id}/members/${user_id}`,
      scope: { organization: organization_id, user: user_id, ...(project_id !== null && { project: project_id }) },
    });
    return invitation;
  });

/** The invitation stays as it is. */
const isSuspended = (label: string) =>
  new Problem(
    'conflict',
    `The organization ${label} is suspended, so nobody can join it now; open this invitation again once it is resumed.`,
  );

const mayNoLongerInvite = () =>
  new Problem('forbidden', 'The person who sent this invitation may no longer invite you; ask somebody else there for a new one.');

async function mayStillInvite(tx: Tx, invitation: Invitation): Promise<boolean> {
  const { owner_id, organization_id, project_id, permissions } = invitation;
  const user = await userById(tx, owner_id);
  if (!user || user.deactivated) return false;
  const grants = await grantsOf(tx, invitation);
  const roles = rolesIn(user, grants, { organization: organization_id, ...(project_id !== null && { project: project_id }) });
  const holders = permissionTable[project_id === null ? 'member:manage' : 'access:manage'];
  return (
    roles.some((role) => holders.includes(role)) &&
    (project_id !== null || lackedOf({ user, grants }, organization_id, permissions).length === 0)
  );
}

async function grantsOf(tx: Tx, { owner_id, organization_id, project_id }: Invitation): Promise<Grants> {
  const member = await memberAt(tx, organization_id, owner_id);
  const projects = project_id === null ? [] : await effectivePermissions(tx, owner_id, [project_id]);
  return {
    organizations: member ? [{ ...member, id: organization_id, enforce_mfa: false }] : [],
    projects: new Map(projects.map(({ id, permissions }) => [id, permissions])),
  };
}
