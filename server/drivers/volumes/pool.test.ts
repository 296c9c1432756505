import { type FileHandle, mkdir, open, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openEmbeddedPostgres } from '../postgres/embedded.ts';
import { missingCommits, query, startWriteLoad } from './acknowledged-commits.ts';
import { openPoolVolumes } from './btrfs/btrfs.ts';
import { kernelHasSimpleQuota, quotaMode } from './btrfs/quota.ts';
import { run } from '../command.ts';
import { makeDisk, scratchFolder } from './test-disk.ts';

/** In CI everything must run. */
const runsAsRoot = process.getuid?.() === 0 || process.env['CI'] === 'true';

const mebibyte = 1024 ** 2;
const small = { initialBytes: 512 * mebibyte, aheadBytes: 128 * mebibyte, reserveBytes: 128 * mebibyte };
/** Which Node has no name for. */
const quotaExceeded = 'Unknown system error -122';
const devicesOf = async (folder: string) =>
  (await run('losetup', ['--list', '--noheadings', '--output', 'NAME', '--associated', join(folder, 'pool.btrfs')]))
    .split('\n')
    .filter(Boolean);

/** Unmounted and removed whatever becomes of the test. */
async function poolFolder() {
  const folder = await scratchFolder();
  onTestFinished(async () => {
    await (await openPoolVolumes(folder, () => {}, small)).unmount();
    await rm(folder, { recursive: true });
  });
  return folder;
}

