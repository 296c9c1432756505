import { sql } from 'kysely';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { ulid } from '../../kernel/id.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import type { Stack } from '../deployments/public.ts';
import { insertBackup, makeRestorable, manifestPart, sealedStack, type Manifest } from './public.ts';
import { adoptBackups } from './work.ts';
import { removeOldBackups } from './remove-old-backups.ts';

let home: TestPlatform;
let projectId: string;
let stack: Stack;

beforeAll(async () => {
  home = await openTestPlatform();
  ({ projectId } = await sampleProject(await home.person()));
  stack = await deploySample(home.platform, { projectId, environmentId: 'main' });
});

const idsThere = async () => {
  const { rows } = await sql<{ id: string }>`select id from backups where project_id = ${projectId} and status = 'CREATED'`.execute(
    home.platform.db,
  );
  return rows.map(({ id }) => id).toSorted();
};

test('an imported backup is not removed for being of a moment long ago', async () => {
  const { platform } = home;
  const { db, secrets, blobs } = platform;
  const made: string[] = [];
  // One more than the policy keeps of backups that people make.
  for (const day of [1, 2, 3, 4, 5]) {
    const id = ulid();
    const stored = { backup: id, parts: [], places: {}, bytes: 1, bytesAdded: 1 };
    await db.transaction().execute(async (tx) => {
      await insertBackup(tx, secrets, { id, stack, safe: true, slot: null, activity_id: null });
      await makeRestorable(tx, { id, stored, parts: [], size_of_volumes: 1, size_used: 1, taken_at: `2026-02-0${day}T12:00:00Z` });
    });
    made.push(id);
  }
  const [imported = '', oldest = '', ...others] = made;
  await sql`update backups set origin = jsonb_build_object('imported_at', now()) where id = ${imported}`.execute(db);
  const forgetful = { ...blobs, forget: () => Promise.resolve() };
  const machine = () => Promise.resolve({ volumes: { list: () => Promise.resolve([]) } });
  await removeOldBackups.run(Object.assign({ ...platform }, { blobs: forgetful, machine }), new AbortController().signal);
  const left = await idsThere();
  expect(left).toEqual([imported, ...others].toSorted());
  expect(left).not.toContain(oldest);
});

/** A store that holds this manifest for each backup, whatever is written in it. */
const storeOf = (manifests: ReadonlyMap<string, string>): Pick<Blobs, 'list' | 'inspect' | 'restore'> => ({
  list: () => Promise.resolve([...manifests.keys()]),
  inspect: () => Promise.resolve([{ place: 'here', state: 'whole' }]),
  restore: async (_project, { backup }, [part]) => writeFile(join(part?.folder ?? '', manifestPart.file), manifests.get(backup) ?? ''),
});

test('what is found in the store and makes no sense here is left alone, and it is said why; the others are taken over', async () => {
  const { db, secrets, blobs } = home.platform;
  const manifest = (id: string, changes: object = {}, written: object = stack) => {
    const whole: Manifest = {
      version: 1,
      backup: id,
      project: projectId,
      environment: 'main',
      environment_type: 'production',
      commit_id: stack.commit_id,
      deployment: null,
      safe: true,
      automated: false,
      created_at: '2026-11-15T08:00:00Z',
      stack_sealed: sealedStack(secrets, id, Object.assign({ ...stack }, written)),
      parts: [{ name: 'storage-shop', kind: 'storage', of: 'shop', type: null, bytes_max: 3 * 2 ** 20, bytes: 2 ** 20 + 1 }],
    };
    return JSON.stringify({ ...whole, ...changes });
  };
  const ids = Array.from({ length: 8 }, () => ulid());
  const [good = '', later = '', strange = '', moved = '', climbing = '', unlike = '', cut = '', sealed = ''] = ids;
  const manifests = new Map([
    [good, manifest(good)],
    [later, manifest(later, { version: 2, parts: 'elsewhere' })],
    [strange, manifest(strange, { created_at: 'yesterday' })],
    [moved, manifest(moved, { project: 'another' })],
    [climbing, manifest(climbing, { parts: [{ name: '../etc', kind: 'data', of: 'db', type: null, bytes_max: 1, bytes: 1 }] })],
    [unlike, manifest(unlike, {}, { slugs: {} })],
    [cut, manifest(cut).slice(0, -1)],
    // A stack that was sealed with somebody else's key.
    [sealed, manifest(sealed, { stack_sealed: 'abcdef01.AAAA' })],
  ]);
  const before = await idsThere();
  const { found, unfit, damaged } = await adoptBackups({ db, secrets, blobs: { ...blobs, ...storeOf(manifests) } }, projectId);
  const cannot = (what: string, id: string, why: string) =>
    expect(unfit).toContainEqual(expect.stringMatching(`^${what} ${id} cannot be used by this version of the platform: ${why}`));
  expect({ found, damaged, unfit: unfit.length }).toEqual({ found: [good], damaged: [], unfit: 7 });
  cannot('The manifest of backup', later, 'it is of version 2, and this platform knows version 1');
  cannot('The manifest of backup', strange, 'created_at must match format');
  cannot('The manifest of backup', moved, `it is that of backup ${moved} of project another`);
  cannot('The manifest of backup', climbing, 'parts.0.name must match pattern');
  cannot('The backup', unlike, 'in its stack slugs.shop is missing');
  cannot('The manifest of backup', cut, 'it is no JSON');
  cannot('The backup', sealed, 'its stack was not sealed by this installation');
  expect((await idsThere()).filter((id) => !before.includes(id))).toEqual([good]);
  const { rows } = await sql`select size_of_volumes, size_used, restorable from backups where id = ${good}`.execute(db);
  expect(rows).toEqual([{ size_of_volumes: 3, size_used: 2, restorable: true }]);
});
