/**
 * What stands in a log, with what was put aside of it: its last lines, or those of a time. Bounded, whatever is asked for; lines of any length, and
 * whatever bytes they are made of.
 */
import { open, readFile, stat, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { rotatedLogOf, rotatedLogsMax, timesOf } from '../../../edge/logs/rotate-log.ts';
import { timesMilliseconds } from './append-log.ts';

export interface LogExtent {
  /** How many of the last lines are wanted. */
  tail?: number;
  /** Milliseconds since 1970; to the second. */
  since?: number;
  until?: number;
}

/** How far a reader has come. `aside` tells whether the log was rotated since. */
export interface LogPosition {
  aside: string;
  bytes: number;
}

export const readBytesMax = 4 * 2 ** 20;
const chunkBytes = 256 * 1024;
/** The longest line, as far as times and counting go; a longer one counts as several. */
const lineBytesMax = 1024 * 1024;
const attemptsMax = 5;
const attemptMilliseconds = 50;

/** A mark of the log that was rotated away last, or the time before that: it differs each time. */
export async function rotationMark(log: string, age: number): Promise<string> {
  const found = await stat(rotatedLogOf(log, age), { bigint: true }).catch(() => undefined);
  return found ? `${found.ino}-${found.birthtimeNs}-${found.size}` : '';
}

/** Undefined: there is no such log. With `upTo` what comes after that position is left out. */
export async function readLog(
  log: string,
  extent: LogExtent,
  upTo?: LogPosition,
): Promise<{ lines: Buffer[]; position: LogPosition } | undefined> {
  for (let attempt = 1; ; attempt++) {
    const aside = await rotationMark(log, 1);
    const files = await openAll(log);
    try {
      const [current] = files;
      if (!current) return undefined;
      const bytes = upTo?.aside === aside ? Math.min(upTo.bytes, current.bytes) : await endOfCharacters(current);
      const isHalfAside = files[1] !== undefined && files[1].bytes === current.bytes;
      const lines = await collect([...files.slice(1).toReversed(), { ...current, bytes }], extent);
      if (attempt === attemptsMax || (!isHalfAside && aside === (await rotationMark(log, 1)))) return { lines, position: { aside, bytes } };
    } finally {
      await Promise.all(files.map(({ handle }) => handle.close()));
    }
    // The log is just being rotated, and lines would be read twice or not at all.
    await sleep(attemptMilliseconds);
  }
}

const characterBytesMax = 4;

/** How many bytes there are before a character whose end is still to come. Bytes that are no characters at all count as whole. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back < characterBytesMax && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

async function endOfCharacters({ handle, bytes }: LogPart): Promise<number> {
  const from = Math.max(0, bytes - characterBytesMax);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(characterBytesMax), 0, bytes - from, from);
  return from + wholeCharacters(buffer.subarray(0, bytesRead));
}

export interface LogPart {
  handle: FileHandle;
  path: string;
  bytes: number;
  /** Milliseconds since 1970. */
  changedAt: number;
}

/** The log and its rotated parts, as far as they exist; the one that grows comes first. */
export async function openAll(log: string): Promise<LogPart[]> {
  const parts: LogPart[] = [];
  for (let age = 0; age <= rotatedLogsMax; age++) {
    const path = rotatedLogOf(log, age);
    const handle = await open(path).catch(() => undefined);
    if (!handle) break;
    const { size, mtimeMs } = await handle.stat();
    parts.push({ handle, path, bytes: size, changedAt: mtimeMs });
  }
  return parts;
}

/** Usually lines are shorter. */
const lineBytesUsual = 256;
const windowBytesMin = 64 * 1024;

/** Lines, the oldest first. Where only the last ones are wanted, more is read only if there were too few of them. */
async function collect(parts: readonly LogPart[], extent: LogExtent): Promise<Buffer[]> {
  const { tail, since, until } = extent;
  const all = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  if (since !== undefined || until !== undefined) return collectLast(parts, extent, all);
  let window = Math.min(readBytesMax, tail === undefined ? readBytesMax : Math.max(windowBytesMin, tail * lineBytesUsual));
  for (;;) {
    const lines = await collectLast(parts, extent, window);
    if (window >= Math.min(all, readBytesMax) || lines.length >= (tail ?? 0)) return lines;
    window = Math.min(readBytesMax, 8 * window);
  }
}

