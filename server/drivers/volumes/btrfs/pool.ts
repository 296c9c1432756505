/**
 * A btrfs of our own: a sparse file in the data folder, formatted, and mounted through a loop device.
 *
 *     <folder>/pool.btrfs    the file
 *     <folder>/pool          where it is mounted; only root can enter, so that no user of the machine gets at programs inside
 *     <folder>/pool.lock     held while the file, its device or its mount are changed
 *
 * The file is always larger than what is in it, and grows while it fills, but never promises more than the disk below can hold beside a
 * reserve: a file system whose disk fails to take a write is broken. When others fill that disk, the pool claims what it has promised while it is
 * still there, and stops giving freed space back until there is plenty again.
 *
 * The mount is shared (mounts.ts): nobody's copy of it keeps the loop device once we have unmounted it. It outlives us, because containers use it. Whoever
 * opens the pool finds it mounted and goes on, or mounts it; one file never gets two loop devices, which would ruin it. Metadata is kept twice: one bad block must not take all volumes with it.
 */
import { globSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountPoints, shareFolder } from '../../mounts.ts';
import { errorCode, noRoom, run } from '../../command.ts';
import { withLock } from './lock.ts';
import { disableQuota, enableSimpleQuota, kernelHasSimpleQuota, quotaMode } from './quota.ts';
import { adoptVolumes } from './simple-quota.ts';
import type { Ground } from './subvolumes.ts';
import { startWatcher } from './watcher.ts';

const gibibyte = 1024 ** 3;

export interface PoolSizes {
  initialBytes: number;
  /** The pool grows when less than this is free, until twice as much is free. */
  aheadBytes: number;
  /** What the pool leaves free for others on the disk below. */
  reserveBytes: number;
}

export interface Pool extends Ground {
  /** For tests, and for operators who uninstall: nothing may use the pool any more. */
  unmount(): Promise<void>;
}

/** `aheadBytes` is what a fast disk can take between several looks of the watcher. */
const defaultSizes = { initialBytes: 8 * gibibyte, aheadBytes: 4 * gibibyte };
const reserve = { bytesMax: 2 * gibibyte, share: 0.05 };
const formatBytesMin = 256 * 1024 ** 2;
const growBytesMin = 16 * 1024 ** 2;
const roomBytesMin = 32 * 1024 ** 2;
const detachPollsMax = 100;
const detachPollMilliseconds = 20;
const busyPollsMax = 20;
const busyPollMilliseconds = 50;
const mountOptions = 'nosuid,nodev,noatime,discard=async';

/** Where the pool of that folder is mounted. */
export const poolFolder = (folder: string) => join(folder, 'pool');

