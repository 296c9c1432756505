/**
 * Volumes as folders, for every file system that can copy a folder in some way.
 *
 *     <root>/volumes/<name>/about.json    its limit, and whether it is a snapshot
 *     <root>/volumes/<name>/data          what is in it
 *     <root>/scratch/<process>-<n>        one that is being made or removed
 *
 * A volume is made in scratch and appears by a rename; it is moved to scratch before it is removed; a restore makes two trade places. So it is
 * whole or absent whenever the process dies, and no lock is needed, in one process or several: the file system decides who was first.
 */
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachAtMost } from '../../kernel/limits.ts';
import { Problem } from '../../kernel/problem.ts';
import { errorCode } from '../command.ts';
import { swapFolders } from './swap-folders.ts';
import { isAlive, processMark } from './process-mark.ts';
import type { Volume, VolumeUsage, Volumes } from './volumes.ts';

/** What a file system can do with folders. */
export interface Copying extends Pick<Volumes, 'kind' | 'enforcesLimits' | 'clonesWhileWritten' | 'capacity' | 'close'> {
  /** Throws a Problem if the folder that holds everything cannot be used. Asked before every operation. */
  ready(): Promise<void>;
  /** Throws a Problem if there is no room for anything more. */
  room(): Promise<void>;
  makeEmpty(folder: string): Promise<void>;
  copy(from: string, to: string): Promise<void>;
  copySealed(from: string, to: string): Promise<void>;
  /** Called with a volume that has just been copied, and its limit. */
  afterCopy(from: string, bytesMax: number): Promise<void>;
  limit(folder: string, bytesMax: number): Promise<void>;
  keepLimits(volumes: readonly Volume[]): Promise<void>;
  usage(folder: string): Promise<Omit<VolumeUsage, 'bytesMax'>>;
  /** The usage of all volumes by name; empty where limits are not enforced. */
  usages(): Promise<ReadonlyMap<string, Omit<VolumeUsage, 'bytesMax'>>>;
  /** Resolves when what was done so far outlasts a power failure. */
  settle(): Promise<unknown>;
  /** Removes a folder with everything in it, whatever that is; bears finding nothing. */
  discard(folder: string): Promise<void>;
  /** Removes what is of no use to any volume any more. */
  tidy(): Promise<void>;
}

interface About {
  bytesMax: number;
  isSnapshot: boolean;
}

export const bytesMaxMin = 1024 * 1024;
const namePattern = /^[a-z0-9-]{1,100}$/;
const removalsAtOnce = 4;

