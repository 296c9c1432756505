import { Type } from 'typebox';
import { created, deleted, one, operation, page } from '../../kernel/operation.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';
import { environmentTypes } from '../../permissions.ts';
import { keptPermissions, OrganizationEntity, OrganizationPermissions, refuseGrantingMore } from '../organizations/public.ts';
import { inOrder, projectById, ProjectEntity } from '../projects/public.ts';
import { detailed, OrganizationInvitationEntity, ProjectInvitationEntity, typeRoles } from './invitation.ts';
import { invite } from './invite.ts';
import { invitationLife } from './life-cycle.ts';
import {
  finishInvitation,
  isOfProject,
  organizationInvitationsPage,
  projectInvitationsPage,
  type Invitation,
  type ProjectInvitation,
} from './queries.ts';

const Email = Type.String({ minLength: 1, maxLength: 254 });
const Force = Type.Boolean({ description: 'Cancel a pending invitation of the same address, and make a new one.' });
const listing = { sort: ['updated_at'] as const, filter: { state: 'string' as const }, bare: true as const };

const isCancellable = ({ state }: Invitation) => invitationLife.possible(state, 'cancel');

export const createOrganizationInvitation = operation({
  summary: 'Invite somebody to an organization by mail',
  endpoint: 'POST /organizations/{organization_id}/invitations',
  on: OrganizationEntity,
  rel: 'create-invitation',
  permission: 'member:manage',
  body: closed({ email: Email, permissions: OrganizationPermissions, force: Type.Optional(Force) }),
  example: { email: 'grace@example.org', permissions: ['projects:create'] },
  returns: created(OrganizationInvitationEntity),
  async handle({ caller, target, body }, platform) {
    const permissions = keptPermissions(body.permissions);
    refuseGrantingMore(caller, target.id, permissions);
    return invite(platform, caller, {
      organization_id: target.id,
      project_id: null,
      email: body.email,
      permissions,
      to: `the organization ${target.label}`,
      force: body.force ?? false,
    });
  },
});

export const listOrganizationInvitations = operation({
  summary: "List an organization's invitations, those that wait to be accepted unless asked otherwise",
  endpoint: 'GET /organizations/{organization_id}/invitations',
  on: OrganizationEntity,
  rel: 'invitations',
  permission: 'member:manage',
  returns: page(OrganizationInvitationEntity, listing),
  handle: ({ target, list }, { db }) => organizationInvitationsPage(db, target.id, list),
});

/** Not part of the published API. Organization invitations have a `self` link, as everything here does, and this is where it leads. */
export const getOrganizationInvitation = operation({
  summary: 'Get an invitation to an organization',
  endpoint: 'GET /organizations/{organization_id}/invitations/{invitation_id}',
  on: OrganizationInvitationEntity,
  permission: 'member:manage',
  returns: one(OrganizationInvitationEntity),
  handle: async ({ target }) => target,
});

export const cancelOrganizationInvitation = operation({
  summary: 'Cancel an invitation to an organization',
  endpoint: 'DELETE /organizations/{organization_id}/invitations/{invitation_id}',
  on: OrganizationInvitationEntity,
  find: async (address, _caller, platform) => cancellable(await OrganizationInvitationEntity.load(address, platform)),
  rel: 'delete',
  permission: 'member:manage',
  allowedWhen: isCancellable,
  returns: deleted,
  async handle({ target }, { db }) {
    if (!(await finishInvitation(db, target.id, 'cancel'))) throw new Problem('not-found', 'No such organization invitation.');
  },
});

