import { one, operation, page } from '../../../kernel/operation.ts';
import { UserEntity } from '../../users/public.ts';
import { AccessDocumentEntity } from '../access-document.ts';
import { ExtendedAccessEntity } from '../extended-access.ts';
import { extendedAccessOf } from '../queries.ts';

/** Released clients list projects with this operation, and read only one page. */
export const listExtendedAccess = operation({
  summary: "List what a person may do in projects and organizations: their own grants, their teams' and what they own, merged",
  endpoint: 'GET /users/{user_id}/extended-access',
  on: UserEntity,
  rel: 'extended-access',
  permission: 'user:view',
  returns: page(ExtendedAccessEntity, {
    sort: ['granted_at', 'updated_at'],
    filter: { resource_type: 'string', organization_id: 'string', permissions: 'array' },
    sizeMax: 1000,
    sizeDefault: 1000,
  }),
  handle: ({ target, list }, { db }) => extendedAccessOf(db, target.id, list),
});

export const getAccessDocument = operation({
  summary: 'Get what a person may do where, in one document',
  endpoint: 'GET /access/{access_id}',
  on: AccessDocumentEntity,
  permission: 'user:view',
  returns: one(AccessDocumentEntity),
  handle: async ({ target }) => target,
});