describe.skipIf(!runsAsRoot)('a pool of our own (takes root)', () => {
  test('is adopted when mounted, mounted when not, by many at once, and never through two devices', async () => {
    const folder = await poolFolder();
    const open = () => openPoolVolumes(folder, () => {}, small);
    const all = await Promise.all([open(), open(), open()]);
    const [first, second, third] = all;
    await writeFile(join((await first.create('kept', 64 * mebibyte)).path, 'file'), 'kept');
    expect(await devicesOf(folder)).toHaveLength(1);
    expect((await stat(join(folder, 'pool'))).mode & 0o777).toBe(0o700);

    await Promise.all([first.unmount(), second?.close()]);
    expect((await stat(join(folder, 'pool'))).dev).toBe((await stat(folder)).dev);
    const reopened = await Promise.all([third?.volume('kept'), open().then(async (one) => ({ one, volume: await one.volume('kept') }))]);
    expect(reopened[0]).toEqual(reopened[1].volume);
    expect(await readFile(join(reopened[0]?.path ?? '', 'file'), 'utf8')).toBe('kept');
    expect(await devicesOf(folder)).toHaveLength(1);
    await Promise.all([third?.close(), reopened[1].one.unmount()]);
  });

  // Kernels as old as those without simple quotas do not mount a copy beside what it is a copy of.
  test.skipIf(!kernelHasSimpleQuota())(
    'has on its disk what was settled, though the power fails right after it, and what was not is absent',
    async () => {
      const folder = await poolFolder();
      const volumes = await openPoolVolumes(folder, () => {}, small);
      /** What the kernel has in memory alone is not in the file. */
      const afterPowerFailure = async (path: string) => {
        const [copy, mountPoint] = [join(folder, 'copy'), join(folder, 'mounted')];
        await run('cp', ['--sparse=always', join(folder, 'pool.btrfs'), copy]);
        await mkdir(mountPoint, { recursive: true });
        await run('mount', ['--options', 'loop', copy, mountPoint]);
        try {
          return await readFile(join(mountPoint, 'volumes', path, 'about.json'), 'utf8').catch(() => undefined);
        } finally {
          await run('umount', [mountPoint]);
        }
      };
      await volumes.create('one', 64 * mebibyte);
      await volumes.clone('one', 'two');
      await volumes.snapshot('one', 'three');
      expect(await afterPowerFailure('three')).toBeUndefined();
      await volumes.settle();
      for (const name of ['one', 'two', 'three']) expect(await afterPowerFailure(name)).toBeDefined();
      await volumes.close();
    },
  );

  test('removes a volume in which a program has made subvolumes', async () => {
    const folder = await poolFolder();
    const volumes = await openPoolVolumes(folder, () => {}, small);
    const { path } = await volumes.create('nesting', 64 * mebibyte);
    await mkdir(join(path, 'deep'));
    for (const nested of ['one', 'deep/two', 'deep/two/three']) await run('btrfs', ['subvolume', 'create', join(path, nested)]);
    await volumes.remove('nesting');
    expect(await run('btrfs', ['subvolume', 'list', join(folder, 'pool')])).toBe('');
    await volumes.close();
  });

  test.skipIf(!kernelHasSimpleQuota())(
    'of a version that counted by quota groups is taken over, and its volumes stay within their sizes',
    async () => {
      const folder = await poolFolder();
      const before = await openPoolVolumes(folder, () => {}, small);
      const mountPoint = join(folder, 'pool');
      await run('btrfs', ['quota', 'disable', mountPoint]);
      await run('btrfs', ['quota', 'enable', mountPoint]);
      const { path } = await before.create('old', 16 * mebibyte);
      await writeFile(join(path, 'file'), Buffer.alloc(12 * mebibyte, 1), { flush: true });
      const clone = await before.clone('old', 'old-clone');
      await rm(join(clone.path, '..', 'family'));
      await rm(join(path, '..', 'family'));
      await before.unmount();

      const volumes = await openPoolVolumes(folder, () => {}, small);
      expect(await quotaMode(mountPoint)).toBe('simple');
      await volumes.keepLimits();
      expect((await volumes.usage('old')).bytes).toBeGreaterThan(12 * mebibyte);
      for (const place of [path, clone.path]) {
        await writeFile(join(place, 'file'), Buffer.alloc(12 * mebibyte, 2), { flush: true });
        expect(await fillUp(join(place, 'more'))).toBe(quotaExceeded);
      }
      await volumes.close();
    },
  );

  test('grows while a single write fills it, and gives back what was removed', { timeout: 240_000 }, async () => {
    const folder = await poolFolder();
    const volumes = await openPoolVolumes(folder, () => {}, { ...small, aheadBytes: 768 * mebibyte });
    const { path } = await volumes.create('growing', 4096 * mebibyte);
    const chunk = Buffer.alloc(4 * mebibyte, 7);
    const big = await open(join(path, 'big'), 'w');
    for (let n = 1; n <= 400; n += 1) {
      await big.write(chunk);
      if (n % 16 === 0) await takeTime(big);
    }
    await big.close();
    await run('sync', ['--file-system', '--', path]);
    const file = join(folder, 'pool.btrfs');
    expect((await stat(file)).blocks * 512).toBeGreaterThan(1600 * mebibyte);
    await rm(join(path, 'big'));
    await run('btrfs', ['filesystem', 'sync', path]);
    await run('fstrim', [join(folder, 'pool')]);
    await expect.poll(async () => (await stat(file)).blocks * 512, { timeout: 60_000 }).toBeLessThan(400 * mebibyte);
    await volumes.close();
  });

  test('when the disk below is full, says so, keeps what it has, and goes on when something is removed', { timeout: 240_000 }, async () => {
    const disk = await makeDisk('ext4', 900 * mebibyte);
    onTestFinished(disk.remove);
    const warnings: string[] = [];
    const volumes = await openPoolVolumes(join(disk.folder, 'volumes'), (warning) => warnings.push(warning), small);
    const kept = await volumes.create('kept', 1024 * mebibyte);
    await writeFile(join(kept.path, 'file'), Buffer.alloc(32 * mebibyte, 5), { flush: true });
    expect(await fillUp(join(disk.folder, 'of-others'), takeTime)).toBe('ENOSPC');
    const hog = await volumes.create('hog', 2048 * mebibyte);
    expect(await fillUp(join(hog.path, 'file'))).toBe('ENOSPC');
    await expect(volumes.create('more', 64 * mebibyte)).rejects.toThrow('no room left');
    expect(warnings.join()).toContain('claimed');
    expect((await statfs(disk.folder)).bavail * 4096).toBeLessThan(mebibyte);

    await volumes.remove('hog');
    await expect
      .poll(
        async () =>
          volumes.create('more', 64 * mebibyte).then(
            () => 'made',
            () => 'full',
          ),
        { timeout: 60_000, interval: 500 },
      )
      .toBe('made');
    await writeFile(join((await volumes.create('more', 64 * mebibyte)).path, 'file'), Buffer.alloc(16 * mebibyte, 6), { flush: true });
    await volumes.unmount();
    const again = await openPoolVolumes(join(disk.folder, 'volumes'), () => {}, small);
    expect((await readFile(join(kept.path, 'file'))).equals(Buffer.alloc(32 * mebibyte, 5))).toBe(true);
    expect(await run('btrfs', ['device', 'stats', join(disk.folder, 'volumes', 'pool')])).not.toMatch(/ [1-9]\d*$/m);
    await again.unmount();
  });

  test('a PostgreSQL under write load is cloned with every commit that was acknowledged before', { timeout: 240_000 }, async () => {
    const folder = await poolFolder();
    const volumes = await openPoolVolumes(folder, () => {});
    const original = await volumes.create('database', 2048 * mebibyte);
    const postgres = await openEmbeddedPostgres(original.path);
    const load = await startWriteLoad(postgres.url);
    for (const name of ['first-clone', 'second-clone']) {
      const atCheckpoint = load.acknowledged().length;
      await query(postgres.url, 'checkpoint');
      await expect.poll(() => load.acknowledged().length, { timeout: 60_000 }).toBeGreaterThan(atCheckpoint + 50);
      const before = load.acknowledged();
      const clone = await volumes.clone('database', name);
      const second = await openEmbeddedPostgres(clone.path);
      expect(await missingCommits(second.url, before)).toEqual([]);
      await query(second.url, 'insert into commits values (-1)');
      await second.stop();
    }
    await load.stop();
    expect(await query(postgres.url, 'select id from commits where id < 0')).toEqual([]);
    await postgres.stop();
    await volumes.close();
  });
});

/**
 * Leaves the watcher the time that a slower disk would, and what it needs as well, however slow this machine is: what was written to be on the disk, and a
 * program to be run.
 */
async function takeTime(file: FileHandle) {
  await file.datasync();
  await run('true', []);
  await sleep(15);
}

/** Until it takes no more; the code of the error. */
async function fillUp(path: string, afterEach?: (file: FileHandle) => Promise<void>): Promise<unknown> {
  const file = await open(path, 'w');
  try {
    const chunk = Buffer.alloc(2 * mebibyte, 9);
    for (let n = 0; n < 2048; n += 1) {
      await file.write(chunk);
      await afterEach?.(file);
    }
    return 'never full';
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  } finally {
    await file.close().catch(() => undefined);
  }
}
