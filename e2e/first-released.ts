/**
 * Makes of the database of an installation, which does not run, what the first released version would have left: its schema, made by its migrations, and
 * in it all rows, as far as that version had a place for them and in the form in which it wrote them. Nothing later is there, not even empty.
 */
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { openEmbeddedPostgres, sharedPostgresUrl } from '../server/drivers/postgres/embedded.ts';
import { migrate } from '../server/kernel/migrate.ts';
import { openPool } from '../server/kernel/sql.ts';
import { repository } from './installation.ts';

/** Its last migration: the first that knows deployments. */
export const firstReleased = '0008_deployments.sql';

/** What was written otherwise then, beyond columns that were not there. */
const asWrittenThen = [
  // Tasks had no sizes.
  `update deployments set sizes = sizes - 'tasks'`,
];

/** Answers which migrations it has. */
export async function asFirstReleased(data: string): Promise<string[]> {
  return withDatabaseOf(data, async (pool) => {
    await pool.query('alter schema public rename to later; create schema public');
    const migrations = await firstMigrations();
    try {
      const made = await migrate(pool, migrations);
      await takeOverRows(pool);
      for (const statement of asWrittenThen) await pool.query(statement);
      await pool.query('drop schema later cascade');
      return made;
    } finally {
      await rm(migrations, { recursive: true });
    }
  });
}

/** The names of those that were applied, oldest first, of an installation that runs. */
export async function migrationsOf(data: string): Promise<string[]> {
  const pool = openPool(sharedPostgresUrl(join(data, 'postgres')));
  try {
    const { rows } = await pool.query<{ name: string }>('select name from migrations order by name');
    return rows.map(({ name }) => name);
  } finally {
    await pool.end();
  }
}

async function withDatabaseOf<T>(data: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const postgres = await openEmbeddedPostgres(join(data, 'postgres'));
  const pool = openPool(postgres.url);
  try {
    return await work(pool);
  } finally {
    await pool.end();
    await postgres.stop();
  }
}

async function firstMigrations(): Promise<string> {
  const [all, folder] = [join(repository, 'server', 'migrations'), await mkdtemp(join(tmpdir(), 'offshoot-e2e-migrations-'))];
  for (const name of await readdir(all)) if (name <= firstReleased) await copyFile(join(all, name), join(folder, name));
  return folder;
}

/** Of every table that there was, the columns that it had. References are those of rows that were all there, so nobody looks at them meanwhile. */
async function takeOverRows(pool: pg.Pool) {
  const { rows: tables } = await pool.query<{ name: string; columns: string }>(`
    select tables.table_name as name, string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns
    from information_schema.tables join information_schema.columns using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'migrations' and is_generated = 'NEVER'
    group by tables.table_name`);
  const client = await pool.connect();
  try {
    await client.query('set session_replication_role = replica');
    for (const { name, columns } of tables)
      await client.query(`insert into public.${name} (${columns}) overriding system value select ${columns} from later.${name}`);
    await client.query('set session_replication_role = origin');
  } finally {
    client.release(true);
  }
  await countOn(pool);
}

/** Numbers that are given out go on after those that are taken. */
async function countOn(pool: pg.Pool) {
  const { rows } = await pool.query<{ name: string; column: string }>(`
    select table_name as name, column_name as column from information_schema.columns where table_schema = 'public' and is_identity = 'YES'`);
  for (const { name, column } of rows)
    await pool.query(
      `select setval(pg_get_serial_sequence('public.${name}', '${column}'), (select coalesce(max(${column}), 0) + 1 from ${name}))`,
    );
}
