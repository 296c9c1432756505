/** The database for an operator command: that of the running platform, or started for as long as the command takes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { readConfig, type Config } from '../server/config.ts';
import { openDataFolder } from '../server/data-folder.ts';
import { openEmbeddedPostgres, runningEmbeddedPostgresUrl } from '../server/drivers/postgres/embedded.ts';
import { migrate } from '../server/kernel/migrate.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openDatabase, openPool, type Db } from '../server/kernel/sql.ts';

/** For a command that works with the installation of its settings. */
export const operate = (work: (db: Db) => Promise<void>) => withDatabase(readConfig(process.env), work);

/** Where there is no installation, nothing is made that would look like one. */
export async function withDatabase(config: Config, work: (db: Db) => Promise<void>) {
  if (!(await isInstalled(config)))
    throw new Problem(
      'not-found',
      `There is no installation in ${config.databaseUrl === undefined ? config.data : 'the database of DATABASE_URL'}; ` +
        './offshoot start makes one, and ./offshoot restore platform brings one back from its backups.',
    );
  await withNewDatabase(config, work);
}

export async function isInstalled({ data, databaseUrl }: Config): Promise<boolean> {
  if (databaseUrl === undefined) return existsSync(join(data, 'postgres', 'cluster'));
  const { stateOfDatabase } = await import('../server/rooms/recovery/public.ts');
  const db = openDatabase(openPool(databaseUrl));
  try {
    return (await stateOfDatabase(db)) !== 'empty';
  } finally {
    await db.destroy();
  }
}

/** Makes a database where there is none. */
export async function withNewDatabase(config: Config, work: (db: Db) => Promise<void>) {
  if (config.databaseUrl !== undefined) return useDatabase(config.databaseUrl, work);
  const folder = join(config.data, 'postgres');
  const running = runningEmbeddedPostgresUrl(folder);
  if (running !== undefined && (await answers(running))) return useDatabase(running, work);
  const data = openDataFolder(config.data);
  const postgres = await openEmbeddedPostgres(folder);
  try {
    await useDatabase(postgres.url, work);
  } finally {
    await postgres.stop();
    data.close();
  }
}

/** For whoever only looks: nothing is migrated, and nothing can be written. */
export const lookAtDatabase = <T>(config: Config, look: (db: Db) => Promise<T>): Promise<T> =>
  withPlainDatabase(config, (_, db) => db.transaction().setAccessMode('read only').execute(look));

/** Works with the database as it is: nothing is migrated. */
export async function withPlainDatabase<T>(config: Config, work: (pool: pg.Pool, db: Db) => Promise<T>): Promise<T> {
  if (config.databaseUrl !== undefined) return usePlainDatabase(config.databaseUrl, work);
  const folder = join(config.data, 'postgres');
  const running = runningEmbeddedPostgresUrl(folder);
  if (running !== undefined && (await answers(running))) return usePlainDatabase(running, work);
  const data = openDataFolder(config.data);
  const postgres = await openEmbeddedPostgres(folder);
  try {
    return await usePlainDatabase(postgres.url, work);
  } finally {
    await postgres.stop();
    data.close();
  }
}

async function usePlainDatabase<T>(url: string, work: (pool: pg.Pool, db: Db) => Promise<T>): Promise<T> {
  const pool = openPool(url);
  const db = openDatabase(pool);
  try {
    return await work(pool, db);
  } finally {
    await db.destroy();
  }
}

async function answers(url: string) {
  const pool = openPool(url);
  try {
    await pool.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await pool.end();
  }
}

async function useDatabase(url: string, work: (db: Db) => Promise<void>) {
  const pool = openPool(url);
  const db = openDatabase(pool);
  try {
    await migrate(pool, join(import.meta.dirname, '..', 'server', 'migrations'));
    await work(db);
  } finally {
    await db.destroy();
  }
}
