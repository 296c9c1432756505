import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSecrets } from '../../kernel/secrets.ts';
import { blobsConformance, type OpenedBlobs, picture, testMilliseconds } from './conformance.ts';
import { openBlobs } from './open-blobs.ts';
import type { BackupPlace } from './places.ts';
import { recentChanges } from './recent-changes.ts';
import { openRepositories } from './repositories.ts';
import { openTestS3, type TestS3, testS3Keys } from './test-s3.ts';

const run = promisify(execFile);
/** Of restic; a request that fails so often is a place that is gone. */
const attemptsMax = 2;
const keys = [randomBytes(32)];

const blobsAt = (folder: string, places: readonly BackupPlace[], ours: readonly Buffer[] = keys) =>
  openBlobs({ folder: join(folder, 'blobs'), places, secrets: openSecrets(ours), attemptsMax });
const s3Place = ({ endpoint }: TestS3): BackupPlace => ({
  kind: 's3',
  endpoint,
  bucket: 'backups',
  prefix: 'of/ours',
  region: 'us-east-1',
  ...testS3Keys,
});

async function filesBelow(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

blobsConformance('in a folder', async (): Promise<OpenedBlobs> => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-blobs-'));
  const place = join(folder, 'kept');
  return {
    blobs: blobsAt(folder, [{ kind: 'folder', folder: place }]),
    kept: {
      names: () => filesBelow(place),
      read: (name) => readFile(join(place, name)),
      write: async (name, content) => {
        await rm(join(place, name), { force: true });
        await writeFile(join(place, name), content);
      },
      remove: (name) => rm(join(place, name)),
    },
    clean: () => rm(folder, { recursive: true }),
  };
});

blobsConformance('in S3', async (): Promise<OpenedBlobs> => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-blobs-'));
  const s3 = await openTestS3('backups');
  const known = (name: string) => s3.objects.get(name) ?? Buffer.alloc(0);
  return {
    blobs: blobsAt(folder, [s3Place(s3)]),
    kept: {
      names: () => Promise.resolve([...s3.objects.keys()]),
      read: (name) => Promise.resolve(known(name)),
      write: (name, content) => Promise.resolve(void s3.objects.set(name, content)),
      remove: (name) => Promise.resolve(void s3.objects.delete(name)),
    },
    clean: async () => {
      await s3.disappear();
      await rm(folder, { recursive: true });
    },
  };
});

test('what changed in the moment of a copy is doubtful until it changes again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-blobs-'));
  const parts = [{ name: 'data', folder }];
  await writeFile(join(folder, 'file'), 'one');
  const takenAt = new Date().toISOString();
  const { doubtfulFrom } = await recentChanges(parts, { takenAt });
  expect(await recentChanges(parts, { takenAt, earlier: doubtfulFrom })).toEqual({ doubtfulFrom, staysDoubtful: true });
  await sleep(100);
  await writeFile(join(folder, 'file'), 'two');
  expect(await recentChanges(parts, { takenAt, earlier: doubtfulFrom })).toMatchObject({ staysDoubtful: false });
  const later = new Date(Date.now() + 60_000).toISOString();
  expect(await recentChanges(parts, { takenAt: later })).toEqual({ doubtfulFrom: undefined, staysDoubtful: false });
  await rm(folder, { recursive: true });
});