export async function openVolumeFolders(root: string, copying: Copying): Promise<Volumes> {
  const [volumes, scratch] = [join(root, 'volumes'), join(root, 'scratch')];
  const mark = await processMark();
  const underWay = new Set<string>();
  let made = 0;

  const ready = async () => {
    await copying.ready();
    for (const folder of [volumes, scratch]) await mkdir(folder, { recursive: true, mode: 0o700 });
  };
  await ready();

  const folderOf = (name: string) => join(volumes, checkedName(name));
  const found = async (name: string): Promise<Volume | undefined> => {
    const folder = folderOf(name);
    const about = await readAbout(folder);
    return about && { name, path: join(folder, 'data'), ...about };
  };
  const needed = async (name: string) => (await found(name)) ?? refuse('not-found', `There is no volume ${name}.`);

  /** Works on a new path in the scratch folder; whatever is there in the end is discarded. */
  const inScratch = async <T>(work: (place: string) => Promise<T>): Promise<T> => {
    const entry = `${mark}-${(made += 1)}`;
    const place = join(scratch, entry);
    underWay.add(entry);
    try {
      return await work(place);
    } finally {
      await copying.discard(place).finally(() => underWay.delete(entry));
    }
  };

  const build = async (place: string, about: About, fill: (data: string) => Promise<void>) => {
    await mkdir(place, { mode: 0o700 });
    const data = join(place, 'data');
    await fill(data);
    await copying.limit(data, about.bytesMax);
    await writeAbout(place, about);
  };

  /** Whoever is first makes it; the others find it there. */
  const ensure = async (name: string, about: About, fill: (data: string) => Promise<void>): Promise<Volume> => {
    const folder = folderOf(name);
    await copying.room();
    return inScratch(async (place) => {
      await build(place, about, fill);
      await rename(place, folder).catch((error: unknown) => {
        if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error;
      });
      return needed(name);
    });
  };

  /** A source that is removed meanwhile is reported as missing, not as a failure. */
  const fillFrom = (from: Volume, copy: Copying['copy']) => async (data: string) => {
    try {
      await copy(from.path, data);
      if (!from.isSnapshot) await copying.afterCopy(from.path, from.bytesMax);
    } catch (error) {
      await needed(from.name);
      throw error;
    }
  };

  const checkFits = async (volume: Volume, bytesMax: number) => {
    if (bytesMax >= volume.bytesMax) return;
    const { bytes } = await copying.usage(volume.path);
    if (bytes > bytesMax) refuse('conflict', `The volume ${volume.name} holds ${bytes} bytes, more than the limit of ${bytesMax}.`);
  };

  const self: Volumes = {
    folder: volumes,
    kind: copying.kind,
    enforcesLimits: copying.enforcesLimits,
    clonesWhileWritten: copying.clonesWhileWritten,
    create: async (name, bytesMax) => {
      checkBytes(bytesMax);
      await ready();
      return (await found(name)) ?? ensure(name, { bytesMax, isSnapshot: false }, copying.makeEmpty);
    },
    clone: async (from, name, bytesMax) => {
      await ready();
      const [existing, source] = [await found(name), await found(from)];
      if (existing) return existing;
      if (!source) return refuse('not-found', `There is no volume ${from}.`);
      const about = { bytesMax: checkBytes(bytesMax ?? source.bytesMax), isSnapshot: false };
      await checkFits(source, about.bytesMax);
      return ensure(name, about, fillFrom(source, copying.copy));
    },
    snapshot: async (from, name) => {
      await ready();
      const existing = await found(name);
      if (existing) return existing;
      const source = await needed(from);
      return ensure(name, { bytesMax: source.bytesMax, isSnapshot: true }, fillFrom(source, copying.copySealed));
    },
    restore: async (name, snapshot) => {
      await ready();
      const [volume, source] = [await needed(name), await needed(snapshot)];
      if (volume.isSnapshot || !source.isSnapshot)
        refuse('conflict', `A volume is restored from a snapshot of it; check ${name} and ${snapshot}.`);
      await copying.room();
      return inScratch(async (place) => {
        await build(place, { bytesMax: volume.bytesMax, isSnapshot: false }, fillFrom(source, copying.copy));
        await swapFolders(place, folderOf(name)).catch(async (error: unknown) => {
          await needed(name);
          throw error;
        });
        return needed(name);
      });
    },
    settle: async () => void (await copying.settle()),
    remove: async (name) => {
      await ready();
      await inScratch((place) => rename(folderOf(name), place).catch(ignoreAbsent));
    },
    volume: async (name) => {
      await ready();
      return found(name);
    },
    list: async () => {
      await ready();
      const names = (await readdir(volumes)).filter((name) => namePattern.test(name)).toSorted();
      return (await Promise.all(names.map(found))).filter((volume) => volume !== undefined);
    },
    usage: async (name) => {
      await ready();
      const { path, bytesMax } = await needed(name);
      return { ...(await copying.usage(path)), bytesMax };
    },
    usages: async () => {
      await ready();
      const counted = await copying.usages();
      const volumes = counted.size === 0 ? [] : await self.list();
      return new Map(
        volumes.flatMap(({ name, bytesMax }) => {
          const usage = counted.get(name);
          return usage ? [[name, { ...usage, bytesMax }] as const] : [];
        }),
      );
    },
    grow: async (name, bytesMax) => {
      checkBytes(bytesMax);
      await ready();
      const volume = await needed(name);
      await checkFits(volume, bytesMax);
      await copying.limit(volume.path, bytesMax);
      await writeAbout(folderOf(name), { bytesMax, isSnapshot: volume.isSnapshot });
    },
    keepLimits: async () => copying.keepLimits(await self.list()),
    capacity: async () => {
      await ready();
      return copying.capacity();
    },
    removeLeftovers: async (keep) => {
      const superfluous = (await self.list()).map(({ name }) => name).filter((name) => !keep.has(name));
      await forEachAtMost(removalsAtOnce, superfluous, self.remove);
      const interrupted = await self.removeInterrupted();
      await copying.tidy();
      return [...superfluous, ...interrupted];
    },
    removeInterrupted: async () => {
      await ready();
      const stale = (await readdir(scratch)).filter((entry) => !underWay.has(entry));
      const dead = (await Promise.all(stale.map(async (entry) => ((await isAlive(entry, mark)) ? [] : [entry])))).flat();
      await forEachAtMost(removalsAtOnce, dead, (entry) => copying.discard(join(scratch, entry)));
      return dead;
    },
    close: copying.close,
  };
  return self;
}

function checkedName(name: string) {
  return namePattern.test(name)
    ? name
    : refuse('invalid-request', 'The name of a volume is made of lower-case letters, digits and dashes, 100 at most.');
}

function checkBytes(bytesMax: number) {
  return Number.isSafeInteger(bytesMax) && bytesMax >= bytesMaxMin
    ? bytesMax
    : refuse('invalid-request', `The size of a volume is a whole number of bytes, at least ${bytesMaxMin}.`);
}

function refuse(kind: 'not-found' | 'conflict' | 'invalid-request', message: string): never {
  throw new Problem(kind, message);
}

async function readAbout(folder: string): Promise<About | undefined> {
  const text = await readFile(join(folder, 'about.json'), 'utf8').catch(ignoreAbsent);
  if (text === undefined) return undefined;
  const about: unknown = JSON.parse(text);
  if (typeof about !== 'object' || about === null || !('bytesMax' in about) || !('isSnapshot' in about))
    throw new Error(`${folder}/about.json does not say what the volume is.`);
  return { bytesMax: Number(about.bytesMax), isSnapshot: about.isSnapshot === true };
}

/** The old one or the new one, also after a power failure. */
async function writeAbout(folder: string, about: About) {
  const fresh = join(folder, `about.${process.pid}.${(aboutsWritten += 1)}`);
  const file = await open(fresh, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(about));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, join(folder, 'about.json')).catch(async (error: unknown) => {
    await rm(fresh, { force: true });
    throw error;
  });
}
let aboutsWritten = 0;

function ignoreAbsent(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}
