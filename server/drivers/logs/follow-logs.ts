/**
 * Logs as they grow, for many at once. A log is read once for all who follow it here, and what was read is handed to each as the same text. Whoever
 * does not take it in time is told so and left behind: nobody waits for them, and nothing piles up.
 */
import { open, stat, type FileHandle } from 'node:fs/promises';
import { rotatedLogOf } from '../../../edge/logs/rotate-log.ts';
import { limit } from '../../kernel/limits.ts';
import { keepLooking, type Looking } from './keep-looking.ts';
import { rotationMark, readLog, wholeCharacters, type LogExtent, type LogPosition } from './read-log.ts';

export interface LogFollowers {
  /** What the log has of this extent, and then what comes, until `signal`. Ends by itself, with a line that says why, when the log is gone. */
  follow(log: string, extent: LogExtent, signal: AbortSignal): AsyncGenerator<string>;
  /** How many logs are being read. */
  readonly reading: number;
}

const chunkBytes = 256 * 1024;
/** How much one look reads; the rest is for the next one. */
const lookBytesMax = 8 * 2 ** 20;
const waitingCharactersMax = 2 * 2 ** 20;
const tooSlow = '\n[This log grew faster than it was read here; the rest is left out. Ask again.]\n';
const isGone = '[This log is gone.]\n';
const linesMissing = '[Lines are missing here: the log was put aside too often.]\n';

export function openLogFollowers(): LogFollowers {
  const readers = new Map<string, Reader>();
  return {
    async *follow(log, extent, signal) {
      const reader = readers.get(log) ?? openReader(log);
      readers.set(log, reader);
      const follower = openFollower(signal);
      reader.followers += 1;
      try {
        await reader.join(follower, extent);
        yield* follower.taken();
      } finally {
        reader.leave(follower);
        reader.followers -= 1;
        if (reader.followers === 0) {
          readers.delete(log);
          await reader.close();
        }
      }
    },
    get reading() {
      return readers.size;
    },
  };
}

interface Follower {
  give(text: string): void;
  /** Ends after what was given. */
  end(): void;
  taken(): AsyncGenerator<string>;
}

function openFollower(signal: AbortSignal): Follower {
  let waiting: string[] = [];
  let waitingCharacters = 0;
  let isOver = false;
  let wake = () => {};
  const end = () => {
    isOver = true;
    wake();
  };
  signal.addEventListener('abort', end, { once: true });
  return {
    give(text) {
      if (isOver) return;
      const isTooMuch = waitingCharacters > 0 && waitingCharacters + text.length > waitingCharactersMax;
      waiting.push(isTooMuch ? tooSlow : text);
      waitingCharacters += text.length;
      if (isTooMuch) isOver = true;
      wake();
    },
    end,
    async *taken() {
      while (!signal.aborted) {
        const texts = waiting;
        [waiting, waitingCharacters] = [[], 0];
        if (texts.length > 0) yield texts.join('');
        else if (isOver) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

interface Reader {
  /** How many follow, including those who are just joining. */
  followers: number;
  join(follower: Follower, extent: LogExtent): Promise<void>;
  leave(follower: Follower): void;
  close(): Promise<void>;
}

function openReader(log: string): Reader {
  const joined = new Set<Follower>();
  let handle: FileHandle | undefined;
  let position: LogPosition | undefined;
  let looking: Looking | undefined;
  /** Looks and those who join take turns, so that nobody misses a line or gets it twice. */
  const oneAtATime = limit(1);
  const look = async (): Promise<boolean> => {
    if (!position || joined.size === 0) return false;
    handle ??= await open(log).catch(() => undefined);
    if (!handle || (await isAnother(log, handle))) {
      for (const follower of joined) endFor(follower);
      return false;
    }
    const news = await readNews(log, handle, position);
    position = news.position;
    for (const text of news.texts) for (const follower of joined) follower.give(text);
    return news.texts.length > 0;
  };
  /** Reads as far as the others have come, so that what follows is the same for all. */
  const read = async (extent: LogExtent) => {
    for (;;) {
      await look();
      const found = await readLog(log, extent, position);
      if (!found || !position || found.position.aside === position.aside) return found;
    }
  };

  return {
    followers: 0,
    join: (follower, extent) =>
      oneAtATime(async () => {
        const found = await read(extent);
        if (!found) return endFor(follower);
        position ??= found.position;
        const text = Buffer.concat(found.lines).toString('utf8');
        if (text !== '') follower.give(text);
        joined.add(follower);
        looking ??= keepLooking(log, () => oneAtATime(look));
      }),
    leave: (follower) => void joined.delete(follower),
    async close() {
      await looking?.close();
      await oneAtATime(async () => handle?.close());
    },
  };
}

function endFor(follower: Follower) {
  follower.give(isGone);
  follower.end();
}

async function isAnother(log: string, handle: FileHandle): Promise<boolean> {
  const [now, ours] = await Promise.all([stat(log).catch(() => undefined), handle.stat()]);
  return now?.ino !== ours.ino;
}

interface News {
  texts: string[];
  position: LogPosition;
}

async function readNews(log: string, handle: FileHandle, before: LogPosition): Promise<News> {
  const aside = await rotationMark(log, 1);
  const { size } = await handle.stat();
  if (aside === before.aside) return readOn(handle, { aside, bytes: size < before.bytes ? 0 : before.bytes }, size);
  const rest = await readRest(log, before, size);
  if (!rest) return { texts: [], position: before };
  const { texts, position } = await readOn(handle, { aside, bytes: 0 }, size);
  return { texts: [...rest, ...texts], position };
}

/** What was rotated away before it was read. Undefined: the log is not cut yet, and would be read twice. */
async function readRest(log: string, before: LogPosition, size: number): Promise<string[] | undefined> {
  const isOnce = (await rotationMark(log, 2)) === before.aside;
  const file = await open(rotatedLogOf(log, 1)).catch(() => undefined);
  if (!file) return [linesMissing];
  try {
    const { size: sizeAside } = await file.stat();
    if (size > 0 && sizeAside === size) return undefined;
    const { texts } = await readOn(file, { aside: '', bytes: isOnce ? before.bytes : 0 }, sizeAside);
    return isOnce ? texts : [linesMissing, ...texts];
  } finally {
    await file.close();
  }
}

async function readOn(handle: FileHandle, { aside, bytes: from }: LogPosition, size: number): Promise<News> {
  const texts: string[] = [];
  let bytes = from;
  while (bytes < size && bytes - from < lookBytesMax) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(chunkBytes, size - bytes)), 0, undefined, bytes);
    const whole = wholeCharacters(buffer.subarray(0, bytesRead));
    if (whole === 0) break;
    texts.push(buffer.toString('utf8', 0, whole));
    bytes += whole;
  }
  return { texts, position: { aside, bytes } };
}
