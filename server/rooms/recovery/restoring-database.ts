/**
 * Whether a database may be filled from a backup. One that is being filled says so itself, by a table that is made first and dropped last. So what an
 * interrupted attempt left can be cleared and begun again, and nothing is ever cleared that was there before, whichever database is named the next time.
 */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';

export const restoringTable = 'offshoot_restoring';

/** Whether a row of this catalogue came with an extension; providers of databases install some in new ones. */
export const ofExtension = (catalogue: 'pg_class' | 'pg_proc' | 'pg_type') => sql<boolean>`exists (select from pg_depend
  where pg_depend.classid = ${sql.lit(catalogue)}::regclass and pg_depend.objid = ${sql.ref(`${catalogue}.oid`)} and pg_depend.deptype = 'e')`;
export const isOfExtension = ofExtension('pg_class');

export type DatabaseState = 'empty' | 'interrupted' | 'in use';

export async function stateOfDatabase(db: Db): Promise<DatabaseState> {
  const { rows } = await sql<{ names: string[] | null }>`
    select array_agg(relname::text) as names from pg_class
    where relnamespace = 'public'::regnamespace and not ${isOfExtension}`.execute(db);
  const names = rows[0]?.names ?? [];
  if (names.includes(restoringTable)) return 'interrupted';
  return names.length === 0 ? 'empty' : 'in use';
}

export const beginRestoring = async (db: Db): Promise<void> =>
  void (await sql`create table if not exists ${sql.table(restoringTable)} ()`.execute(db));

export const endRestoring = async (db: Db): Promise<void> =>
  void (await sql`drop table if exists ${sql.table(restoringTable)}`.execute(db));