/** The lines in the last so many bytes. */
async function collectLast(parts: readonly LogPart[], extent: LogExtent, window: number): Promise<Buffer[]> {
  const { tail = Number.POSITIVE_INFINITY } = extent;
  const kept: Buffer[] = [];
  let [first, bytes] = [0, 0];
  let after = parts.reduce((sum, part) => sum + part.bytes, 0);
  for (const part of parts) {
    const from = Math.min(part.bytes, Math.max(0, after - window));
    after -= part.bytes;
    const isWithin = await timeFilter(part, extent);
    for await (const { line, at } of linesIn(part, from)) {
      // A part that begins in the middle begins with the end of a line.
      if ((at === from && from > 0) || !isWithin(line, at)) continue;
      kept.push(line);
      bytes += line.length;
      for (; bytes > readBytesMax || kept.length - first > tail; first++) bytes -= kept[first]?.length ?? 0;
    }
  }
  return kept.slice(first);
}

/** Lines with their ends, except the last one, if it has none yet. */
export async function* linesIn(
  { handle, bytes }: Pick<LogPart, 'handle' | 'bytes'>,
  from: number,
): AsyncGenerator<{ line: Buffer; at: number }> {
  let rest = Buffer.alloc(0);
  let at = from;
  for (let position = from; position < bytes;) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(chunkBytes, bytes - position)), 0, undefined, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    let start = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
      yield { line: rest.subarray(start, end + 1), at: at + start };
      start = end + 1;
    }
    if (rest.length - start > lineBytesMax) {
      yield { line: rest.subarray(start), at: at + start };
      start = rest.length;
    }
    rest = rest.subarray(start);
    at += start;
  }
  if (rest.length > 0) yield { line: rest, at };
}

type TimeFilter = (line: Buffer, at: number) => boolean;

async function timeFilter({ path }: LogPart, { since, until }: LogExtent): Promise<TimeFilter> {
  if (since === undefined && until === undefined) return () => true;
  const times = await readFile(timesOf(path), 'utf8').catch(() => undefined);
  const isWithin = (time: number) =>
    time + timesMilliseconds > (since ?? Number.NEGATIVE_INFINITY) && time <= (until ?? Number.POSITIVE_INFINITY);
  return times === undefined ? byOwnTimes(isWithin) : byTimes(times, isWithin);
}

/** A line without a time belongs to the one before it. */
function byOwnTimes(isWithin: (time: number) => boolean): TimeFilter {
  let last = false;
  return (line) => {
    const time = timeIn(line);
    if (time !== undefined) last = isWithin(time);
    return last;
  };
}

/** Where in a log, in bytes, lines of which time begin. */
export const timesIn = (times: string): { bytes: number; time: number }[] =>
  times
    .split('\n')
    .map((entry) => entry.split(' ').map(Number))
    .flatMap(([bytes, time]) => (bytes === undefined || time === undefined || Number.isNaN(time) ? [] : [{ bytes, time }]));

function byTimes(times: string, isWithin: (time: number) => boolean): TimeFilter {
  const entries = timesIn(times);
  let next = 0;
  let last = false;
  return (_, at) => {
    for (let entry = entries[next]; entry && entry.bytes <= at; entry = entries[++next]) last = isWithin(entry.time);
    return last;
  };
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** A time as the edge writes it, in UTC. */
const edgeTime = /\[(\d{2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) \+0000\]/;
const timeCharactersMax = 120;

export function timeIn(line: Buffer): number | undefined {
  const [, day, month = '', year, hour, minute, second] = edgeTime.exec(line.toString('latin1', 0, timeCharactersMax)) ?? [];
  return year === undefined
    ? undefined
    : Date.UTC(Number(year), months.indexOf(month), Number(day), Number(hour), Number(minute), Number(second));
}
