import { Type } from 'typebox';
import { created, deleted, one, operation, page, updated } from '../../../kernel/operation.ts';
import { Problem } from '../../../kernel/problem.ts';
import { closed, Uuid } from '../../../kernel/schema.ts';
import type { Caller } from '../../../platform.ts';
import { userById } from '../../users/public.ts';
import { keptPermissions, lackedOf, OrganizationPermissions, refuseGrantingMore } from '../granting.ts';
import { MemberEntity } from '../member.ts';
import { refuseWithoutRoom } from '../membership.ts';
import { OrganizationEntity } from '../organization.ts';
import { changeMember, insertMember, lockOrganization, memberAt, membersPage, removeMember, type Member } from '../queries.ts';

export const listMembers = operation({
  summary: "List an organization's members",
  endpoint: 'GET /organizations/{organization_id}/members',
  on: OrganizationEntity,
  rel: 'members',
  permission: 'member:manage',
  returns: page(MemberEntity, { sort: ['created_at', 'updated_at'], filter: { permissions: 'array' } }),
  handle: ({ target, list }, { db }) => membersPage(db, target.id, list),
});

export const postMember = operation({
  summary: 'Add a user to an organization',
  endpoint: 'POST /organizations/{organization_id}/members',
  on: OrganizationEntity,
  rel: 'create-member',
  permission: 'member:manage',
  body: closed({ user_id: Uuid, permissions: Type.Optional(OrganizationPermissions) }),
  example: { user_id: '7f8c5ad2-3c1e-4f59-9d2a-5a0c3a7a0b1e', permissions: ['billing', 'projects:create'] },
  returns: created(MemberEntity),
  async handle({ caller, target, body }, { db }) {
    const permissions = keptPermissions(body.permissions ?? []);
    refuseGrantingMore(caller, target.id, permissions);
    const user = await userById(db, body.user_id);
    if (!user || user.deactivated) throw new Problem('not-found', 'No such user.', { fields: { user_id: 'is not a user' } });
    return db.transaction().execute(async (tx) => {
      const organization = await lockOrganization(tx, target.id);
      if (!(await memberAt(tx, target.id, user.id))) await refuseWithoutRoom(tx, organization, user.email);
      const joined = await insertMember(tx, { organization_id: target.id, user_id: user.id, permissions });
      if (!joined) throw new Problem('conflict', 'This user is already a member; change their permissions instead.');
      return found(await memberAt(tx, target.id, user.id));
    });
  },
});

export const getMember = operation({
  summary: 'Get a member of an organization',
  endpoint: 'GET /organizations/{organization_id}/members/{user_id}',
  on: MemberEntity,
  permission: 'member:view',
  returns: one(MemberEntity),
  handle: async ({ target }) => target,
});

export const updateMember = operation({
  summary: "Change a member's permissions",
  endpoint: 'PATCH /organizations/{organization_id}/members/{user_id}',
  on: MemberEntity,
  rel: 'update',
  permission: 'member:manage',
  isFor: (member, caller) => !member.owner && member.user_id !== caller.id && !isAbove(member, caller),
  otherwise: 'You cannot change the permissions of the owner, your own, or those of somebody who holds more permissions than you.',
  body: closed({ permissions: Type.Optional(OrganizationPermissions) }),
  example: { permissions: ['members'] },
  returns: updated(MemberEntity),
  async handle({ caller, target, body }, { db }) {
    if (!body.permissions) return target;
    const permissions = keptPermissions(body.permissions);
    refuseGrantingMore(caller, target.organization_id, permissions);
    return found(await changeMember(db, target, permissions));
  },
});

export const deleteMember = operation({
  summary: 'Remove a member from an organization, its projects and its teams; or leave it oneself',
  endpoint: 'DELETE /organizations/{organization_id}/members/{user_id}',
  on: MemberEntity,
  rel: 'delete',
  permission: 'member:remove',
  isFor: (member, caller) => !member.owner && (member.user_id === caller.id || !isAbove(member, caller)),
  otherwise: 'The owner cannot be removed (transfer the organization first), nor somebody who holds more permissions than you.',
  returns: deleted,
  async handle({ target }, { db }) {
    await removeMember(db, target);
  },
});

const isAbove = ({ organization_id, permissions }: Member, caller: Caller) => lackedOf(caller, organization_id, permissions).length > 0;

/** Refuses when the member was removed between one statement and the next. */
function found(member: Member | undefined): Member {
  if (!member) throw new Problem('not-found', 'No such organization member.');
  return member;
}
