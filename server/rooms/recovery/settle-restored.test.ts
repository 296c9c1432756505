import { sql } from 'kysely';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ulid } from '../../kernel/id.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { app, shop } from '../../testing/stack.ts';
import { allBackups, insertBackup, makeRestorable, manifestPart, type Manifest } from '../backups/public.ts';
import type { Stack } from '../deployments/public.ts';
import { partsOfStack } from '../deployments/work.ts';
import { machineName } from '../environments/public.ts';
import { settleRestored } from './settle-restored.ts';

let home: TestPlatform;
let owner: Person;
let projectId: string;
/** The stack of each environment. */
let stacks: Map<string, Stack>;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
});
beforeEach(async () => {
  ({ projectId } = await sampleProject(owner));
  stacks = new Map();
});

type State = 'active' | 'paused' | 'asleep';

async function add(id: string, state: State, changes: Partial<Stack> = {}): Promise<Stack> {
  const { db } = home.platform;
  if (id !== 'main')
    await db
      .insertInto('environments')
      .values({ project_id: projectId, id, machine_name: machineName(id, projectId), title: id, type: 'development', parent: 'main' })
      .execute();
  // In this test no two environments share what was built.
  const slugs = Object.fromEntries(
    Object.keys((changes.model ?? shop()).applications).map((name) => [
      name,
      { slug_id: `${id}-${name}`, tree_id: 'c'.repeat(40), config_id: 'x', volume: `slug-${id}-${name}` },
    ]),
  );
  const stack = await deploySample(home.platform, { projectId, environmentId: id }, { slugs, ...changes });
  if (state === 'paused') await sql`update environments set status = 'paused' where project_id = ${projectId} and id = ${id}`.execute(db);
  if (state === 'asleep')
    await sql`update environments set sleeping_since = now() where project_id = ${projectId} and id = ${id}`.execute(db);
  stacks.set(id, stack);
  return stack;
}

/** Makes a backup as far as the database knows; nothing is in the store. */
async function backUp(stack: Stack, taken_at: string, origin: object | null = null): Promise<string> {
  const { db, secrets } = home.platform;
  const id = ulid(Date.parse(taken_at));
  const stored = { backup: id, parts: [], places: {}, bytes: 1, bytesAdded: 1 };
  await db.transaction().execute(async (tx) => {
    await insertBackup(tx, secrets, { id, stack, safe: true, slot: null, activity_id: null });
    await makeRestorable(tx, { id, stored, parts: [], size_of_volumes: 512, size_used: 1, taken_at });
    if (origin) await sql`update backups set origin = ${JSON.stringify(origin)}::jsonb where id = ${id}`.execute(tx);
  });
  return id;
}

function stackOf(id: string): Stack {
  const stack = stacks.get(id);
  if (!stack) throw new Error(`There is no ${id}`);
  return stack;
}
const volumesOf = (id: string) => partsOfStack(stackOf(id));
const dataOf = (id: string) =>
  volumesOf(id)
    .filter(({ kind }) => kind !== 'slug')
    .map(({ volume }) => volume);
const allOf = (id: string) => volumesOf(id).map(({ volume }) => volume);

async function settle(volumes: readonly string[], inStore?: string[]) {
  const said: string[] = [];
  const { db, secrets, blobs, config } = home.platform;
  const { rows } = await sql<{ id: string }>`select id from backups where project_id = ${projectId}`.execute(db);
  const list = (project: string) => Promise.resolve(project === projectId ? (inStore ?? rows.map(({ id }) => id)) : []);
  const store = { ...blobs, list };
  const settled = await settleRestored({ db, secrets, blobs: store, config, volumes: new Set(volumes), say: (line) => said.push(line) });
  const own = settled.filter(({ project_id }) => project_id === projectId);
  // Other tests have projects in this database, too: what is said of those is left out.
  const about = said.filter((line) => line.startsWith(projectId) || !/^[a-z2-7]{13}:/.test(line));
  return { said: about, outcomes: Object.fromEntries(own.map(({ environment_id, outcome }) => [environment_id, outcome])), settled: own };
}

async function states() {
  const { rows } = await sql<{ id: string; status: string; is_asleep: boolean; has_stack: boolean }>`
    select id, status, sleeping_since is not null as is_asleep, stack_id is not null as has_stack from environments
    where project_id = ${projectId} order by id`.execute(home.platform.db);
  return Object.fromEntries(
    rows.map(({ id, status, is_asleep, has_stack }) => [
      id,
      `${status}${is_asleep ? ' asleep' : ''}${has_stack ? '' : ' without a stack'}`,
    ]),
  );
}

