/**
 * A log read on from a place that outlives this process and the rotation of the log. Places count all bytes that the log ever had, rotated or not, so what
 * rotation took away before it was read is a difference of two numbers. The log and its rotated parts are the spool of whoever sends its lines: they are
 * there anyway, and bounded.
 */
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { rotatedLogOf, rotatedLogsMax } from '../../../edge/logs/rotate-log.ts';
import { rotationMark } from '../logs/read-log.ts';

export interface TailPosition {
  /** Where reading goes on. */
  bytes: number;
  /** Where the part that grows began when it was last looked at. */
  base: number;
  /** Where the log ended then. */
  seen: number;
  /** The mark of the part that had been rotated away last. */
  aside: string;
  /** A hash of what stands right before the place, by which the part is known again when too much was rotated for the mark. */
  before: string;
}

export const beginning: TailPosition = { bytes: 0, base: 0, seen: 0, aside: '', before: '' };

export interface TailPart {
  path: string;
  /** Where it begins. */
  start: number;
  size: number;
  /** Milliseconds since 1970. */
  changedAt: number;
  handle: FileHandle;
  isGrowing: boolean;
}

export interface Tail {
  position: TailPosition;
  /** The part in which reading goes on. */
  part: TailPart;
  /** At least so much was rotated away unread. */
  lostBytes: number;
  /** Whether the log was rotated since it was opened, so that what was read meanwhile may be of another part. */
  isRotated(): Promise<boolean>;
  /** The place at this byte of the part. */
  advanced(to: number): Promise<TailPosition>;
  close(): Promise<void>;
}

/** Undefined: there is no such log. To be closed by whoever opens it. */
export async function openTail(log: string, from: TailPosition): Promise<Tail | undefined> {
  const files = await Promise.all(ages.map((age) => openFile(rotatedLogOf(log, age))));
  const close = async () => {
    for (const file of files) await file?.handle.close();
  };
  const [current, latest, oldest] = files;
  if (!current) {
    await close();
    return undefined;
  }
  const { parts, position, lostBytes } = await resumed(from, { current, latest, oldest }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const part = parts.findLast(({ start }) => start <= position.bytes) ?? parts[0];
  return {
    position,
    part,
    lostBytes,
    isRotated: async () => (await rotationMark(log, 1)) !== (latest?.mark ?? ''),
    advanced: async (to) => ({ ...position, bytes: part.start + to, before: await hashBefore(part.handle, to) }),
    close,
  };
}

/** The place after all that the log has now. Undefined: there is no such log. */
export async function endOfTail(log: string, from: TailPosition): Promise<TailPosition | undefined> {
  const tail = await openTail(log, from);
  if (!tail) return undefined;
  const { position } = tail;
  await tail.close();
  const end = await openTail(log, { ...position, bytes: position.seen, before: '' });
  try {
    return end && (await end.advanced(end.position.bytes - end.part.start));
  } finally {
    await end?.close();
  }
}

interface LogFile {
  path: string;
  handle: FileHandle;
  size: number;
  changedAt: number;
  /** As `rotationMark` has it. */
  mark: string;
}

interface LogFiles {
  current: LogFile;
  latest: LogFile | undefined;
  oldest: LogFile | undefined;
}

const ages = Array.from({ length: rotatedLogsMax + 1 }, (_, age) => age);

async function openFile(path: string): Promise<LogFile | undefined> {
  const handle = await open(path).catch(() => undefined);
  if (!handle) return undefined;
  const { ino, birthtimeNs, size, mtimeMs } = await handle.stat({ bigint: true });
  return { path, handle, size: Number(size), changedAt: Number(mtimeMs), mark: `${ino}-${birthtimeNs}-${size}` };
}

/** How often the log was rotated since; two stands for more, too. */
function rotationsSince(aside: string, { latest, oldest }: LogFiles): 0 | 1 | 2 {
  if ((latest?.mark ?? '') === aside) return 0;
  // A rotation has begun and nothing is cut yet.
  if (!latest && oldest?.mark === aside) return 0;
  return (oldest?.mark ?? '') === aside ? 1 : 2;
}

/** While a log is rotated there is a moment at which the copy is made and the log not cut yet: reading both would tell everything twice. */
async function isCopyOf({ size, handle }: LogFile, copy: LogFile | undefined): Promise<boolean> {
  return copy !== undefined && size > 0 && size === copy.size && (await hashBefore(handle, size)) === (await hashBefore(copy.handle, size));
}

interface Resumed {
  /** The oldest first. */
  parts: [TailPart, ...TailPart[]];
  position: TailPosition;
  lostBytes: number;
}

async function resumed(from: TailPosition, files: LogFiles): Promise<Resumed> {
  const rotations = rotationsSince(from.aside, files);
  const { current, oldest } = files;
  const isHalfRotated = rotations === 1 && (await isCopyOf(current, files.latest));
  const latest = isHalfRotated ? undefined : files.latest;
  const aside = isHalfRotated || (rotations === 0 && !latest) ? from.aside : (latest?.mark ?? '');
  const [latestSize, oldestSize] = [latest?.size ?? 0, oldest?.size ?? 0];
  const rotated = isHalfRotated || rotations === 0 ? 0 : rotations === 1 ? latestSize : latestSize + oldestSize;
  // A log that somebody emptied goes on where it had come to.
  const base = rotations === 0 && from.bytes > from.base + current.size ? from.bytes : from.base + rotated;
  const parts = partsFrom(base, current, [latest, oldest]);
  const position = { ...from, base, seen: base + current.size, aside };
  const first = parts[0].start;
  if (from.bytes < first) return { parts, position: { ...position, bytes: first, before: '' }, lostBytes: first - from.bytes };
  if (rotations === 2 && !(await isKnownAgain(parts, from))) return renumbered(parts, position, from);
  return { parts, position, lostBytes: 0 };
}

function partsFrom(base: number, current: LogFile, rotated: readonly (LogFile | undefined)[]): Resumed['parts'] {
  const growing: TailPart = { ...current, start: base, isGrowing: true };
  let start = base;
  const earlier = rotated.flatMap((file) => {
    if (!file) return [];
    start -= file.size;
    return [{ ...file, start, isGrowing: false }];
  });
  const [first, ...others] = [...earlier.toReversed(), growing];
  return [first ?? growing, ...others];
}

async function isKnownAgain(parts: Resumed['parts'], { bytes, before }: TailPosition): Promise<boolean> {
  const part = parts.findLast(({ start }) => start < bytes);
  return before === '' || !part || (await hashBefore(part.handle, bytes - part.start)) === before;
}

/** Nobody knows how much came and went meanwhile, so what is there now is numbered on from what was last seen. */
function renumbered(parts: Resumed['parts'], position: TailPosition, from: TailPosition): Resumed {
  const by = from.seen - parts[0].start;
  const [first, ...others] = parts.map((part) => ({ ...part, start: part.start + by }));
  const moved = { ...position, bytes: from.seen, base: position.base + by, seen: position.seen + by, before: '' };
  return { parts: [first ?? parts[0], ...others], position: moved, lostBytes: Math.max(1, from.seen - from.bytes) };
}

const hashedBytes = 256;

async function hashBefore(handle: FileHandle, to: number): Promise<string> {
  const length = Math.min(hashedBytes, to);
  if (length <= 0) return '';
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, to - length);
  return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex').slice(0, 32);
}
