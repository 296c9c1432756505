/**
 * Fills a database with what was dumped, in the place of all tables that it has (restoring-database.ts says whether that may be): first the migrations that
 * there were then, in one transaction all rows, and afterwards the migrations that came since. References between tables are taken away while rows come in,
 * and checked when they are put back; triggers rest meanwhile, because what they would note is among the rows.
 */
import { sql } from 'kysely';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { migrate } from '../../kernel/migrate.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { Contents, contentsFile, rowsFile, tablesOf } from './dump-database.ts';
import { ofExtension } from './restoring-database.ts';

const rowsAtOnce = 500;

export async function loadDatabase(pool: pg.Pool, db: Db, folder: string, migrations: string): Promise<void> {
  const contents = await contentsOf(folder);
  await dropAll(db);
  await migrate(pool, migrations, new Set(contents.migrations));
  await db.transaction().execute(async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx);
    const tables = await tablesOf(tx);
    const references = await takeReferences(tx);
    await setTriggers(tx, tables, 'disable');
    await sql`truncate ${sql.join(tables.map((table) => sql.table(table)))}`.execute(tx);
    for (const [table, count] of Object.entries(contents.tables)) await loadTable(tx, table, join(folder, rowsFile(table)), count);
    for (const [sequence, last] of Object.entries(contents.sequences))
      if (last !== null) await sql`select setval(${`public.${sequence}`}::regclass, ${last}::bigint)`.execute(tx);
    await setTriggers(tx, tables, 'enable');
    for (const reference of references) await sql.raw(reference).execute(tx);
  });
  await migrate(pool, migrations);
}

/** Which migrations the dumped database had, oldest first. */
export const dumpedMigrations = async (folder: string): Promise<string[]> => (await contentsOf(folder)).migrations;

const contentsOf = async (folder: string): Promise<Contents> =>
  Value.Parse(Contents, JSON.parse(await readFile(join(folder, contentsFile), 'utf8')));

/** Drops what was there, or what an interrupted attempt left. The schema itself stays: it may be somebody else's, or have extensions in it. */
async function dropAll(db: Db) {
  const tables = await tablesOf(db);
  if (tables.length > 0) await sql`drop table ${sql.join(tables.map((table) => sql.table(table)))} cascade`.execute(db);
  const { rows } = await sql<{ statement: string }>`
    select format('drop routine if exists %s cascade', oid::regprocedure) as statement from pg_proc
    where pronamespace = 'public'::regnamespace and not ${ofExtension('pg_proc')}
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'i')
    union all
    select format('drop type if exists %s cascade', oid::regtype) from pg_type
    where typnamespace = 'public'::regnamespace and typtype in ('d', 'e', 'r') and not ${ofExtension('pg_type')}
    union all
    select format('drop sequence if exists %s cascade', oid::regclass) from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'S' and not ${ofExtension('pg_class')}`.execute(db);
  for (const { statement } of rows) await sql.raw(statement).execute(db);
}

async function setTriggers(tx: Tx, tables: readonly string[], state: 'disable' | 'enable') {
  for (const table of tables) await sql`alter table ${sql.table(table)} ${sql.raw(state)} trigger user`.execute(tx);
}

/** Drops all foreign keys; answers with the statements that put them back. */
async function takeReferences(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ take: string; give: string }>`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as take,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as give
    from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace order by conname`.execute(tx);
  for (const { take } of rows) await sql.raw(take).execute(tx);
  return rows.map(({ give }) => give);
}

/** Splits at line feeds only: rows may contain other characters that a reader of lines would split at. */
async function* linesOf(file: string) {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

async function loadTable(tx: Tx, table: string, file: string, count: number) {
  const { rows } = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${`public.${table}`}::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`.execute(tx);
  const columns = sql.join(rows.map(({ name }) => sql.ref(name)));
  const insert = (batch: readonly string[]) =>
    sql`insert into ${sql.table(table)} (${columns}) overriding system value
      select ${columns} from unnest(${batch}::${sql.table(table)}[])`.execute(tx);
  let [loaded, batch]: [number, string[]] = [0, []];
  for await (const line of linesOf(file)) {
    batch.push(Value.Parse(Type.String(), JSON.parse(line)));
    if (batch.length < rowsAtOnce) continue;
    await insert(batch);
    loaded += batch.length;
    batch = [];
  }
  if (batch.length > 0) await insert(batch);
  if (loaded + batch.length !== count) throw new Error(`${table} had ${count} rows, and ${loaded + batch.length} are in the backup`);
}
