/**
 * Folders as btrfs subvolumes: a copy is a snapshot, one atomic step however much there is, and a limit is a quota (quota.ts).
 *
 * Volumes are not copy-on-write within themselves (`chattr +C`): databases rewrite their pages in place, which keeps them in one piece on disk
 * and, at the limit, lets them go on writing to what they have; a clone is still made by sharing. It leaves out checksums and compression of data.
 * Limits are on what is in a volume, shared or not, so that a clone counts like what it was cloned from.
 *
 * Not every command of `btrfs` knows `--`; all paths here are absolute, and no other argument comes from anyone.
 */
import { chmod, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { errorCode, longCommandSecondsMax, run } from '../../command.ts';
import type { Copying } from '../volume-folders.ts';
import { chargedByName, chargedFor, ensureQuota, limitCharge, type QuotaMode, subvolumeId } from './quota.ts';
import { joinFamily, limitSimply, openKeeper, simpleUsage } from './simple-quota.ts';

/** The folder that the subvolumes are in, and whether it has room. */
export interface Ground extends Pick<Copying, 'ready' | 'room' | 'capacity' | 'close'> {
  /** A folder on btrfs. */
  readonly folder: string;
}

const commitProgram = join(import.meta.dirname, 'commit.pl');
const usageMillisecondsMax = 3000;
const nestedMax = 10_000;
const staleGroupsMax = 1000;

export async function openSubvolumes(ground: Ground): Promise<Copying> {
  await ground.ready();
  const counting = countings[await ensureQuota(ground.folder)](ground.folder);
  let synced = 0;
  return {
    ...ground,
    kind: 'btrfs',
    enforcesLimits: true,
    clonesWhileWritten: true,
    makeEmpty: async (folder) => {
      await run('btrfs', ['subvolume', 'create', folder]);
      await run('chattr', ['+C', '--', folder]);
      await chmod(folder, 0o755);
    },
    copy: async (from, to) => {
      await counting.beforeCopy(from, to);
      await run('btrfs', ['subvolume', 'snapshot', from, to]);
    },
    copySealed: async (from, to) => {
      await counting.beforeCopy(from, to);
      await run('btrfs', ['subvolume', 'snapshot', '-r', from, to]);
    },
    afterCopy: counting.afterCopy,
    limit: counting.limit,
    keepLimits: counting.keep,
    usages: counting.usages,
    usage: async (folder) => {
      if (Date.now() - synced > usageMillisecondsMax) {
        synced = Date.now();
        await run('btrfs', ['filesystem', 'sync', ground.folder]);
      }
      return counting.usage(folder);
    },
    settle: () => run('perl', [commitProgram, ground.folder], longCommandSecondsMax),
    discard: (place) => discard(ground.folder, place),
    tidy: () => removeStaleGroups(ground.folder),
  };
}

interface Counting extends Pick<Copying, 'limit' | 'usage' | 'usages' | 'afterCopy'> {
  beforeCopy(from: string, to: string): Promise<void>;
  keep: Copying['keepLimits'];
}

const countings: Record<QuotaMode, (root: string) => Counting> = {
  full: (root) => ({
    beforeCopy: async () => {},
    afterCopy: async () => {},
    limit: async (folder, bytesMax) => limitCharge(root, await subvolumeId(folder), bytesMax),
    usage: chargedFor,
    usages: () => chargedByName(root),
    keep: async () => {},
  }),
  simple: (root) => {
    const keeper = openKeeper(root);
    return {
      beforeCopy: joinFamily,
      afterCopy: (from, bytesMax) => limitSimply(root, from, bytesMax),
      limit: (folder, bytesMax) => limitSimply(root, folder, bytesMax),
      usage: simpleUsage,
      usages: keeper.usages,
      keep: keeper.keep,
    };
  },
};

/** Subvolumes go first; those that a program made inside a volume go before it. */
async function discard(root: string, place: string) {
  const data = join(place, 'data');
  if (await exists(data)) {
    await deleteSubvolume(data).catch(async () => {
      for (const nested of await nestedIn(root, data)) await deleteSubvolume(nested);
      if (await isSubvolume(data)) await deleteSubvolume(data);
    });
  }
  await rm(place, { recursive: true, force: true });
}

const deleteSubvolume = (folder: string) => run('btrfs', ['subvolume', 'delete', folder], longCommandSecondsMax);

/** The root of every subvolume has this inode. */
const subvolumeInode = 256;
const isSubvolume = async (folder: string) => (await exists(folder)) && (await stat(folder)).ino === subvolumeInode;

async function exists(path: string) {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Deepest first. */
async function nestedIn(root: string, folder: string): Promise<string[]> {
  const top = (await run('btrfs', ['inspect-internal', 'subvolid-resolve', await subvolumeId(folder), root])).trim();
  const paths = (await run('btrfs', ['subvolume', 'list', root])).matchAll(/^ID \d+ gen \d+ top level \d+ path (.*)$/gm);
  return paths
    .map(([, path = '']) => path)
    .filter((path) => path.startsWith(`${top}/`))
    .take(nestedMax)
    .map((path) => join(folder, relative(top, path)))
    .toArray()
    .toSorted((a, b) => b.length - a.length);
}

/** Older kernels keep the quota group of a subvolume that is gone. */
async function removeStaleGroups(root: string) {
  const [groups, present, leaving] = await Promise.all([
    run('btrfs', ['qgroup', 'show', '--raw', root]),
    run('btrfs', ['subvolume', 'list', root]),
    run('btrfs', ['subvolume', 'list', '-d', root]),
  ]);
  const known = new Set(['5', ...[...`${present}\n${leaving}`.matchAll(/^ID (\d+) /gm)].map(([, id]) => id)]);
  const stale = [...groups.matchAll(/^0\/(\d+)\s/gm)].map(([, id]) => id).filter((id) => !known.has(id));
  for (const id of stale.slice(0, staleGroupsMax)) {
    // A group that was made after we looked, or that the kernel has removed by itself, is none of our business.
    await run('btrfs', ['qgroup', 'destroy', `0/${id}`, root]).catch(() => undefined);
  }
}
