/**
 * What builds of a project keep for later ones, on any branch: a volume, and in it a folder for each application, which is all that its container
 * sees. Clearing the cache gives it another number; the old volume goes when nobody uses it.
 *
 * Builds trust what they find there, so code of a fork does not write where others read: each environment of a fork has a cache of its own, which goes with it.
 */
import { chown, mkdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { appUser } from '../../catalogue/service.ts';
import type { Volume, Volumes } from '../../drivers/volumes/volumes.ts';
import type { Buildable } from './buildable.ts';
import { tally, type Tally } from '../../kernel/limits.ts';
import { stateOf } from '../../kernel/state-of.ts';
import { onePerVolume } from './one-per-volume.ts';

const cacheBytesMax = 8 * 1024 ** 3;
/** A cache that is larger than this is thrown away before builds run into its limit. */
const cacheBytesTidy = 7 * 1024 ** 3;
const cacheUnusedDaysMax = 30;

/** How many builds use each cache, by the name of its volume. */
const usersIn = stateOf<Volumes, Tally>(tally);

interface Wanted {
  app: Buildable;
  /** The name of its volume. */
  cache: string;
}

export async function useCache<T>(
  volumes: Volumes,
  { app, cache: name }: Wanted,
  signal: AbortSignal,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const enter = async () => {
    const folder = await folderFor(await volumes.create(name, cacheBytesMax), app.name);
    return { folder, leave: usersIn(volumes).add(name) };
  };
  const { folder, leave } = await onePerVolume(volumes).run(name, enter, { signal });
  try {
    return await work(folder);
  } finally {
    leave();
  }
}

async function folderFor({ path }: Volume, app: string): Promise<string> {
  const folder = join(path, app);
  await mkdir(folder, { recursive: true });
  await chown(folder, appUser.uid, appUser.gid);
  const now = new Date();
  await utimes(path, now, now);
  return folder;
}

/** `isCurrent`: builds that begin now use it. */
export const tidyCache = (volumes: Volumes, volume: Volume, isCurrent: boolean): Promise<boolean | undefined> =>
  onePerVolume(volumes).ifFree(volume.name, async () => {
    if (usersIn(volumes).of(volume.name) > 0) return false;
    if (isCurrent && (await isWorthKeeping(volumes, volume))) return false;
    await volumes.remove(volume.name);
    return true;
  });

async function isWorthKeeping(volumes: Volumes, { name, path }: Volume): Promise<boolean> {
  const { mtimeMs } = await stat(path);
  if (Date.now() - mtimeMs > cacheUnusedDaysMax * 24 * 3600 * 1000) return false;
  return (await volumes.usage(name)).bytes < cacheBytesTidy;
}
