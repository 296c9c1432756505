/** Into a PostgreSQL of the operator's own; what restores environments, and a machine that has nothing, is in e2e/platform-backup.test.ts. */
import { sql } from 'kysely';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refuseHalfRestored } from '../server/data-folder.ts';
import { openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import { openDatabase, openPool, type Db } from '../server/kernel/sql.ts';
import { backUpPlatform } from '../server/rooms/recovery/public.ts';
import { keepFile } from '../server/rooms/support/attached-files.ts';
import { cloneDatabase, openTestPlatform, type TestPlatform } from '../server/testing/platform.ts';
import { restorePlatform } from './restore-platform.ts';
import { killedBefore, withSettings, type Settings } from './test-command.ts';

const key = randomBytes(32);
let home: TestPlatform;
let scratch: string;
let kept: string;
let people: string[];
/** The name of a file that came with a ticket. */
let attached: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'offshoot-restore-'));
  kept = join(scratch, 'kept');
  home = await openTestPlatform();
  for (let count = 0; count < 3; count += 1) await home.person();
  const { db, config } = home.platform;
  attached = await keepFile(config.data, Buffer.from('a trace'));
  people = await usersIn(db);
  const places = [{ kind: 'folder', folder: kept }] as const;
  const blobs = openBlobs({ folder: join(scratch, 'blobs'), places, secrets: openSecrets([key]) });
  await backUpPlatform({ db, blobs, data: config.data });
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const usersIn = async (db: Db): Promise<string[]> => {
  const { rows } = await sql<{ email: string }>`select email from users order by email`.execute(db);
  return rows.map(({ email }) => email);
};

const isTable = async (db: Db, name: string): Promise<boolean> => {
  const { rows } = await sql<{ is_there: boolean }>`select to_regclass(${`public.${name}`}) is not null as is_there`.execute(db);
  return rows[0]?.is_there ?? false;
};

/** A database that is nobody's yet. */
async function emptyDatabase() {
  const { url, drop } = await cloneDatabase();
  const db = openDatabase(openPool(url));
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  return {
    url,
    db,
    [Symbol.asyncDispose]: async () => {
      await db.destroy();
      await drop();
    },
  };
}

const settingsFor = (data: string, url: string) => ({
  OFFSHOOT_DATA: data,
  OFFSHOOT_BACKUPS: kept,
  OFFSHOOT_SECRET_KEY: key.toString('base64'),
  DATABASE_URL: url,
});
interface Given {
  from?: string | undefined;
  backup?: string;
  settings?: Settings;
}
const restore = (data: string, url: string, { from, backup, settings = {} }: Given = {}) =>
  withSettings({ ...settingsFor(data, url), ...settings }, () => restorePlatform({ from, backup, keyFromInput: false }));

/** A restore into it waits for this when database and folders are there, and it is not through yet. */
const settleLock = sql`select pg_advisory_xact_lock(1)`;

/** By the one statement that comes then, and only then. */
async function makeSettlingWait(db: Db) {
  await sql`create schema waiting`.execute(db);
  await sql`create function waiting.wait() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(1);
      return null;
    end $$`.execute(db);
  await sql`create function waiting.watch() returns event_trigger language plpgsql as $$
    begin
      if exists (select from pg_event_trigger_ddl_commands() where object_identity = 'public.backups') then
        create trigger waits before delete on public.backups for each statement execute function waiting.wait();
      end if;
    end $$`.execute(db);
  await sql`create event trigger watch on ddl_command_end when tag in ('CREATE TABLE') execute function waiting.watch()`.execute(db);
}

test('a database that holds anything is refused, and nothing is changed: neither there nor in the data folder', async () => {
  await using own = await emptyDatabase();
  const data = join(scratch, 'refused');
  await sql`create table customers (name text)`.execute(own.db);
  await sql`insert into customers values ('Ada')`.execute(own.db);
  const refusal = 'The database of DATABASE_URL is not empty; give an empty one. Nothing was changed.';
  await expect(restore(data, own.url)).rejects.toThrow(refusal);
  // Also one of another installation.
  await expect(restore(data, home.databaseUrl)).rejects.toThrow(refusal);
  expect((await sql`select name from customers`.execute(own.db)).rows).toEqual([{ name: 'Ada' }]);
  expect(await usersIn(home.platform.db)).toEqual(people);
  expect(await readdir(data)).toEqual(['instance.lock']);
});