describe('blobs where places fail', { timeout: testMilliseconds }, () => {
  let folder: string;
  let s3: TestS3;
  const data = () => [{ name: 'data', folder: join(folder, 'data') }];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-blobs-'));
    s3 = await openTestS3('backups');
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'data', 'random'), randomBytes(8_000_000));
  });
  afterAll(async () => {
    await s3.disappear();
    await rm(folder, { recursive: true });
  });

  test('a store that fails half way, is full or lies about what it kept is told of, and the next try succeeds', async () => {
    const blobs = blobsAt(folder, [s3Place(s3)]);
    s3.misbehave('fails', 4);
    await expect(blobs.store('faulty', 'one', data(), {})).rejects.toThrow(/does not answer; see that it runs|failed \(500/);
    s3.misbehave('full', 3);
    await expect(blobs.store('faulty', 'one', data(), {})).rejects.toThrow('could not be stored at s3:');
    s3.misbehave('swallows', 1);
    await expect(blobs.store('faulty', 'one', data(), {})).rejects.toThrow('it is damaged or parts of it are missing');
    s3.misbehave(undefined);
    const stored = await blobs.store('faulty', 'one', data(), {});
    await blobs.verify('faulty', stored);

    await writeFile(join(folder, 'data', 'other'), randomBytes(3_000_000));
    s3.misbehave('truncates', 1);
    const storeAndVerify = async () => blobs.verify('faulty', await blobs.store('faulty', 'two', data(), {}));
    await expect(storeAndVerify()).rejects.toThrow('it is damaged or parts of it are missing');
    s3.misbehave(undefined);
  });

  test('a store that is gone, or does not know us, is named', async () => {
    const blobs = blobsAt(folder, [s3Place(s3)]);
    const stored = await blobs.store('away', 'one', data(), {});
    await s3.disappear();
    expect(await blobs.inspect('away', stored)).toMatchObject([{ state: 'unknown' }]);
    await expect(blobs.verify('away', stored)).rejects.toThrow(
      /^The copy of the backup one at s3:.* could not be read back: the place does not answer/,
    );
    await expect(blobs.store('away', 'two', data(), {})).rejects.toThrow(/cannot be reached/);
    expect((await blobs.places())[0]?.problem).toMatch(/cannot be reached/);
    await s3.comeBack();
    await blobs.verify('away', stored);
    const stranger = blobsAt(folder, [{ ...s3Place(s3), secretKey: 'wrong' } as BackupPlace]);
    expect((await stranger.places())[0]?.problem).toMatch(/does not accept the access key/);
  });

  test('each of several places has everything: what one lost comes back from the other', async () => {
    const [near, far]: BackupPlace[] = [{ kind: 'folder', folder: join(folder, 'near') }, s3Place(s3)];
    if (!near || !far) throw new Error('There are two');
    const blobs = blobsAt(folder, [near, far]);
    const stored = await blobs.store('twice', 'one', data(), {});
    expect(Object.keys(stored.places)).toEqual([join(folder, 'near'), expect.stringMatching(/^s3:http.*\/backups\/of\/ours$/)]);
    await blobs.verify('twice', stored);
    const packs = (await readdir(join(folder, 'near', 'twice', 'data'), { recursive: true })).filter((name) => name.includes('/'));
    await rm(join(folder, 'near', 'twice', 'data'), { recursive: true });
    await expect(blobs.verify('twice', stored)).rejects.toThrow(`at ${join(folder, 'near')} could not be read back`);
    const restored = join(folder, 'restored');
    await mkdir(restored);
    await blobs.restore('twice', stored, [{ name: 'data', folder: restored }]);
    expect(await picture(restored)).toBe(await picture(join(folder, 'data')));
    const states = async () => (await blobs.inspect('twice', stored)).map(({ state }) => state);
    expect(await states()).toEqual(['damaged', 'whole']);
    expect(packs.length).toBeGreaterThan(0);
    expect(await blobs.repair('twice')).toMatchObject([{ damaged: { length: packs.length } }, { damaged: [] }]);
    await blobs.verify('twice', await blobs.store('twice', 'two', data(), { after: stored }));
    expect(await states()).toEqual(['whole', 'whole']);
    // What was stored before a place had its present name is found by the backup's.
    await blobsAt(folder, [far]).verify('twice', { ...stored, places: {} });

    // A disk that is not there is not one that has nothing, but on a machine that never knew it.
    await rename(join(folder, 'near'), join(folder, 'unmounted'));
    for (const refused of [() => blobs.list('twice'), () => blobs.forget('twice', ['two']), () => blobs.removeRepository('twice')])
      await expect(refused()).rejects.toThrow('see that the disk is mounted');
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    expect(await blobsAt(elsewhere, [near, far]).list('twice')).toEqual(['one', 'two']);
    await rename(join(folder, 'unmounted'), join(folder, 'near'));
    await blobs.removeRepository('twice');
    expect(await blobs.list('twice')).toEqual([]);
  });

  test('whoever restores does not wait for who waits to be alone', async () => {
    const blobs = blobsAt(folder, [{ kind: 'folder', folder: join(folder, 'busy') }]);
    const stored = await blobs.store('busy', 'one', data(), {});
    const restored = join(folder, 'ahead');
    await mkdir(restored);
    const order: string[] = [];
    const locks = openRepositories({ folder: join(folder, 'blobs'), attemptsMax }, openSecrets(keys));
    const [entered, inside] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const using = locks.together('busy', undefined, () => {
      entered.resolve();
      return inside.promise;
    });
    await entered.promise;
    const forgetting = blobs.forget('busy', []).then(() => order.push('forgotten'));
    await blobs.restore('busy', stored, [{ name: 'data', folder: restored }]).then(() => order.push('restored'));
    inside.resolve();
    await Promise.all([using, forgetting]);
    expect(order).toEqual(['restored', 'forgotten']);
  });

  test('a disk that is full is named, and there is room again after that', async () => {
    const place = join(folder, 'small');
    await mkdir(place);
    await run('mount', ['-t', 'tmpfs', '-o', 'size=5m', 'tmpfs', place]);
    try {
      const blobs = blobsAt(folder, [{ kind: 'folder', folder: place }]);
      await expect(blobs.store('large', 'one', data(), {})).rejects.toThrow('there is no space left there');
      await run('mount', ['-o', 'remount,size=50m', place]);
      await blobs.forget('large', []);
      const stored = await blobs.store('large', 'one', data(), {});
      await blobs.verify('large', stored);
      expect((await readdir(place, { recursive: true })).filter((name) => name.includes('-tmp-'))).toEqual([]);
    } finally {
      await run('umount', [place]);
    }
  });

  test('a beginning that was interrupted is begun again, and never over what is there', async () => {
    const place = join(folder, 'begun');
    const blobs = blobsAt(folder, [{ kind: 'folder', folder: place }]);
    await mkdir(join(place, 'shop', 'keys'), { recursive: true });
    await writeFile(join(place, 'shop', 'keys', 'a'.repeat(64)), '{}');
    const stored = await blobs.store('shop', 'one', data(), {});
    await blobs.verify('shop', stored);
    await rm(join(place, 'shop', 'config'));
    await expect(blobs.store('shop', 'two', data(), {})).rejects.toThrow(/does not have the backups that were stored there/);
    await rm(join(folder, 'blobs', 'known'), { recursive: true });
    await expect(blobs.store('shop', 'two', data(), {})).rejects.toThrow('lost the file that describes them');
  });

  test('what opens a repository cannot be repaired, and that is said; a disk that is not there is no damage', async () => {
    const place = join(folder, 'unopened');
    const blobs = blobsAt(folder, [{ kind: 'folder', folder: place }]);
    const stored = await blobs.store('shop', 'one', data(), {});
    const state = async () => (await blobs.inspect('shop', stored))[0]?.state;
    for (const file of ['config', (await filesBelow(join(place, 'shop'))).find((name) => name.startsWith('keys/')) ?? '']) {
      const path = join(place, 'shop', file);
      const content = await readFile(path);
      await rm(path);
      await writeFile(
        path,
        content.map((byte, index) => (index === content.length >> 1 ? byte ^ 1 : byte)),
      );
      expect([file, await state()]).toEqual([file, 'damaged']);
      const sentence = `The backups at ${place} cannot be repaired: without shop/${file}, which is damaged or missing`;
      await expect(blobs.repair('shop')).rejects.toThrow(sentence);
      await rm(path);
      expect([file, await state()]).toEqual([file, 'damaged']);
      await expect(blobs.repair('shop')).rejects.toThrow('cannot be repaired: without shop/');
      await writeFile(path, content);
    }
    await rename(place, `${place}-away`);
    expect(await state()).toBe('unknown');
    await rename(`${place}-away`, place);
    expect(await state()).toBe('whole');
  });

  test('a new key of the installation opens what the old one locked, and the old one can go', async () => {
    const [place, newer]: [BackupPlace, Buffer] = [{ kind: 'folder', folder: join(folder, 'locked') }, randomBytes(32)];
    const stored = await blobsAt(folder, [place]).store('shop', 'one', data(), {});
    await blobsAt(folder, [place], [newer, ...keys]).verify('shop', stored);
    await blobsAt(folder, [place], [newer]).verify('shop', stored);
    const stranger = blobsAt(folder, [place], [randomBytes(32)]);
    await expect(stranger.verify('shop', stored)).rejects.toThrow('a key that this installation does not have');
  });
});
