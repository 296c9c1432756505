/**
 * The log files of environments, a folder for each app. `<logs>/<cluster>/<app>/access.log` has a line for each request that a route led to the app, as
 * most programs that read such logs know it, followed by the seconds it took and its id:
 *
 *   192.0.2.7 - - [09/Nov/2026:10:00:00 +0000] "GET /path?query HTTP/1.1" 200 5120 "referer" "user agent" 0.012 <request id>
 *
 * `error.log` beside it has why requests failed, and what instances said beside their replies. What no app was asked for is in the folder `@edge`.
 * Lines wait in memory for a moment and are appended together, by each process for itself; nothing waits for them. What a client sent cannot end a line
 * or a quoted part of it. One process at a time puts a full file aside: see `putLogAside`.
 */
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { announceCut, isBeingCut, logBytesMax, rotateLog } from './rotate-log.ts';
import type { RequestRecord } from './request-record.ts';
import type { AppsByCluster } from '../routing/served-apps.ts';
import { platformCluster } from '../routing/table.ts';
import { WaitingLines } from './waiting-lines.ts';

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
/** How often a last write is tried where the log is being rotated when the process ends. */
const lastAttemptsMax = 20;
const lastAttemptMilliseconds = 250;
/** The folder for lines that belong to no app; no app can have this name. */
const noApp = '@edge';

/** `onFull` is told the file, as `putLogAside` wants to know it. */
export function openEnvironmentLogs(logs: string, apps: AppsByCluster, onFull: (file: string) => void): EnvironmentLogs {
  let waiting = new Map<string, WaitingLines>();
  let waitingCharacters = 0;
  let dropped = 0;
  let flushing: Promise<void> | undefined;

  /** Puts lines back that could not be written; lines that came later stand after them. */
  const putBack = (file: string, taken: WaitingLines) => {
    const later = waiting.get(file);
    if (later) taken.addAll(later);
    waiting.set(file, taken);
  };
  const flush = async () => {
    const taken = waiting;
    waiting = new Map();
    for (const [file, lines] of taken) {
      if (await isBeingCut(join(logs, file))) {
        putBack(file, lines);
        continue;
      }
      try {
        if ((await append(join(logs, file), lines.bytes(), apps.has(clusterOf(file)))) > logBytesMax) onFull(file);
      } catch {
        dropped += lines.count;
      }
      waitingCharacters -= lines.characters;
    }
  };
  const flushOnce = () => (flushing ??= flush().finally(() => (flushing = undefined)));
  const timer = setInterval(() => waiting.size > 0 && void flushOnce(), flushMilliseconds).unref();

  const add = (file: string, line: string) => {
    if (waitingCharacters > waitingCharactersMax) {
      dropped++;
      return;
    }
    waitingCharacters += line.length;
    const known = waiting.get(file);
    const lines = known ?? new WaitingLines();
    if (!known) waiting.set(file, lines);
    lines.add(line);
  };

  return {
    write(record) {
      const { cluster, note } = record;
      if (cluster === null || cluster === platformCluster) return;
      const folder = `${cluster}/${apps.ofRoute(cluster, record.route) ?? noApp}`;
      add(`${folder}/access.log`, lineOf(record));
      if (note !== null) add(`${folder}/error.log`, errorLineOf(record, note));
    },
    writeError(cluster, instance, text) {
      const time = timeOf(Date.now());
      for (const line of text.slice(0, errorCharactersMax).trimEnd().split('\n'))
        add(`${cluster}/${apps.ofInstance(cluster, instance) ?? noApp}/error.log`, `[${time}] ${shown(instance)}: ${shown(line)}\n`);
    },
    async close() {
      clearInterval(timer);
      await flushing;
      for (let attempt = 0; waiting.size > 0 && attempt < lastAttemptsMax; attempt++) {
        if (attempt > 0) await sleep(lastAttemptMilliseconds);
        await flush();
      }
    },
    get dropped() {
      return dropped;
    },
  };
}

const clusterOf = (file: string) => file.slice(0, file.indexOf('/'));

/** Answers how long the file is now. What belongs to an environment that is gone makes no folder for it again. */
async function append(file: string, bytes: Buffer, mayMakeFolder: boolean): Promise<number> {
  const handle = await open(file, 'a', 0o644).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || !mayMakeFolder) throw error;
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    return open(file, 'a', 0o644);
  });
  try {
    await handle.appendFile(bytes);
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** For the main process alone: of two, one would rotate the log that the other has just begun. */
export async function rotateEnvironmentLog(logs: string, name: string): Promise<void> {
  const file = join(logs, name);
  if ((await stat(file)).size <= logBytesMax || (await isBeingCut(file))) return;
  await announceCut(file, async () => {
    if ((await stat(file)).size > logBytesMax) await rotateLog(file);
  });
}

function errorLineOf(record: RequestRecord, note: string): string {
  const request = `${shown(record.address)} "${shown(record.method)} ${shown(record.path)}" ${record.status}`;
  return `[${timeOf(record.at)}] ${shown(record.instance ?? 'edge')}: ${shown(note)}; ${request} ${shown(record.request_id)}\n`;
}

export function lineOf(record: RequestRecord): string {
  const target = record.query === '' ? shown(record.path) : `${shown(record.path)}?${shown(record.query)}`;
  return (
    `${shown(record.address)} - - [${timeOf(record.at)}] "${shown(record.method)} ${target} HTTP/1.1" ${record.status} ${record.bytes_out} ` +
    `"${shownOrDash(record.referer)}" "${shownOrDash(record.user_agent)}" ${secondsOf(record.total_ms)} ${shown(record.request_id)}\n`
  );
}

/** Whatever is not plain to see, and what quotes are made of. */
const notPlain = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;
const everyNotPlain = new RegExp(notPlain, 'g');

const shownOrDash = (part: string) => (part === '' ? '-' : shown(part));

function shown(part: string): string {
  const bounded = part.length > partCharactersMax ? part.slice(0, partCharactersMax) : part;
  return notPlain.test(bounded) ? bounded.replaceAll(everyNotPlain, escaped) : bounded;
}

/** For a character beyond Latin-1 its lower byte would be a lie, so its whole number is shown. */
const escaped = (character: string) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** The milliseconds of a time, as three digits. */
const thousandths = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));

function secondsOf(milliseconds: number): string {
  const rounded = Math.round(milliseconds);
  return `${Math.floor(rounded / 1000)}.${thousandths[rounded % 1000]}`;
}

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
