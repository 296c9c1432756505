/** Keeps the machine free of what no build and no deployment needs any more. */
import type { Machine } from '../../machine.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import { tidyCache } from './cache.ts';
import { onePerVolume } from './one-per-volume.ts';
import { forgetOldSlugs, hasSlugIn, hasSlugs, slugVolumes, unneededSlugVolumesBeside } from './queries.ts';
import { isSlugName, projectOfCache, slugVolumeOfBuild } from './slugs.ts';
import { currentCaches } from './which-cache.ts';

/** How many deployments beside the current one can be rolled back to. */
const replacedMax = 5;
const unusedDaysMax = 14;
const unusedMinutesMin = 60;
/** The share of the pool that slugs that no deployment needs may take. */
const unneededShareMax = 0.1;

/** The volumes of slugs that no deployment needs. */
export const unneededSlugVolumes = (db: Db): Promise<Set<string>> => unneededSlugVolumesBeside(db, replacedMax);

export const collectSlugs: Reconciler = {
  name: 'collect slugs',
  everySeconds: 600,
  usesMachine: true,
  run: async ({ db, machine }, signal) => {
    /** The machine is not opened where nothing was ever built. */
    if (await hasSlugs(db)) await collect(db, await machine(), signal);
  },
};

/** Removes what nobody needs; returns the names of what was removed. */
export async function collect(db: Db, { runtime, volumes }: Pick<Machine, 'runtime' | 'volumes'>, signal: AbortSignal): Promise<string[]> {
  const removed: string[] = [];
  const { ifFree } = onePerVolume(volumes);
  const remove = async (name: string, work: () => Promise<boolean | undefined | void>) => {
    signal.throwIfAborted();
    if (await work()) removed.push(name);
  };
  const { bytes } = await volumes.capacity();
  await forgetOldSlugs(db, { replacedMax, unusedDaysMax, unusedMinutesMin, bytesMax: Math.floor(bytes * unneededShareMax) });
  for (const { name } of await runtime.list()) {
    const slug = slugVolumeOfBuild(name);
    if (slug !== undefined) await remove(name, () => ifFree(slug, () => runtime.remove(name).then(() => true)));
  }
  const [all, kept] = [await volumes.list(), await slugVolumes(db)];
  const caches = await currentCaches(
    db,
    all.flatMap(({ name }) => projectOfCache(name) ?? []),
  );
  for (const volume of all) {
    const { name } = volume;
    const [builtFor, cacheOf] = [slugVolumeOfBuild(name), projectOfCache(name)];
    if (builtFor !== undefined) await remove(name, () => ifFree(builtFor, () => volumes.remove(name).then(() => true)));
    else if (cacheOf !== undefined) await remove(name, () => tidyCache(volumes, volume, caches.has(name)));
    else if (isSlugName(name) && !kept.has(name)) await remove(name, () => ifFree(name, () => removeUnlessKept(db, volumes, name)));
  }
  return removed;
}

/** Asks the database again, because the slug may have been built since the volumes were listed. */
async function removeUnlessKept(db: Db, volumes: Machine['volumes'], name: string): Promise<boolean> {
  if (await hasSlugIn(db, name)) return false;
  await volumes.remove(name);
  return true;
}
