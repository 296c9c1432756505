/**
 * What builds of a project keep for later ones, on any branch: a volume, and in it a folder for each application, which is all that its container
 * sees. Clearing the cache gives it another number; the old volume goes when nobody uses it.
 */
import { chown, mkdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { appUser } from '../../catalogue/service.ts';
import type { Volume, Volumes } from '../../drivers/volumes/volumes.ts';
import type { Buildable } from './buildable.ts';
import { tally, type Tally } from '../../kernel/limits.ts';
import { stateOf } from '../../kernel/state-of.ts';
import { onePerVolume } from './one-per-volume.ts';
import { cacheNameOf } from './slugs.ts';

const cacheBytesMax = 8 * 1024 ** 3;
/** A cache that is larger than this is thrown away before builds run into its limit. */
const cacheBytesTidy = 7 * 1024 ** 3;
const cacheUnusedDaysMax = 30;

/** How many builds use each cache, by the name of its volume. */
const usersIn = stateOf<Volumes, Tally>(tally);

interface Wanted {
  projectId: string;
  app: Buildable;
  cacheGeneration: number;
}

export async function useCache<T>(
  volumes: Volumes,
  { projectId, app, cacheGeneration }: Wanted,
  signal: AbortSignal,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const name = cacheNameOf(projectId, cacheGeneration);
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

/** `generation` is the current number of the project's cache; undefined: the project is gone. */
export const tidyCache = (
  volumes: Volumes,
  projectId: string,
  volume: Volume,
  generation: number | undefined,
): Promise<boolean | undefined> =>
  onePerVolume(volumes).ifFree(volume.name, async () => {
    if (usersIn(volumes).of(volume.name) > 0) return false;
    const isCurrent = generation !== undefined && volume.name === cacheNameOf(projectId, generation);
    if (isCurrent && (await isWorthKeeping(volumes, volume))) return false;
    await volumes.remove(volume.name);
    return true;
  });

async function isWorthKeeping(volumes: Volumes, { name, path }: Volume): Promise<boolean> {
  const { mtimeMs } = await stat(path);
  if (Date.now() - mtimeMs > cacheUnusedDaysMax * 24 * 3600 * 1000) return false;
  return (await volumes.usage(name)).bytes < cacheBytesTidy;
}
