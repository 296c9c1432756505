import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Time, Ulid, Uuid } from '../../kernel/schema.ts';
import type { ExtendedAccess } from './queries.ts';

/** What a person may do in one project or organization, wherever that comes from. It has no address of its own, only that of its list. */
export const ExtendedAccessEntity = entity({
  name: 'extended access',
  path: '/users/{user_id}/extended-access',
  params: { user_id: Uuid },
  schema: Type.Object({
    user_id: Uuid,
    resource_id: Type.String(),
    resource_type: Type.Unsafe<'project' | 'organization'>({ type: 'string', enum: ['project', 'organization'] }),
    organization_id: Ulid,
    permissions: Type.Array(Type.String()),
    granted_at: Time,
    updated_at: Time,
  }),
  address: ({ user_id }: ExtendedAccess) => ({ user_id }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'user:view',
  references: {
    projects: ({ resource_id, resource_type }) => (resource_type === 'project' ? resource_id : undefined),
    organizations: ({ organization_id }) => organization_id,
  },
  load: async () => undefined,
});
