import { Type } from 'typebox';
import { entity } from '../../kernel/operation.ts';
import { Ulid, Uuid } from '../../kernel/schema.ts';
import type { Db } from '../../kernel/sql.ts';
import { ProjectId } from '../projects/public.ts';
import { userById } from '../users/public.ts';
import { newestAccessOf } from './queries.ts';

const grantsMax = 1000;

const Permissions = Type.Array(Type.String());

interface AccessDocument {
  id: string;
  user_id: string;
  organizations: { id: string; permissions: string[] }[];
  projects: { id: string; organization_id: string; permissions: string[] }[];
  complete: boolean;
}

/** All that a person may do, in one document, for programs that decide by it. Its id is the person's. */
export const AccessDocumentEntity = entity({
  name: 'access document',
  path: '/access/{access_id}',
  params: { access_id: Uuid },
  schema: Type.Object({
    id: Uuid,
    user_id: Uuid,
    organizations: Type.Array(Type.Object({ id: Ulid, permissions: Permissions })),
    projects: Type.Array(Type.Object({ id: ProjectId, organization_id: Ulid, permissions: Permissions })),
    complete: Type.Boolean({ description: `False when there is more than the ${grantsMax} newest, which are listed here.` }),
  }),
  address: ({ id }: AccessDocument) => ({ access_id: id }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'user:view',
  load: ({ access_id }, { db }) => accessDocumentOf(db, access_id),
});

async function accessDocumentOf(db: Db, userId: string): Promise<AccessDocument | undefined> {
  const [user, rows] = await Promise.all([userById(db, userId), newestAccessOf(db, userId, grantsMax + 1)]);
  if (!user) return undefined;
  const shown = rows.slice(0, grantsMax);
  return {
    id: userId,
    user_id: userId,
    organizations: shown
      .filter(({ resource_type }) => resource_type === 'organization')
      .map(({ resource_id, permissions }) => ({ id: resource_id, permissions })),
    projects: shown
      .filter(({ resource_type }) => resource_type === 'project')
      .map(({ resource_id, organization_id, permissions }) => ({ id: resource_id, organization_id, permissions })),
    complete: rows.length <= grantsMax,
  };
}
