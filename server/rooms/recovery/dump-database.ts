/**
 * The whole database as files, as of one moment, from any PostgreSQL and without its tools: each row as PostgreSQL itself writes it down, so that nothing is
 * lost between types. It is whole once `contents.json` is there.
 */
import { sql } from 'kysely';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Type, type Static } from 'typebox';
import type { Db, Tx } from '../../kernel/sql.ts';
import { isOfExtension, restoringTable } from './restoring-database.ts';

export const contentsFile = 'contents.json';
export const rowsFile = (table: string) => `${table}.rows`;

export const Contents = Type.Object({
  version: Type.Literal(1),
  /** The names of the migrations, in the order in which they were applied. */
  migrations: Type.Array(Type.String()),
  /** How many rows each table has. */
  tables: Type.Record(Type.String(), Type.Integer()),
  /** The last value of each sequence; null where it was never used. */
  sequences: Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()])),
});
export type Contents = Static<typeof Contents>;

const rowsAtOnce = 500;

export const dumpDatabase = (db: Db, folder: string): Promise<Contents> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const tables: Contents['tables'] = {};
      for (const table of await tablesOf(tx)) tables[table] = await dumpTable(tx, table, join(folder, rowsFile(table)));
      const contents: Contents = { version: 1, migrations: await migrationsOf(tx), tables, sequences: await sequencesOf(tx) };
      await writeFile(join(folder, contentsFile), JSON.stringify(contents), { mode: 0o600 });
      return contents;
    });

export async function tablesOf(tx: Db | Tx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and not ${isOfExtension}
      and relname <> ${restoringTable} order by relname`.execute(tx);
  return rows.map(({ name }) => name);
}

async function dumpTable(tx: Tx, table: string, file: string): Promise<number> {
  await sql`declare rows_of_table no scroll cursor for select each::text as row from only ${sql.table(table)} as each`.execute(tx);
  let count = 0;
  async function* batches() {
    for (;;) {
      const { rows } = await sql<{ row: string }>`fetch ${sql.lit(rowsAtOnce)} from rows_of_table`.execute(tx);
      if (rows.length === 0) return;
      count += rows.length;
      // Each row takes one line, whatever is in it.
      yield rows.map(({ row }) => `${JSON.stringify(row)}\n`).join('');
    }
  }
  await pipeline(batches, createWriteStream(file, { mode: 0o600 }));
  await sql`close rows_of_table`.execute(tx);
  return count;
}

async function migrationsOf(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(tx);
  return rows.map(({ name }) => name);
}

async function sequencesOf(tx: Tx): Promise<Contents['sequences']> {
  const { rows } = await sql<{ name: string; last_value: string | null }>`
    select sequencename as name, last_value::text from pg_sequences where schemaname = 'public' order by sequencename`.execute(tx);
  return Object.fromEntries(rows.map(({ name, last_value }) => [name, last_value]));
}
