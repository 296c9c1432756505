import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { ulid } from '../../kernel/id.ts';
import { deploySample } from '../../test-deployment.ts';
import { openTestPlatform } from '../../test-platform.ts';
import { sampleProject } from '../../test-samples.ts';
import { insertBackup, makeRestorable } from './room.ts';
import { tidyBackups } from './tidy.ts';

test('what is imported is not tidied away because what it is of was long ago', async () => {
  const { platform, person } = await openTestPlatform();
  const { db, secrets, blobs } = platform;
  const { projectId } = await sampleProject(await person());
  const stack = await deploySample(platform, { projectId, environmentId: 'main' });
  const made: string[] = [];
  // As many as are kept of those that people make, and one more.
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
  await tidyBackups.run(Object.assign({ ...platform }, { blobs: forgetful, machine }), new AbortController().signal);
  const { rows } = await sql<{ id: string }>`select id from backups where project_id = ${projectId} and status = 'CREATED'`.execute(db);
  const left = rows.map(({ id }) => id);
  expect(left.toSorted()).toEqual([imported, ...others].toSorted());
  expect(left).not.toContain(oldest);
});