export async function openPool(folder: string, warn: (sentence: string) => void, sizes?: PoolSizes): Promise<Pool> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const [file, mountPoint] = [join(folder, 'pool.btrfs'), poolFolder(folder)];
  await mkdir(mountPoint, { recursive: true, mode: 0o700 });
  const { bytes: hostBytes } = await room(folder);
  const bounds = sizes ?? { ...defaultSizes, reserveBytes: Math.min(reserve.bytesMax, hostBytes * reserve.share) };
  const locked = <T>(work: () => Promise<T>) => withLock(join(folder, 'pool.lock'), work);

  await locked(async () => {
    await ensureFile(file, bounds);
    await ensureMounted(file, mountPoint);
    await useWholeFile(file, mountPoint);
    await ensureSimpleQuota(mountPoint);
  });
  const look = () => situation(file, mountPoint, bounds);
  let isClaimed = false;
  const isLow = ({ freeBytes, growableBytes }: Situation) => freeBytes < bounds.aheadBytes && growableBytes >= growBytesMin;
  const isThreatened = ({ hostFreeBytes, promisedBytes }: Situation) => hostFreeBytes < promisedBytes + bounds.reserveBytes / 2;
  const isRelieved = ({ hostFreeBytes, promisedBytes }: Situation) => hostFreeBytes > promisedBytes + 2 * bounds.reserveBytes;
  const keepUp = async () => {
    const now = await look();
    if (isLow(now)) {
      await truncate(file, now.fileBytes + Math.floor(Math.min(now.growableBytes, 2 * bounds.aheadBytes - now.freeBytes)));
      await useWholeFile(file, mountPoint);
    }
    if (!isClaimed && isThreatened(now)) {
      isClaimed = true;
      await claim(file, now.fileBytes, mountPoint);
      warn('The disk below the data of volumes is almost full; the pool has claimed the space that it was promised.');
    } else if (isClaimed && isRelieved(now)) {
      isClaimed = false;
      await remount(mountPoint, 'discard=async');
    }
  };
  const watcher = startWatcher(async () => {
    if (!(await isMounted(mountPoint))) return;
    const now = await look();
    if (isLow(now) || (isClaimed ? isRelieved(now) : isThreatened(now))) await locked(keepUp);
  }, warn);

  return {
    folder: mountPoint,
    ready: async () => {
      if (await isMounted(mountPoint)) return;
      await locked(() => ensureMounted(file, mountPoint));
    },
    room: async () => {
      if (isLow(await look())) await locked(keepUp);
      if ((await look()).freeBytes >= roomBytesMin) return;
      // Removed data becomes free with the next commit; there may be some.
      await run('btrfs', ['filesystem', 'sync', mountPoint]);
      const { freeBytes } = await look();
      if (freeBytes < roomBytesMin) throw noRoom(`${mountPoint} has ${freeBytes} bytes free`);
    },
    capacity: async () => {
      const { fileBytes, freeBytes, growableBytes } = await look();
      return { bytes: fileBytes + growableBytes, freeBytes: freeBytes + growableBytes };
    },
    unmount: async () => {
      await watcher.stop();
      await locked(async () => {
        if (!(await isMounted(mountPoint))) return;
        await unmountWhenLeft(mountPoint);
        // Under the pool's mount is that of the shared folder.
        if (mountPoints().includes(mountPoint)) await run('umount', ['--', mountPoint]);
        await untilDetached(file);
      });
    },
    close: () => watcher.stop(),
  };
}

async function room(folder: string) {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { bytes: blocks * bsize, freeBytes: bavail * bsize };
}

interface Situation {
  fileBytes: number;
  /** What the pool believes to have, and the disk below has not given it yet. */
  promisedBytes: number;
  hostFreeBytes: number;
  growableBytes: number;
  freeBytes: number;
}

async function situation(file: string, mountPoint: string, { reserveBytes }: PoolSizes): Promise<Situation> {
  const [{ size, blocks }, host, inside, waiting] = await Promise.all([
    stat(file),
    room(join(file, '..')),
    room(mountPoint),
    bytesInMemory(file),
  ]);
  const promisedBytes = Math.max(0, size - blocks * 512);
  return {
    fileBytes: size,
    promisedBytes,
    hostFreeBytes: host.freeBytes,
    growableBytes: Math.max(0, host.freeBytes - promisedBytes - reserveBytes),
    freeBytes: Math.max(0, inside.freeBytes - waiting),
  };
}

/** Data that was written, but is not on its way to the disk yet: btrfs has given its room away, but still counts it as free. */
async function bytesInMemory(file: string): Promise<number> {
  const id = (knownIds[file] ??= await fileSystemId(file));
  const text = await readFile(`/sys/fs/btrfs/${id}/allocation/data/bytes_may_use`, 'utf8').catch(() => '0');
  return Number(text);
}
const knownIds: Record<string, string> = {};

/** From its place in the first superblock. */
async function fileSystemId(file: string): Promise<string> {
  const opened = await open(file);
  try {
    const { buffer } = await opened.read(Buffer.alloc(16), 0, 16, 0x10020);
    return buffer.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  } finally {
    await opened.close();
  }
}

/** Freed space is no longer given back, or the claim would be undone piece by piece. */
async function claim(file: string, fileBytes: number, mountPoint: string) {
  await remount(mountPoint, 'nodiscard');
  await run('fallocate', ['--length', String(fileBytes), '--', file]);
}