async function begun() {
  const { rows } = await sql<{ type: string; environments: string[]; input: { rest?: string; backup?: string } }>`
    select type, environments, input from activities where project_id = ${projectId} and state = 'pending' order by environments`.execute(
    home.platform.db,
  );
  return rows.map(({ type, environments, input }) => [type, environments[0], input.backup, input.rest].filter(Boolean).join(' '));
}

describe('after the platform was restored', () => {
  test('what survived on its disk is used as it is, and nothing older takes its place', async () => {
    for (const [id, state] of [
      ['main', 'active'],
      ['nap', 'asleep'],
      ['rest', 'paused'],
    ] as const) {
      await add(id, state);
      await backUp(stackOf(id), '2026-11-15T08:00:00Z');
    }
    const before = await states();
    const { outcomes } = await settle([...allOf('main'), ...allOf('nap'), ...allOf('rest')]);
    expect(outcomes).toEqual({ main: 'kept', nap: 'kept', rest: 'kept' });
    expect(await states()).toEqual(before);
    expect(await begun()).toEqual([]);
  });

  test('what lost everything comes back from its newest backup, as what it was; what was inactive stays so', async () => {
    await add('main', 'active');
    await add('nap', 'asleep');
    await add('rest', 'paused');
    await add('off', 'active');
    await sql`update environments set status = 'inactive', stack_id = null where project_id = ${projectId} and id = 'off'`.execute(
      home.platform.db,
    );
    const made = new Map<string, string>();
    for (const [id, stack] of stacks) {
      await backUp(stack, '2026-11-14T08:00:00Z');
      made.set(id, await backUp(stack, '2026-11-15T08:00:00Z'));
    }
    const { outcomes } = await settle([]);
    expect(outcomes).toEqual({ main: 'restoring', nap: 'restoring', rest: 'restoring' });
    expect(await begun()).toEqual([
      `environment.restore main ${made.get('main')}`,
      `environment.restore nap ${made.get('nap')} asleep`,
      `environment.restore rest ${made.get('rest')} paused`,
    ]);
    expect((await states())['off']).toBe('inactive without a stack');
  });

  test('what was brought from elsewhere is no backup of the environment itself, unless it has no other', async () => {
    const main = await add('main', 'active');
    const own = await backUp(main, '2026-11-14T08:00:00Z');
    await backUp(main, '2026-11-15T08:00:00Z', { project: 'another' });
    const rest = await add('rest', 'paused');
    const imported = await backUp(rest, '2026-11-15T08:00:00Z', { project: 'another' });
    await settle([]);
    expect(await begun()).toEqual([`environment.restore main ${own}`, `environment.restore rest ${imported} paused`]);
  });

  test('without a backup it is not started empty', async () => {
    await add('main', 'active');
    await add('rest', 'paused');
    expect((await settle([])).outcomes).toEqual({ main: 'empty', rest: 'empty' });
    expect(await states()).toEqual({ main: 'inactive without a stack', rest: 'inactive without a stack' });
    expect(await begun()).toEqual([]);
  });

  test('where only some of its data is left, it is paused, and neither that nor a backup is touched', async () => {
    const main = await add('main', 'active');
    await backUp(main, '2026-11-15T08:00:00Z');
    await add('nap', 'asleep');
    const [lost = '', ...left] = dataOf('main');
    // A volume of a service that the deployed code does not have.
    const stray = `stack-${stackOf('nap').id}-data-old-postgresql`;
    const { settled, outcomes } = await settle([...left, stray]);
    expect(outcomes).toEqual({ main: 'incomplete', nap: 'incomplete' });
    expect(settled[0]?.missing).toEqual([lost]);
    expect(await states()).toEqual({ main: 'paused', nap: 'paused' });
    expect(await begun()).toEqual([]);
  });

  test('what was built is built anew where the data is there, or where there is none to lose', async () => {
    const stateless = { ...shop(), applications: { page: app('page') }, services: {} };
    await add('main', 'active');
    await add('rest', 'paused');
    await add('page', 'active', { model: stateless });
    for (const stack of stacks.values()) await backUp(stack, '2026-11-15T08:00:00Z');
    const { outcomes } = await settle([...dataOf('main'), ...dataOf('rest')]);
    expect(outcomes).toEqual({ main: 'rebuilding', page: 'rebuilding', rest: 'unbuilt' });
    expect(await begun()).toEqual(['environment.redeploy main', 'environment.redeploy page']);
    expect(await states()).toEqual({ main: 'active', page: 'active', rest: 'paused' });
  });

  test('volumes that no environment has are left alone, also where a deployment was just making them', async () => {
    const { db } = home.platform;
    await add('main', 'active');
    const fresh = await add('fresh', 'active');
    await sql`update deployments set status = 'preparing' where stack_id = ${fresh.id}`.execute(db);
    await sql`update environments set status = 'inactive', stack_id = null where project_id = ${projectId} and id = 'fresh'`.execute(db);
    const stray = 'stack-aaaaaaaaaaaaa-data-db-postgresql';
    const { said } = await settle([...allOf('main'), ...dataOf('fresh'), stray]);
    expect(said.join('\n')).toContain('are left alone');
    for (const volume of [...dataOf('fresh'), stray]) expect(said.join('\n')).toContain(volume);
    // The stack is forgotten, and what the database does not know is never removed.
    expect((await sql`select from deployments where stack_id = ${fresh.id}`.execute(db)).rows).toEqual([]);
    expect((await sql`select from deployments where stack_id = ${stackOf('main').id}`.execute(db)).rows).toHaveLength(1);
  });

  test('backups stay listed where none of them can be seen, because they may be in another place', async () => {
    const main = await add('main', 'active');
    const [older, newer] = [await backUp(main, '2026-11-14T08:00:00Z'), await backUp(main, '2026-11-15T08:00:00Z')];
    const { said, outcomes } = await settle([], []);
    expect(said.join('\n')).toContain(`none of its backups is in the places of OFFSHOOT_BACKUPS; set it to where they are`);
    expect(outcomes).toEqual({ main: 'restoring' });
    const listed = await owner.send('GET', `/projects/${projectId}/environments/main/backups`);
    expect(listed.json.map(({ id }: { id: string }) => id)).toEqual([newer, older]);
    // Where others are found, the missing backup is not offered, but it stays listed: its place may come back.
    const second = await settle([], [older]);
    expect(second.said.join('\n')).toContain(`these backups are not in the places of OFFSHOOT_BACKUPS: ${newer}`);
    const { json } = await owner.send('GET', `/projects/${projectId}/environments/main/backups`);
    expect(json).toMatchObject([
      { id: newer, status: 'CREATED', restorable: false },
      { id: older, restorable: true },
    ]);
  });

  test('a backup that was being made when the platform was backed up is found, if it came to something', async () => {
    const { db, secrets, blobs } = home.platform;
    const stack = await add('main', 'active');
    const [id, lost] = [ulid(), ulid()];
    for (const each of [id, lost])
      await db.transaction().execute((tx) => insertBackup(tx, secrets, { id: each, stack, safe: true, slot: null, activity_id: 'a' }));
    const { rows } = await sql<Pick<Manifest, 'stack_sealed'>>`select stack_sealed from backups where id = ${id}`.execute(db);
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-manifest-'));
    const about = { project: projectId, environment: 'main', commit_id: stack.commit_id, deployment: null };
    const manifest: Manifest = {
      ...about,
      version: 1,
      environment_type: 'production',
      backup: id,
      safe: true,
      automated: false,
      created_at: '2026-11-15T08:00:00Z',
      stack_sealed: rows[0]?.stack_sealed ?? '',
      parts: [],
    };
    await writeFile(join(folder, manifestPart.file), JSON.stringify(manifest));
    await blobs.store(projectId, id, [{ name: manifestPart.name, folder }], {});
    await rm(folder, { recursive: true });
    const { said, outcomes } = await settle([], [id]);
    expect(said).toEqual([`${projectId}: found backups that were made later: ${id}`]);
    expect(outcomes).toEqual({ main: 'restoring' });
    expect(await begun()).toEqual([`environment.restore main ${id}`]);
    const listed = await owner.send('GET', `/projects/${projectId}/environments/main/backups`);
    expect(listed.json).toMatchObject([{ id, restorable: true }]);
    const places = (await blobs.places()).map(({ name }) => name);
    expect(await allBackups(db, projectId)).toMatchObject([{ id, places }]);
  });
});
