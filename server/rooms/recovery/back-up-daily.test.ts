import { sql } from 'kysely';
import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { openLog } from '../../kernel/log.ts';
import { Problem } from '../../kernel/problem.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { backUpDaily } from './back-up-daily.ts';
import { lookAtPlaces } from './look-at-places.ts';
import { backUpPlatform, forgetOldPlatformBackups, platformBackups, platformRepository } from './platform-backup.ts';
import { noteStoring } from './scratch.ts';

const never = new AbortController().signal;

test('an installation is backed up an hour after its first start, and then once a day', { timeout: 180_000 }, async () => {
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
  // What a killed command left is removed in the next round, along with what it had put into the store.
  const left = join(config.data, 'recovery', '4194305-1-1');
  await mkdir(left);
  await noteStoring(left, { project: platformRepository, backup: (await blobs.list(platformRepository))[0] ?? '' });
  await backUpDaily.run(platform, never);
  expect(await readdir(join(config.data, 'recovery'))).toEqual([]);
  expect(await count()).toBe(0);
  // A backup that fails is logged, and stays due.
  await sql`update installation set backed_up_at = now() - interval '25 hours'`.execute(db);
  const failing = { ...blobs, store: () => Promise.reject(new Error('the store is gone')) };
  await backUpDaily.run({ ...platform, blobs: failing }, never);
  const { rows } = await sql<{ is_old: boolean }>`select backed_up_at < now() - interval '1 day' as is_old from installation`.execute(db);
  expect(rows).toEqual([{ is_old: true }]);
  // A backup that was not stored in all places is not offered.
  const halfAway = { ...blobs, verify: () => Promise.reject(new Problem('unavailable', 'one place is away')) };
  await expect(backUpPlatform({ db, blobs: halfAway, data: config.data })).rejects.toThrow('one place is away');
  expect(await count()).toBe(0);
  expect(await readdir(join(config.data, 'recovery'))).toEqual([]);
});

test('a place that another installation has is told of from the start on, and gets no backup', async () => {
  const { platform } = await openTestPlatform();
  const { db, blobs, config } = platform;
  const other = { installation: { id: 'another' }, keys: ['its'], machine: 'elsewhere' };
  await mkdir(join(config.data, 'backups'));
  await writeFile(join(config.data, 'backups', 'installation.json'), JSON.stringify(other));
  await sql`insert into installation (created_at) values (now() - interval '2 hours')`.execute(db);
  const lines: string[] = [];
  const log = openLog('error', { write: (line) => void lines.push(line) });
  await lookAtPlaces.run({ ...platform, log }, never);
  await backUpDaily.run({ ...platform, log }, never);
  const sentence = expect.stringContaining(`${join(config.data, 'backups')} has the backups of another installation, on elsewhere`);
  expect(lines).toEqual([sentence, sentence]);
  expect(await readdir(join(config.data, 'backups'))).toEqual(['installation.json']);
  expect(await blobs.list(platformRepository)).toEqual([]);
});

test('where backups of the platform are damaged, the next one repairs that and is whole', { timeout: 180_000 }, async () => {
  const { platform } = await openTestPlatform();
  const { db, blobs, config } = platform;
  await sql`insert into installation default values`.execute(db);
  await backUpPlatform({ db, blobs, data: config.data });
  const packs = join(config.data, 'backups', platformRepository, 'data');
  for (const { parentPath, name } of (await readdir(packs, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()))
    await truncate(join(parentPath, name), 100);
  const { backup, places } = await backUpPlatform({ db, blobs, data: config.data });
  const [newest] = await platformBackups(blobs);
  expect([newest, Object.keys(places)]).toEqual([backup, [join(config.data, 'backups')]]);
});

test('of the backups of the platform the last seven are kept', async () => {
  const names = Array.from({ length: 9 }, (_, day) => `platform-2026110${day + 1}T030000Z`);
  const forgotten: string[] = [];
  const blobs: Pick<Blobs, 'list' | 'forget' | 'repair' | 'bringBack'> = {
    list: () => Promise.resolve(names),
    repair: () => Promise.resolve([]),
    bringBack: () => Promise.resolve([]),
    forget: (_, backups) => Promise.resolve(void forgotten.push(...backups)),
  };
  await forgetOldPlatformBackups(blobs, never);
  expect(forgotten.toSorted()).toEqual(names.slice(0, 2));
});