/** The file is whole or absent. */
async function ensureFile(file: string, { initialBytes, reserveBytes }: PoolSizes) {
  if (await exists(file)) return;
  const { freeBytes } = await room(join(file, '..'));
  const bytes = Math.min(initialBytes, freeBytes - reserveBytes);
  if (bytes < formatBytesMin) throw noRoom(`a pool needs ${formatBytesMin} bytes beside a reserve of ${reserveBytes}; free: ${freeBytes}`);
  const fresh = `${file}.new`;
  await rm(fresh, { force: true });
  await run('truncate', [`--size=${Math.floor(bytes)}`, '--', fresh]);
  await chmod(fresh, 0o600);
  await run('mkfs.btrfs', ['--quiet', '--metadata', 'dup', '--data', 'single', '--', fresh]);
  await rename(fresh, file);
}

/** The device may still be there, from a mount in another view of the file system or from a process that died before it could mount. */
async function ensureMounted(file: string, mountPoint: string) {
  if (await isMounted(mountPoint)) return;
  if (!mountPoints().includes(mountPoint)) await run('mount', shareFolder(mountPoint));
  const device = (await deviceOf(file)) ?? (await attach(file));
  await run('mount', ['-t', 'btrfs', '-o', mountOptions, '--', device, mountPoint]);
  await chmod(mountPoint, 0o700);
  // A device in use goes away by itself with its last mount.
  await run('losetup', ['--detach', device]);
}

/** Switches simple quotas on wherever the kernel has them. The volumes of an older pool are limited anew by `keepLimits`. */
async function ensureSimpleQuota(mountPoint: string) {
  const mode = await quotaMode(mountPoint);
  if (mode === 'simple' || !kernelHasSimpleQuota()) return;
  await adoptVolumes(globSync(join(mountPoint, 'volumes', '*', 'data')));
  if (mode === 'full') await disableQuota(mountPoint);
  await enableSimpleQuota(mountPoint);
}

async function deviceOf(file: string): Promise<string | undefined> {
  const [device] = (await run('losetup', ['--list', '--noheadings', '--output', 'NAME', '--associated', file])).trim().split('\n');
  return device?.trim() || undefined;
}

/** Tried again for a while: another program may just be looking inside. */
async function unmountWhenLeft(mountPoint: string) {
  for (let n = 0; ; n += 1) {
    try {
      await run('umount', ['--', mountPoint]);
      return;
    } catch (error) {
      if (n >= busyPollsMax || !(error instanceof Error && error.message.includes('busy'))) throw error;
    }
    await sleep(busyPollMilliseconds);
  }
}

/** The kernel lets go of the file a moment after the last mount; another view of the file system may hold it longer. */
async function untilDetached(file: string) {
  for (let n = 0; n < detachPollsMax && (await deviceOf(file)) !== undefined; n += 1) await sleep(detachPollMilliseconds);
}

/** Attached with direct I/O, so that the machine does not keep everything in memory twice; not every file system below can do that. */
async function attach(file: string): Promise<string> {
  const args = ['--find', '--show', '--nooverlap'];
  const attached = await run('losetup', [...args, '--direct-io=on', '--', file]).catch(async () => {
    return (await deviceOf(file)) ?? run('losetup', [...args, '--', file]);
  });
  return attached.trim();
}

/** The device learns the size of the file, and the file system that of the device. Harmless where nothing changed. */
async function useWholeFile(file: string, mountPoint: string) {
  const device = await deviceOf(file);
  if (device === undefined) throw new Error(`${file} is mounted, but not through a loop device.`);
  await run('losetup', ['--set-capacity', device]);
  await run('btrfs', ['filesystem', 'resize', 'max', mountPoint]);
}

const remount = (mountPoint: string, option: string) => run('mount', ['-o', `remount,${option}`, '--', mountPoint]);

/** The root of a btrfs has inode 256, which the bare folder below could have only by chance, and then not on another device. */
async function isMounted(mountPoint: string) {
  const [own, above] = await Promise.all([stat(mountPoint), stat(join(mountPoint, '..'))]);
  return own.dev !== above.dev && own.ino === 256;
}

async function exists(path: string) {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
}
