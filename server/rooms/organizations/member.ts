import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid, Uuid } from '../../kernel/schema.ts';
import { organizationPermissions } from '../../permissions.ts';
import { OrganizationAddress } from './organization.ts';
import { memberAt, type Member } from './queries.ts';

/** A person in an organization, and what they may do there. */
export const MemberEntity = entity({
  name: 'organization member',
  path: '/organizations/{organization_id}/members/{user_id}',
  params: { organization_id: OrganizationAddress, user_id: Uuid },
  schema: Type.Object({
    id: Type.String({ format: 'uuid', deprecated: true, description: 'The same as user_id.' }),
    organization_id: Ulid,
    user_id: Uuid,
    permissions: Type.Array(Type.String({ enum: [...organizationPermissions] })),
    level: Type.String({
      enum: ['admin', 'viewer'],
      description: 'How the person counts for billing: a viewer can change nothing, in the organization or in any project of it.',
    }),
    owner: Type.Boolean(),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ organization_id, user_id }: Member) => ({ organization_id, user_id }),
  scope: ({ organization_id, user_id }) => ({ organization: organization_id, user: user_id }),
  view: 'member:view',
  references: { users: ({ user_id }) => user_id },
  load: ({ organization_id, user_id }, { db }) => memberAt(db, organization_id, user_id),
});
