/**
 * What containers say, line by line, as their monitors write it down: `log`, and `log.1` before it. Together they are bounded: this process
 * moves a log on when it is half full, and a monitor that nobody moves on starts an empty one when its own is full.
 */
import { closeSync, constants, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLine, LogOptions } from '../runtime.ts';
import { type RuntimeFolders, bundleOf, durableOf, entriesOf } from './runtime-folders.ts';

/** Half of what launch.sh lets a monitor write. */
const logBytesMax = 4 * 1024 * 1024;
const rotateMilliseconds = 2000;
const followMilliseconds = 100;
const chunkBytes = 64 * 1024;
/** For a program that never ends its line. */
const lineLettersMax = 256 * 1024;

const logOf = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'log');
const earlierLogOf = (folders: RuntimeFolders, name: string) => join(durableOf(folders, name), 'log.1');

/** Goes on until the function that is given back is called. */
export function keepLogsShort(folders: RuntimeFolders): () => void {
  const timer = setInterval(() => {
    for (const name of entriesOf(folders.containers)) moveOn(folders, name);
  }, rotateMilliseconds);
  timer.unref();
  return () => clearInterval(timer);
}

const reopenLog = '2 0 0\n';

function moveOn(folders: RuntimeFolders, name: string) {
  const log = logOf(folders, name);
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) < logBytesMax) return;
  renameSync(log, earlierLogOf(folders, name));
  try {
    const control = openSync(join(bundleOf(folders, name), 'ctl'), constants.O_WRONLY | constants.O_NONBLOCK);
    writeSync(control, reopenLog);
    closeSync(control);
  } catch (error) {
    // The monitor has ended; whoever starts the container again opens a new log.
    if (!(error instanceof Error && 'code' in error && ['ENOENT', 'ENXIO'].includes(String(error.code)))) throw error;
  }
}

export async function lastLines(folders: RuntimeFolders, name: string, tail: number): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const line of readLogs(folders, name, { tail })) lines.push(line);
  return lines;
}

export async function* readLogs(folders: RuntimeFolders, name: string, { tail, since, follow }: LogOptions): AsyncGenerator<LogLine> {
  const wanted = (line: LogLine) => since === undefined || line.at >= since;
  const parse = lineParser();
  const kept: LogLine[] = [];
  let reader = await openReader(logOf(folders, name));
  try {
    for await (const line of earlierLines(folders, name, reader, parse)) {
      if (!wanted(line)) continue;
      if (tail === undefined) yield line;
      else if (kept.push(line) > tail) kept.shift();
    }
    yield* kept;
    if (!follow) return;
    for (;;) {
      await sleep(followMilliseconds, undefined, { signal: follow }).catch(() => {});
      // Whatever was said before the end is read after it.
      const isEnding = follow.aborted;
      for await (const line of reader ? reader.rest() : []) yield* parse(line).filter(wanted);
      const place = reader ? await reader.place() : 'left';
      if (place === 'here' && isEnding) return;
      if (place !== 'left') continue;
      await reader?.close();
      reader = await openReader(logOf(folders, name));
      if (!reader && (isEnding || !entriesOf(folders.containers).includes(name))) return;
    }
  } finally {
    await reader?.close();
  }
}

async function* earlierLines(folders: RuntimeFolders, name: string, reader: Reader | undefined, parse: (line: string) => LogLine[]) {
  const earlier = await openReader(earlierLogOf(folders, name));
  try {
    // It would be the same file if it was rotated between the two looks.
    if (earlier && earlier.inode !== reader?.inode) for await (const line of earlier.rest()) yield* parse(line);
  } finally {
    await earlier?.close();
  }
  if (reader) for await (const line of reader.rest()) yield* parse(line);
}

interface Reader {
  inode: number;
  /** Whole lines that were not read yet. */
  rest(): AsyncIterable<string>;
  /** `leaving`: another file has its name now, and what came before that may not be read yet; `left`: nothing more comes in this one. */
  place(): Promise<'here' | 'leaving' | 'left'>;
  close(): Promise<void>;
}

async function openReader(path: string): Promise<Reader | undefined> {
  let file: FileHandle;
  try {
    file = await open(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const { ino } = await file.stat();
  let pending = Buffer.alloc(0);
  let isLeaving = false;
  async function* rest() {
    for (;;) {
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(chunkBytes) });
      if (bytesRead === 0) return;
      pending = Buffer.concat([pending, buffer.subarray(0, bytesRead)]);
      for (let end = pending.indexOf(10); end >= 0; end = pending.indexOf(10)) {
        yield pending.subarray(0, end).toString();
        pending = pending.subarray(end + 1);
      }
    }
  }
  return {
    inode: ino,
    rest,
    place: async () => {
      const before = isLeaving;
      isLeaving = (await stat(path).catch(() => undefined))?.ino !== ino;
      if (!isLeaving) return 'here';
      return before ? 'left' : 'leaving';
    },
    close: () => file.close(),
  };
}

/** `2026-01-01T00:00:00.000000000+00:00 stdout F the line`; P instead of F: it goes on in the next. */
const monitorLine = /^(\S+) (stdout|stderr) ([FP]) ?(.*)$/s;

function lineParser(): (line: string) => LogLine[] {
  const begun = { stdout: '', stderr: '' };
  return (line) => {
    const [, at = '', stream, mark, text = ''] = monitorLine.exec(line) ?? [];
    if (stream !== 'stdout' && stream !== 'stderr') return [];
    const whole = begun[stream] + text;
    if (mark === 'P' && whole.length < lineLettersMax) {
      begun[stream] = whole;
      return [];
    }
    begun[stream] = '';
    return [{ at: new Date(at), stream, text: whole }];
  };
}
