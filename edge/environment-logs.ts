/**
 * The log files of environments. `<logs>/<cluster>/access.log` has a line for each request, as most programs that read such logs know it, followed by
 * the seconds it took and its id:
 *
 *   192.0.2.7 - - [09/Nov/2026:10:00:00 +0000] "GET /path?query HTTP/1.1" 200 5120 "referer" "user agent" 0.012 <request id>
 *
 * `error.log` beside it has what instances said beside their replies. Lines wait in memory for a moment and are appended together, by each process for
 * itself; nothing waits for them. What a client sent cannot end a line or a quoted part of it. One process at a time puts a full file aside: see
 * `putAside`.
 */
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RequestRecord } from './request-record.ts';

export interface EnvironmentLogs {
  write(record: RequestRecord): void;
  /** What an instance said. */
  writeError(cluster: string, instance: string, text: string): void;
  /** Writes what waits. */
  close(): Promise<void>;
  /** Lines that found no room, or could not be written. */
  readonly dropped: number;
}

const flushMilliseconds = 1000;
const waitingCharactersMax = 16_000_000;
const partCharactersMax = 2048;
const errorCharactersMax = 8192;
const fileBytesMax = 8_000_000;
const filesAsideMax = 2;

interface Waiting {
  text: string;
  lines: number;
}

/** `onFull` is told the file, as `putAside` wants to know it. */
export function openEnvironmentLogs(logs: string, onFull: (file: string) => void): EnvironmentLogs {
  let waiting = new Map<string, Waiting>();
  let waitingCharacters = 0;
  let dropped = 0;
  let flushing: Promise<void> | undefined;

  const flush = async () => {
    const taken = waiting;
    waiting = new Map();
    for (const [file, { text, lines }] of taken) {
      try {
        if ((await append(join(logs, file), text)) > fileBytesMax) onFull(file);
      } catch {
        dropped += lines;
      }
      waitingCharacters -= text.length;
    }
  };
  const flushOnce = () => (flushing ??= flush().finally(() => (flushing = undefined)));
  const timer = setInterval(() => void flushOnce(), flushMilliseconds).unref();

  const add = (file: string, line: string) => {
    if (waitingCharacters > waitingCharactersMax) {
      dropped++;
      return;
    }
    waitingCharacters += line.length;
    const before = waiting.get(file);
    if (before) {
      before.text += line;
      before.lines++;
    } else waiting.set(file, { text: line, lines: 1 });
  };

  return {
    write(record) {
      if (record.cluster !== null) add(`${record.cluster}/access.log`, lineOf(record));
    },
    writeError(cluster, instance, text) {
      const time = timeOf(Date.now());
      for (const line of text.slice(0, errorCharactersMax).trimEnd().split('\n'))
        add(`${cluster}/error.log`, `[${time}] ${shown(instance)}: ${shown(line)}\n`);
    },
    async close() {
      clearInterval(timer);
      await flushing;
      await flush();
    },
    get dropped() {
      return dropped;
    },
  };
}

/** Answers how long the file is now. It is opened each time, so that one put aside by another process is left alone. */
async function append(file: string, text: string): Promise<number> {
  const handle = await open(file, 'a', 0o640).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    await mkdir(dirname(file), { recursive: true, mode: 0o750 });
    return open(file, 'a', 0o640);
  });
  try {
    await handle.appendFile(text, 'latin1');
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** For the main process alone, as two would put aside what the other has just begun. */
export async function putAside(logs: string, name: string): Promise<void> {
  const file = join(logs, name);
  if ((await stat(file)).size <= fileBytesMax) return;
  await rm(`${file}.${filesAsideMax}`, { force: true });
  for (let age = filesAsideMax; age > 1; age--) await rename(`${file}.${age - 1}`, `${file}.${age}`).catch(ignoreMissing);
  await rename(file, `${file}.1`);
}

function ignoreMissing(error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOENT') throw error;
}

export function lineOf(record: RequestRecord): string {
  const target = record.query === '' ? shown(record.path) : `${shown(record.path)}?${shown(record.query)}`;
  return (
    `${shown(record.address)} - - [${timeOf(record.at)}] "${shown(record.method)} ${target} HTTP/1.1" ${record.status} ${record.bytes_out} ` +
    `"${shown(record.referer) || '-'}" "${shown(record.user_agent) || '-'}" ${(record.total_ms / 1000).toFixed(3)} ${shown(record.request_id)}\n`
  );
}

/** Whatever is not plain to see, and what quotes are made of. */
const notPlain = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;
const everyNotPlain = new RegExp(notPlain, 'g');

function shown(part: string): string {
  const bounded = part.length > partCharactersMax ? part.slice(0, partCharactersMax) : part;
  return notPlain.test(bounded) ? bounded.replaceAll(everyNotPlain, escaped) : bounded;
}

/** Of a character beyond latin-1 the lower byte would be a lie, so all of its number is shown. */
const escaped = (character: string) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (number: number) => String(number).padStart(2, '0');
let second = 0;
let secondShown = '';

/** Most requests share their second with the one before. */
function timeOf(at: number): string {
  const itsSecond = Math.floor(at / 1000);
  if (itsSecond !== second) {
    const time = new Date(at);
    second = itsSecond;
    secondShown =
      `${two(time.getUTCDate())}/${months[time.getUTCMonth()]}/${time.getUTCFullYear()}:` +
      `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}:${two(time.getUTCSeconds())} +0000`;
  }
  return secondShown;
}
