/**
 * Numbered SQL files, applied in order, each in a transaction with its record, one process at a time. A file that was applied and then
 * edited stops the start: history is append-only.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';

const advisoryLock = 7_267_201;

/** `only`: applies the migrations of these names, for a database that is to be as it once was. */
export async function migrate(pool: pg.Pool, folder: string, only?: ReadonlySet<string>): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await client.query(`select pg_advisory_lock(${advisoryLock})`);
    await client.query(
      'create table if not exists migrations (name text primary key, hash text not null, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ name: string; hash: string }>('select name, hash from migrations order by name');
    const applied = new Map(rows.map(({ name, hash }) => [name, hash]));
    const files = migrationsIn(folder);
    refuseUnknown(applied, files);
    const missing = [...(only ?? [])].find((name) => !files.some((file) => file.name === name));
    if (missing !== undefined) throw new Error(`This was made by a newer Offshoot (${missing}); run that version or a newer one.`);
    const fresh = files.filter(({ name }) => !applied.has(name) && (only?.has(name) ?? true));
    for (const file of fresh) await apply(client, file);
    return fresh.map(({ name }) => name);
  } finally {
    /** Ends the session, and with it the lock and the missing time limit. */
    client.release(true);
  }
}

interface Migration {
  name: string;
  sql: string;
  hash: string;
}

function migrationsIn(folder: string): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => /^\d{4}_[\w-]+\.sql$/.test(name))
    .sort();
  return names.map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8');
    return { name, sql, hash: createHash('sha256').update(sql).digest('hex') };
  });
}

/** For a database that is to be used with the migrations in a folder: throws where it has migrations that are not in the folder, or that differ there. */
export function refuseUnknownMigrations(applied: readonly { name: string; hash: string }[], folder: string): void {
  refuseUnknown(new Map(applied.map(({ name, hash }) => [name, hash])), migrationsIn(folder));
}

function refuseUnknown(applied: Map<string, string>, files: Migration[]) {
  const hashes = new Map(files.map(({ name, hash }) => [name, hash]));
  for (const [name, hash] of applied) {
    const present = hashes.get(name);
    if (present === undefined) throw new Error(`The database was migrated by a newer Offshoot (${name}); run that version or a newer one.`);
    if (present !== hash)
      throw new Error(`The migration ${name} was changed after it was applied; restore the file and write a new migration.`);
  }
}

async function apply(client: pg.PoolClient, { name, sql, hash }: Migration) {
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query('insert into migrations (name, hash) values ($1, $2)', [name, hash]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`The migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
