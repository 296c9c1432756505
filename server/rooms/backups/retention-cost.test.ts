import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { ulid } from '../../kernel/id.ts';
import type { Db } from '../../kernel/sql.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { applyRetention } from './apply-retention.ts';
import { changedEnvironments } from './retention-queries.ts';

const branches = ['main', 'one', 'two'];
const millisecondsPerDay = 86_400_000;

let db: Db;
let owner: Person;
let projectId: string;

beforeAll(async () => {
  const home = await openTestPlatform();
  ({ db } = home.platform);
  owner = await home.person();
  ({ projectId } = await sampleProject(owner));
  await sql`insert into environments (project_id, id, machine_name, title, type)
    select ${projectId}, name, name, name, 'development' from unnest(${branches.slice(1)}::text[]) as name`.execute(db);
  for (const branch of branches) for (const day of [1, 2]) await backUp(branch, day);
});

/** A backup that somebody made by hand. */
async function backUp(environment: string, day: number) {
  const id = ulid(day * millisecondsPerDay);
  await sql`insert into backups (id, project_id, environment_id, environment_type, restorable, safe, automated, commit_id, stack_sealed, stored, created_at)
    values (${id}, ${projectId}, ${environment}, 'development', true, true, false, '', '', '{}', to_timestamp(${day * 86_400}))`.execute(
    db,
  );
  return id;
}

const changed = async () =>
  (await changedEnvironments(db, undefined, 100))
    .filter(({ project_id }) => project_id === projectId)
    .map(({ environment_id }) => environment_id);
const kept = async (environment: string) => {
  const { rows } = await sql<{ id: string }>`
    select id from backups where project_id = ${projectId} and environment_id = ${environment} and status = 'CREATED' order by id`.execute(
    db,
  );
  return rows.map(({ id }) => id);
};

test('which backups stay is decided anew only where backups or what decides changed', async () => {
  expect(await changed()).toEqual(branches);
  await applyRetention(db);
  expect(await changed()).toEqual([]);

  const newest = await backUp('one', 3);
  expect(await changed()).toEqual(['one']);
  await applyRetention(db);
  // The policy for development keeps two manual backups. An environment is looked at until there is nothing left to change.
  expect(await kept('one')).toEqual([expect.any(String), newest]);
  expect(await changed()).toEqual(['one']);
  await applyRetention(db);
  expect(await changed()).toEqual([]);

  await sql`update environments set type = 'production' where project_id = ${projectId} and id = 'two'`.execute(db);
  expect(await changed()).toEqual(['two']);
  await applyRetention(db);
  expect(await kept('two')).toHaveLength(2);

  const policy = { data_retention: { development: { default_config: { manual_count: 1, schedule: [] } } } };
  expect((await owner.send('PATCH', `/projects/${projectId}/settings`, policy)).status).toBe(200);
  expect(await changed()).toEqual(branches);
  await applyRetention(db);
  await applyRetention(db);
  expect([await kept('one'), await changed()]).toEqual([[newest], []]);

  await sql`update backups set status = 'DELETING', updated_at = clock_timestamp() where id = ${newest}`.execute(db);
  await sql`update projects set timezone = 'Asia/Tokyo' where id = ${projectId}`.execute(db);
  expect(await changed()).toEqual(['main', 'two']);
});

test('however many changed, they are taken some at a time, each once', async () => {
  await backUp('main', 4);
  await backUp('two', 4);
  const [first] = await changedEnvironments(db, undefined, 1);
  const others = await changedEnvironments(db, first, 100);
  expect([first, ...others]).toEqual(await changedEnvironments(db, undefined, 100));
  expect([first, ...others]).toHaveLength(2);
});