export const createProjectInvitation = operation({
  summary: 'Invite somebody to a project by mail',
  endpoint: 'POST /projects/{project_id}/invitations',
  on: ProjectEntity,
  find: ({ project_id }, _caller, { db }) => projectById(db, project_id),
  rel: '#invite',
  permission: 'access:manage',
  body: closed({
    email: Email,
    role: Type.Optional(Type.String({ enum: ['admin', 'viewer'], description: 'The role in the whole project; viewer by default.' })),
    permissions: Type.Optional(
      Type.Array(closed({ type: Type.String({ enum: [...environmentTypes] }), role: Type.String({ enum: typeRoles }) }), {
        maxItems: environmentTypes.length,
        description: 'The role on each environment type.',
      }),
    ),
    environments: Type.Optional(
      Type.Array(closed({ id: Type.String({ maxLength: 255 }), role: Type.String({ enum: typeRoles }) }), {
        maxItems: 100,
        deprecated: true,
        description: 'Not used: roles are given per environment type, in permissions.',
      }),
    ),
    projectId: Type.Optional(
      Type.String({ maxLength: 64, description: 'Not used: the address names the project. A released client sends it.' }),
    ),
    force: Type.Optional(Force),
  }),
  example: { email: 'grace@example.org', role: 'viewer', permissions: [{ type: 'development', role: 'contributor' }] },
  returns: created(ProjectInvitationEntity),
  async handle({ caller, target, body }, platform) {
    const invitation = await invite(platform, caller, {
      organization_id: target.organization_id,
      project_id: target.id,
      email: body.email,
      permissions: projectPermissionsOf(body),
      to: `the project ${target.title || target.id}`,
      force: body.force ?? false,
    });
    return detailed(ofProject(invitation));
  },
});

/** An admin of a project is admin on every environment type, so their roles per type are ignored. */
function projectPermissionsOf({ role = 'viewer', permissions = [] }: { role?: string; permissions?: { type: string; role: string }[] }) {
  const repeated = permissions.find(({ type }, n) => permissions.findIndex((other) => other.type === type) < n);
  if (repeated) throw invalidField('permissions', `must name ${repeated.type} once`);
  return role === 'admin' ? ['admin'] : inOrder(['viewer', ...permissions.map((one) => `${one.type}:${one.role}`)]);
}

export const listProjectInvitations = operation({
  summary: "List a project's invitations, those that wait to be accepted unless asked otherwise",
  endpoint: 'GET /projects/{project_id}/invitations',
  on: ProjectEntity,
  find: ({ project_id }, _caller, { db }) => projectById(db, project_id),
  rel: 'invitations',
  permission: 'access:manage',
  returns: page(ProjectInvitationEntity, listing),
  async handle({ target, list }, { db }) {
    const invitations = await projectInvitationsPage(db, target.id, list);
    return { ...invitations, rows: invitations.rows.map(detailed) };
  },
});

/** Not part of the published API. Project invitations have a `self` link, as everything here does, and this is where it leads. */
export const getProjectInvitation = operation({
  summary: 'Get an invitation to a project',
  endpoint: 'GET /projects/{project_id}/invitations/{invitation_id}',
  on: ProjectInvitationEntity,
  permission: 'access:manage',
  returns: one(ProjectInvitationEntity),
  handle: async ({ target }) => target,
});

export const cancelProjectInvitation = operation({
  summary: 'Cancel an invitation to a project',
  endpoint: 'DELETE /projects/{project_id}/invitations/{invitation_id}',
  on: ProjectInvitationEntity,
  find: async (address, _caller, platform) => cancellable(await ProjectInvitationEntity.load(address, platform)),
  rel: 'delete',
  permission: 'access:manage',
  allowedWhen: isCancellable,
  returns: deleted,
  async handle({ target }, { db }) {
    if (!(await finishInvitation(db, target.id, 'cancel'))) throw new Problem('not-found', 'No such project invitation.');
  },
});

/** To somebody who would cancel an invitation, an accepted or cancelled one does not exist. */
const cancellable = <T extends Invitation>(invitation: T | undefined) => (invitation && isCancellable(invitation) ? invitation : undefined);

function ofProject(invitation: Invitation): ProjectInvitation {
  if (!isOfProject(invitation)) throw new Error('A project invitation without a project');
  return invitation;
}
