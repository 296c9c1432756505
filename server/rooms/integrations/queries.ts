import { sql, type Insertable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { StoredIntegration } from './stored-integration.ts';
import type { Values } from './types/field.ts';

/** The integrations of a project, or the one of that id. */
export async function integrationsOf(db: Db | Tx, projectId: string, id?: string): Promise<StoredIntegration[]> {
  const { rows } = await sql<StoredIntegration>`
    select integrations.*, projects.organization_id
    from integrations join projects on projects.id = integrations.project_id and projects.status <> 'deleted'
    where integrations.project_id = ${projectId} ${id === undefined ? sql`` : sql`and integrations.id = ${id}`}
    order by integrations.created_at, integrations.id`.execute(db);
  return rows;
}

/** Until the transaction ends, nobody else changes integrations of the project: what is read, checked and counted stays true. */
export const takeIntegrations = (tx: Tx, projectId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended('integrations ' || ${projectId}, 0))`.execute(tx);

export const insertIntegration = (tx: Tx, row: Insertable<Database['integrations']>) => tx.insertInto('integrations').values(row).execute();

export const updateIntegration = (tx: Tx, id: string, change: Updateable<Database['integrations']>) =>
  tx
    .updateTable('integrations')
    .set({ ...change, updated_at: sql<string>`clock_timestamp()` })
    .where('id', '=', id)
    .execute();

/** Keeps what the service outside told of itself. Nobody changed the integration, so its date stays. */
export async function learnValues(db: Db | Tx, id: string, learned: Values): Promise<void> {
  if (Object.keys(learned).length > 0)
    await sql`update integrations set settings = settings || ${JSON.stringify(learned)}::jsonb
      where id = ${id} and not settings @> ${JSON.stringify(learned)}::jsonb`.execute(db);
}

export const deleteIntegration = (tx: Tx, id: string) =>
  tx.deleteFrom('integrations').where('id', '=', id).returning('id').executeTakeFirst();

/** Remembers that the service outside has news. */
export const noteHook = (db: Db, id: string) => sql`update integrations set hooked_at = clock_timestamp() where id = ${id}`.execute(db);
