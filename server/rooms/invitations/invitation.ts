import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time, Ulid, Uuid } from '../../kernel/schema.ts';
import { environmentTypes, organizationPermissions } from '../../permissions.ts';
import { OrganizationAddress, organizationAt } from '../organizations/public.ts';
import { ProjectId } from '../projects/public.ts';
import { invitationLife } from './life-cycle.ts';
import { invitationById, isOfProject, type Invitation, type ProjectInvitation } from './queries.ts';

export const typeRoles = ['admin', 'viewer', 'contributor'];

const common = {
  id: Uuid,
  state: Type.String({ enum: [...invitationLife.states] }),
  email: Type.String({ format: 'email' }),
  owner: Type.Object({ id: Uuid, display_name: Type.String() }, { description: 'Who invites.' }),
  created_at: Time,
  updated_at: Time,
  finished_at: nullable(Time),
};

/** An invitation to become a member of an organization, with permissions. */
export const OrganizationInvitationEntity = entity({
  name: 'organization invitation',
  path: '/organizations/{organization_id}/invitations/{invitation_id}',
  params: { organization_id: OrganizationAddress, invitation_id: Uuid },
  schema: Type.Object({
    ...common,
    organization_id: Ulid,
    permissions: Type.Array(Type.String({ enum: [...organizationPermissions] })),
  }),
  address: ({ id, organization_id }: Invitation) => ({ organization_id, invitation_id: id }),
  scope: ({ organization_id }) => ({ organization: organization_id }),
  view: 'member:manage',
  async load({ organization_id, invitation_id }, { db }) {
    const [organization, invitation] = await Promise.all([organizationAt(db, organization_id), invitationById(db, invitation_id)]);
    return organization && invitation?.organization_id === organization.id && !isOfProject(invitation) ? invitation : undefined;
  },
});

/** As the published API shows a project invitation: one role for the whole, and one for each environment type. */
export const detailed = (invitation: ProjectInvitation) => ({
  ...invitation,
  role: invitation.permissions.includes('admin') ? 'admin' : 'viewer',
  environments: environmentTypes.flatMap((type) =>
    invitation.permissions
      .filter((permission) => permission.startsWith(`${type}:`))
      .map((permission) => ({ id: type, type, role: permission.slice(type.length + 1), title: titleOf(type) })),
  ),
});

const titleOf = (type: string) => `${type.charAt(0).toUpperCase()}${type.slice(1)}`;

/** An invitation to a project, which makes the person a member of its organization, too. */
export const ProjectInvitationEntity = entity({
  name: 'project invitation',
  path: '/projects/{project_id}/invitations/{invitation_id}',
  params: { project_id: ProjectId, invitation_id: Uuid },
  schema: Type.Object({
    ...common,
    project_id: ProjectId,
    role: Type.String({ enum: ['admin', 'viewer'] }),
    environments: Type.Array(
      Type.Object({
        id: Type.String(),
        type: Type.String({ enum: [...environmentTypes] }),
        role: Type.String({ enum: typeRoles }),
        title: Type.String(),
      }),
    ),
  }),
  address: ({ id, project_id }: ReturnType<typeof detailed>) => ({ project_id, invitation_id: id }),
  scope: ({ organization_id, project_id }) => ({ organization: organization_id, project: project_id }),
  view: 'access:manage',
  async load({ project_id, invitation_id }, { db }) {
    const invitation = await invitationById(db, invitation_id);
    return invitation && isOfProject(invitation) && invitation.project_id === project_id ? detailed(invitation) : undefined;
  },
});
