import { sql } from 'kysely';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import { cloneDatabase, openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { dumpDatabase } from './dump-database.ts';
import { loadDatabase } from './load-database.ts';

const migrations = join(import.meta.dirname, '..', '..', 'migrations');
let home: TestPlatform;
let scratch: string;
beforeAll(async () => {
  home = await openTestPlatform();
  scratch = await mkdtemp(join(tmpdir(), 'offshoot-dump-'));
});
afterAll(() => rm(scratch, { recursive: true }));

const folder = async (name: string) => mkdtemp(join(scratch, name));

async function everything(from: string) {
  const names = (await readdir(from)).toSorted();
  const texts = await Promise.all(names.map(async (name) => (await readFile(join(from, name), 'utf8')).split('\n').toSorted().join('\n')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index]]));
}

test('the whole database is the same again in another one, whatever is in it', async () => {
  const { db } = home.platform;
  const people = await Promise.all(
    Array.from({ length: 3 }, (_, index) => home.person({ first_name: `O'Neil, "${index}" \\ (a)\n{b}\u2028c`, last_name: '' })),
  );
  const [ada] = people;
  if (!ada) throw new Error('There are three');
  await ada.send('POST', '/organizations', { label: 'Acme – "1"' });
  // A trigger notes the contract of a project, and what it noted is among the rows.
  await sampleProject(ada);
  const content = Buffer.from([0, 255, 10, 92, 34]);
  await sql`insert into pictures (user_id, version, content_type, content) values (${ada.user.id}, 'one', 'image/png', ${content})`.execute(
    db,
  );
  // There are more rows than are read at once.
  await sql`insert into attempts (key, count, window_ends_at) select 'k' || n, n, now() from generate_series(1, 1234) as n`.execute(db);
  const first = await folder('first-');
  const contents = await dumpDatabase(db, first);
  expect(contents.tables['users']).toBeGreaterThanOrEqual(3);
  expect(contents.tables['plan_records']).toBe(1);

  const other = await cloneDatabase();
  const pool = openPool(other.url);
  const copy = openDatabase(pool);
  try {
    await loadDatabase(pool, copy, first, migrations);
    // The database is loaded a second time, as after a kill.
    await loadDatabase(pool, copy, first, migrations);
    const second = await folder('second-');
    await dumpDatabase(copy, second);
    expect(await everything(second)).toEqual(await everything(first));
    const { rows } = await sql<{
      uid: number;
    }>`insert into users (email, username) values ('new@example.org', 'new') returning uid`.execute(copy);
    expect(rows[0]?.uid).toBe(Math.max(...people.map(({ user }) => user.uid)) + 1);
    const constraints = await sql<{ count: string }>`select count(*) from pg_constraint where contype = 'f'`.execute(copy);
    expect(constraints.rows).toEqual((await sql`select count(*) from pg_constraint where contype = 'f'`.execute(db)).rows);
  } finally {
    await copy.destroy();
    await other.drop();
  }
});

test('what a newer version made is refused in a sentence', async () => {
  const other = await cloneDatabase();
  const pool = openPool(other.url);
  const copy = openDatabase(pool);
  const first = await folder('newer-');
  await dumpDatabase(home.platform.db, first);
  const contents = JSON.parse(await readFile(join(first, 'contents.json'), 'utf8'));
  await writeFile(join(first, 'contents.json'), JSON.stringify({ ...contents, migrations: [...contents.migrations, '9999_later.sql'] }));
  await expect(loadDatabase(pool, copy, first, migrations)).rejects.toThrow('This was made by a newer Offshoot (9999_later.sql)');
  await copy.destroy();
  await other.drop();
});