test('killed on the way, it is begun again and goes through; until then nothing starts there', { timeout: 240_000 }, async () => {
  await using own = await emptyDatabase();
  await using other = await emptyDatabase();
  const data = join(scratch, 'killed');
  // As those who offer databases set them up: this stays, and is in nobody's way.
  await sql`create extension if not exists pg_stat_statements`.execute(own.db);
  await makeSettlingWait(own.db);
  for (const isThen of [() => isTable(own.db, 'activities'), async () => existsSync(join(data, 'repositories'))]) {
    const untilSettled = { db: own.db, lock: settleLock };
    expect(await killedBefore(untilSettled, isThen, ['restore', 'platform'], settingsFor(data, own.url))).toBe(true);
    expect(() => refuseHalfRestored(data)).toThrow('run ./offshoot restore platform again until it succeeds');
  }
  // What is half done is in the one database; another that is named meanwhile is not taken for it.
  await sql`create table customers (name text)`.execute(other.db);
  await expect(restore(data, other.url)).rejects.toThrow('is not empty');
  expect(await isTable(other.db, 'customers')).toBe(true);

  expect(await restore(data, own.url)).toContain('The platform is restored.');
  expect(await usersIn(own.db)).toEqual(people);
  expect(await isTable(own.db, 'offshoot_restoring')).toBe(false);
  expect(await isTable(own.db, 'pg_stat_statements')).toBe(true);
  expect(await readFile(join(data, 'attachments', attached), 'utf8')).toBe('a trace');
  refuseHalfRestored(data);
  expect((await readdir(data)).toSorted()).toEqual(['attachments', 'blobs', 'instance.lock', 'recovery', 'repositories', 'tombstones']);
  await expect(restore(data, own.url)).rejects.toThrow('There is an installation in');

  // Killed when all was done, and only the last folder was left: what came since is not lost.
  await mkdir(join(data, 'restoring'));
  await writeFile(join(data, 'restoring', 'done'), '');
  await sql`insert into users (email, username) values ('later@example.org', 'later')`.execute(own.db);
  expect(await restore(data, own.url)).toContain('The platform is restored.');
  expect(await usersIn(own.db)).toContain('later@example.org');
  expect(await readdir(join(data, 'recovery'))).toEqual([]);
  refuseHalfRestored(data);
});

test('a wrong key, a place without a backup, or a name that none has, leaves nothing behind', async () => {
  await using own = await emptyDatabase();
  const data = join(scratch, 'wrong');
  const settings = { OFFSHOOT_SECRET_KEY: randomBytes(32).toString('base64') };
  await expect(restore(data, own.url, { settings })).rejects.toThrow('The key does not fit the backups of the platform.');
  await expect(restore(data, own.url, { from: join(scratch, 'nowhere') })).rejects.toThrow('There is no backup of a platform');
  await expect(restore(data, own.url, { backup: 'platform-2001' })).rejects.toThrow(
    /^There is no backup platform-2001 of the platform; there is platform-\d+T\d+Z\.$/,
  );
  // One of several is not mounted: its folder is there, and empty, or is not.
  const unmounted = join(scratch, 'unmounted');
  const both = { OFFSHOOT_BACKUPS: `${kept},${unmounted}` };
  const refusal = `There is no backup of a platform at ${unmounted}, while there is elsewhere. Mount what should be there; or take it out`;
  await expect(restore(data, own.url, { settings: both })).rejects.toThrow(refusal);
  await mkdir(unmounted);
  for (const from of [undefined, kept]) await expect(restore(data, own.url, { settings: both, from })).rejects.toThrow(refusal);
  expect((await readdir(data)).toSorted()).toEqual(['blobs', 'instance.lock']);
  expect(await isTable(own.db, 'migrations')).toBe(false);
});
