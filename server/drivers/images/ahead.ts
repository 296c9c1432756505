/**
 * Images that are brought before anybody asks for them, so that a first push finds them built. It is done once for each type, one after the other, by one process
 * at a time, and gives way at once to whoever waits for another image; whoever waits for this one joins the build, which then has no low priority any more.
 * What is built of a type stays when the process is killed, and the next one goes on from there.
 */
import { readFileSync, renameSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../kernel/problem.ts';
import { ifUnlocked } from '../file-lock.ts';
import type { Ahead, AheadReport, Image, Progress } from './images.ts';
import { recordOf } from './layer-cache.ts';
import type { Layer } from './recipe.ts';
import { isAnyWanted, isWanted } from './wanted-layers.ts';

/** Where less is free, nothing is built ahead: the examples take a quarter of it, and a convenience must not take the room of people's data. */
export const freeBytesMin = 5e9;
const watchMilliseconds = 100;
const noteMilliseconds = 1000;

export type EnsureImage = (type: string, onProgress: (progress: Progress) => void, signal: AbortSignal) => Promise<Image>;

export interface Bringing {
  folder: string;
  layersOf(type: string): readonly Layer[];
  ensure: EnsureImage;
  report: AheadReport;
}

const stateFile = (folder: string) => join(folder, 'ahead.json');
const aheadLock = (folder: string) => join(folder, 'locks', 'ahead');

export function readAhead(folder: string): Ahead {
  try {
    const ahead: Ahead = JSON.parse(readFileSync(stateFile(folder), 'utf8'));
    return ahead;
  } catch {
    return { brought: {} };
  }
}

/** Only for the process that holds the lock. */
function writeAhead(folder: string, ahead: Ahead) {
  writeFileSync(`${stateFile(folder)}.new`, JSON.stringify(ahead, undefined, 1));
  renameSync(`${stateFile(folder)}.new`, stateFile(folder));
}

/** Whether images are being brought, by this process or another. */
export const isBringing = async (folder: string) => (await ifUnlocked(aheadLock(folder), async () => false)) ?? true;

/** Returns at once where another process is doing it. */
export async function bringAhead(bringing: Bringing, types: readonly string[], signal: AbortSignal): Promise<void> {
  const { folder } = bringing;
  await ifUnlocked(aheadLock(folder), async () => {
    const { brought } = readAhead(folder);
    try {
      for (const type of types.filter((each) => !Object.hasOwn(brought, each))) {
        refuseWithoutRoom(folder);
        await bringOne(bringing, type, signal);
        brought[type] = new Date().toISOString();
        writeAhead(folder, { brought });
      }
    } catch (error) {
      if (!signal.aborted) writeAhead(folder, { brought, problem: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  });
}

function refuseWithoutRoom(folder: string) {
  const { bavail, bsize } = statfsSync(folder);
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  if (bavail * bsize < freeBytesMin)
    throw new Problem(
      'unavailable',
      `Only ${gigabytes(bavail * bsize)} of the disk are free, and ${gigabytes(freeBytesMin)} are to stay so.`,
    );
}

async function bringOne(bringing: Bringing, type: string, signal: AbortSignal) {
  const { folder, report } = bringing;
  const started = performance.now();
  while (!(await attempt(bringing, type, signal))) {
    report.say(`${type} waits: somebody needs another image`);
    while (await isAnyWanted(folder)) await sleep(watchMilliseconds, undefined, { signal });
  }
  report.say(`${type} is there, after ${Math.round((performance.now() - started) / 1000)} s`);
}

/** False: it gave way to somebody who waits for an image. */
async function attempt({ folder, layersOf, ensure, report }: Bringing, type: string, signal: AbortSignal): Promise<boolean> {
  const giveWay = new AbortController();
  const watching = watch({ folder, layersOf, type, report, giveWay });
  try {
    await ensure(type, notedProgress(folder, type), AbortSignal.any([signal, giveWay.signal]));
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (giveWay.signal.aborted) return false;
    throw error;
  } finally {
    await watching.stop();
  }
}

/** Writes down how far it is, for `./offshoot doctor`. */
function notedProgress(folder: string, type: string) {
  let notedAt = 0;
  return ({ percent }: Progress) => {
    if (Date.now() - notedAt < noteMilliseconds) return;
    notedAt = Date.now();
    writeAhead(folder, { brought: readAhead(folder).brought, bringing: { type, percent } });
  };
}

interface Watched extends Pick<Bringing, 'folder' | 'layersOf' | 'report'> {
  type: string;
  giveWay: AbortController;
}

function watch({ folder, layersOf, type, report, giveWay }: Watched) {
  const stopping = new AbortController();
  const isMissing = ({ hash }: Layer) => recordOf(folder, hash) === undefined;
  const isJoined = async () => {
    for (const { hash } of layersOf(type).filter(isMissing)) if (await isWanted(folder, hash)) return true;
    return false;
  };
  const look = async () => {
    for (let hurries = false; !stopping.signal.aborted;) {
      const isJoinedNow = await isJoined();
      if (isJoinedNow !== hurries) report.hurry((hurries = isJoinedNow));
      if (!hurries && (await isAnyWanted(folder))) giveWay.abort(new Error('Somebody needs another image.'));
      await sleep(watchMilliseconds, undefined, { signal: stopping.signal }).catch(() => {});
    }
    report.hurry(false);
  };
  const looking = look();
  return {
    stop: () => {
      stopping.abort();
      return looking;
    },
  };
}
