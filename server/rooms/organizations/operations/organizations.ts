import { Type } from 'typebox';
import { created, deleted, one, operation, page, updated } from '../../../kernel/operation.ts';
import type { Page } from '../../../kernel/paging.ts';
import { invalidField, Problem } from '../../../kernel/problem.ts';
import { closed, Uuid } from '../../../kernel/schema.ts';
import { UserEntity, userById } from '../../users/public.ts';
import { createOrganization, normalised } from '../create-organization.ts';
import { BillingProfileId, organizationFields, OrganizationEntity, organizationTypes, shownOrganization } from '../organization.ts';
import {
  changeOrganization,
  deleteOrganization,
  organizationsPage,
  organizationsPageOf,
  transferOrganization,
  type Organization,
} from '../queries.ts';

const sort = ['name', 'label', 'created_at', 'updated_at'] as const;

export const listOrganizations = operation({
  summary: 'List the organizations one belongs to; operators see all',
  endpoint: 'GET /organizations',
  permission: 'signed-in',
  returns: page(OrganizationEntity, {
    sort,
    filter: {
      id: 'string',
      type: 'string',
      owner_id: 'string',
      name: 'string',
      label: 'string',
      billing_profile_id: 'string',
      vendor: 'string',
      capabilities: 'array',
      status: 'string',
      updated_at: 'time',
    },
  }),
  handle: async ({ caller, list }, { db }) =>
    shownPage(await (caller.user.is_operator ? organizationsPage(db, list) : organizationsPageOf(db, caller.id, list))),
});

export const listUserOrganizations = operation({
  summary: 'List the organizations a user belongs to',
  endpoint: 'GET /users/{user_id}/organizations',
  on: UserEntity,
  rel: 'organizations',
  permission: 'user:view',
  returns: page(OrganizationEntity, {
    sort,
    filter: { id: 'string', type: 'string', vendor: 'string', status: 'string', updated_at: 'time' },
  }),
  handle: async ({ target, list }, { db }) => shownPage(await organizationsPageOf(db, target.id, list)),
});

const shownPage = (page: Page<Organization>): Page<Organization> => ({ ...page, rows: page.rows.map(shownOrganization) });

export const postOrganization = operation({
  summary: 'Create an organization',
  endpoint: 'POST /organizations',
  permission: 'signed-in',
  body: closed({
    label: organizationFields.label,
    name: Type.Optional(organizationFields.name),
    type: Type.Optional(Type.String({ enum: organizationTypes })),
    country: Type.Optional(organizationFields.country),
    security_contact: Type.Optional(organizationFields.security_contact),
    owner_id: Type.Optional(Type.String({ format: 'uuid', description: 'Another than oneself only for operators.' })),
  }),
  example: { label: 'Analytical Engines', type: 'flexible', country: 'GB', security_contact: 'security@example.org' },
  returns: created(OrganizationEntity),
  async handle({ caller, body: { owner_id, ...asked } }, { db }) {
    if (owner_id === undefined || owner_id === caller.id) return createOrganization(db, caller.user, asked);
    if (!caller.user.is_operator) throw new Problem('forbidden', 'You can create organizations only for yourself: leave out owner_id.');
    const owner = await userById(db, owner_id);
    if (!owner || owner.deactivated) throw invalidField('owner_id', 'is not an active user');
    return createOrganization(db, owner, asked);
  },
});

export const getOrganization = operation({
  summary: 'Get an organization, by its id or as name=…',
  endpoint: 'GET /organizations/{organization_id}',
  on: OrganizationEntity,
  permission: 'organization:view',
  returns: one(OrganizationEntity),
  handle: async ({ target }) => target,
});

export const updateOrganization = operation({
  summary: 'Change an organization',
  endpoint: 'PATCH /organizations/{organization_id}',
  on: OrganizationEntity,
  rel: 'update',
  permission: 'organization:edit',
  body: Type.Partial(Type.Object({ ...organizationFields, billing_profile_id: BillingProfileId }), { additionalProperties: false }),
  example: { label: 'Difference Engines', country: 'GB', security_contact: 'security@example.org' },
  returns: updated(OrganizationEntity),
  handle: ({ target, body }, { db }) => changeOrganization(db, target.id, normalised(body)),
});

export const removeOrganization = operation({
  summary: 'Delete an organization that owns no projects, with its members, teams and invitations',
  endpoint: 'DELETE /organizations/{organization_id}',
  on: OrganizationEntity,
  rel: 'delete',
  permission: 'organization:delete',
  returns: deleted,
  handle: ({ target }, { db }) => deleteOrganization(db, target.id),
});

/** Not part of the published API, which has no way to hand an organization on. */
export const postOrganizationOwner = operation({
  summary: 'Transfer an organization to another of its members; its owner stays, as admin',
  endpoint: 'POST /organizations/{organization_id}/owner',
  on: OrganizationEntity,
  rel: 'transfer',
  permission: 'organization:delete',
  body: closed({ user_id: Uuid }),
  example: { user_id: '7f8c5ad2-3c1e-4f59-9d2a-5a0c3a7a0b1e' },
  returns: updated(OrganizationEntity),
  async handle({ caller, target, body }, { db }) {
    /** The organization was read after the caller's rights were, and may have a new owner since: a caller who is no operator hands on only what they still own. */
    const from = caller.user.is_operator ? target.owner_id : caller.id;
    if (body.user_id === target.owner_id) throw invalidField('user_id', 'owns the organization already');
    if ((await userById(db, body.user_id))?.deactivated) throw invalidField('user_id', 'is not an active user');
    return transferOrganization(db, target.id, from, body.user_id);
  },
});
