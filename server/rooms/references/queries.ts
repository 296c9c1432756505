/** The short forms, by id. An id that is gone has no row. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';

export const userReferences = (db: Db, ids: readonly string[]) =>
  db
    .selectFrom('users')
    .select(['id', 'username', 'email', 'first_name', 'last_name', 'picture', 'mfa_enabled', 'sso_enabled'])
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute();

export const organizationReferences = (db: Db, ids: readonly string[]) =>
  db
    .selectFrom('organizations')
    .select(['id', 'type', 'owner_id', 'name', 'label', 'vendor', 'created_at', 'updated_at'])
    .where(sql<boolean>`id = any(${ids})`)
    .where('status', '<>', 'deleted')
    .execute();

export const projectReferences = (db: Db, ids: readonly string[]) =>
  db
    .selectFrom('projects')
    .innerJoin('organizations', 'organizations.id', 'projects.organization_id')
    .select([
      'projects.id',
      'projects.organization_id',
      sql<string>`projects.subscription_id::text`.as('subscription_id'),
      'projects.region',
      'projects.title',
      'projects.type',
      'projects.plan',
      /** Clients are told that a project is deleted as soon as its deletion has begun. */
      sql<string>`case projects.status when 'deleting' then 'deleted' else projects.status end`.as('status'),
      'projects.created_at',
      'projects.updated_at',
      'organizations.vendor',
    ])
    .where(sql<boolean>`projects.id = any(${ids})`)
    .where('projects.status', '<>', 'deleted')
    .execute();

/** A region is as old as the installation. */
export async function installedAt(db: Db): Promise<string> {
  const installation = await db.selectFrom('installation').select('created_at').executeTakeFirst();
  return installation?.created_at ?? '1970-01-01T00:00:00.000000+00:00';
}
