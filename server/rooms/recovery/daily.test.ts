import { sql } from 'kysely';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { openTestPlatform } from '../../test-platform.ts';
import { backUpDaily } from './daily.ts';
import { forgetOldPlatformBackups, platformRepository } from './platform-backup.ts';

const never = new AbortController().signal;

test('an installation is backed up an hour after its first start, and then once a day', { timeout: 60_000 }, async () => {
  const { platform } = await openTestPlatform();
  const { db, blobs, config } = platform;
  const count = async () => (await blobs.list(platformRepository)).length;
  await sql`insert into installation default values`.execute(db);
  await backUpDaily.run(platform, never);
  expect(await count()).toBe(0);
  await sql`update installation set created_at = now() - interval '61 minutes'`.execute(db);
  await backUpDaily.run(platform, never);
  await backUpDaily.run(platform, never);
  expect(await count()).toBe(1);
  expect(await readdir(join(config.data, 'recovery'))).toEqual([]);
  // Where it fails, that is logged, and it stays due.
  await sql`update installation set backed_up_at = now() - interval '25 hours'`.execute(db);
  const failing = { ...blobs, store: () => Promise.reject(new Error('the store is gone')) };
  await backUpDaily.run({ ...platform, blobs: failing }, never);
  const { rows } = await sql<{ is_old: boolean }>`select backed_up_at < now() - interval '1 day' as is_old from installation`.execute(db);
  expect(rows).toEqual([{ is_old: true }]);
});

test('of the backups of the platform the last seven are kept', async () => {
  const names = Array.from({ length: 9 }, (_, day) => `platform-2026110${day + 1}T030000Z`);
  const forgotten: string[] = [];
  const blobs: Pick<Blobs, 'list' | 'forget'> = {
    list: () => Promise.resolve(names),
    forget: (_, backups) => Promise.resolve(void forgotten.push(...backups)),
  };
  await forgetOldPlatformBackups(blobs, never);
  expect(forgotten.toSorted()).toEqual(names.slice(0, 2));
});
