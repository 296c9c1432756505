/** The kept lines of an environment's logs as entries with a time, a kind and a severity, narrowed down and in order. */
import type { Filter } from '../../drivers/metrics/breakdown.ts';
import type { LogName } from '../../drivers/logs/log-folders.ts';
import { openTimedLog, type LogTimes, type TimedLog } from '../../drivers/logs/timed-lines.ts';
import type { TooMuch } from '../../drivers/metrics/metrics.ts';
import type { Log } from '../logs/public.ts';

export const severities = ['EMERGENCY', 'ALERT', 'CRITICAL', 'ERROR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG'] as const;
export type Severity = (typeof severities)[number];
export const logKinds = ['access', 'application', 'cron', 'deployment', 'platform'] as const;
export type LogKind = (typeof logKinds)[number];

/** What each log tells of, and how bad its lines are that do not say so themselves. */
const logTypes: Record<LogName, { kind: LogKind; severity: Severity }> = {
  access: { kind: 'access', severity: 'INFO' },
  app: { kind: 'application', severity: 'INFO' },
  cron: { kind: 'cron', severity: 'INFO' },
  deploy: { kind: 'deployment', severity: 'INFO' },
  post_deploy: { kind: 'deployment', severity: 'INFO' },
  sanitize: { kind: 'deployment', severity: 'INFO' },
  error: { kind: 'platform', severity: 'ERROR' },
  failed_start: { kind: 'platform', severity: 'ERROR' },
  mail: { kind: 'platform', severity: 'INFO' },
};

export interface LogEntry {
  /** Milliseconds since 1970. */
  time: number;
  log: string;
  nth: number;
  severity: Severity;
  kind: LogKind;
  service: string;
  body: string;
}

/** Logs do not tell who of several instances has written, nor from which container. */
const untold = ['instances', 'hosts', 'commands', 'units', 'container_ids', 'container_images'] as const;
/** What entries can be filtered by. */
export const logFilterNames = ['severities', 'services', 'log_kinds', ...untold] as const;
export type LogFilters = Record<(typeof logFilterNames)[number], Filter>;

const isLetThrough = ({ values, mode }: Filter, value: string) => values.includes(value) === (mode === 'additive');

/** The logs that can have entries of interest; nothing is read for this. */
export function logsOfInterest(logs: readonly Log[], filters: LogFilters): Log[] {
  const { services, log_kinds } = filters;
  if (!untold.every((name) => isLetThrough(filters[name], ''))) return [];
  return logs.filter(({ app, name }) => isLetThrough(services, app) && isLetThrough(log_kinds, logTypes[name].kind));
}

const levelWords: Readonly<Record<string, Severity>> = {
  EMERG: 'EMERGENCY',
  EMERGENCY: 'EMERGENCY',
  ALERT: 'ALERT',
  CRIT: 'CRITICAL',
  CRITICAL: 'CRITICAL',
  FATAL: 'CRITICAL',
  ERR: 'ERROR',
  ERROR: 'ERROR',
  WARN: 'WARNING',
  WARNING: 'WARNING',
  NOTICE: 'NOTICE',
  INFO: 'INFO',
  DEBUG: 'DEBUG',
};
const levelWord = new RegExp(String.raw`\b(${Object.keys(levelWords).join('|')})\b|"(?:level|severity)": ?"([a-z]+)"`);
const levelCharactersMax = 200;

/** As the app says, in the way most programs do: a word in capitals near the beginning, or a field of JSON. */
function severityIn(body: string, otherwise: Severity): Severity {
  const [, word, field] = levelWord.exec(body.slice(0, levelCharactersMax)) ?? [];
  return levelWords[(word ?? field ?? '').toUpperCase()] ?? otherwise;
}

const bodyCharactersMax = 16_384;
/** What one question may have read. */
const readBytesMax = 64 * 2 ** 20;

/** Reads entries log by log, oldest first within each; `take` answers whether it wants more of this log. */
export async function readEntries(
  logs: readonly Log[],
  times: LogTimes,
  filters: LogFilters,
  take: (entry: LogEntry) => boolean,
): Promise<TooMuch | undefined> {
  const opened: { log: Log; timed: TimedLog }[] = [];
  try {
    let asked = 0;
    for (const log of logs) {
      const timed = await openTimedLog(log.file, times);
      opened.push({ log, timed });
      asked += timed.bytes;
      if (asked > readBytesMax) return { tooMuch: { what: 'records', asked, most: readBytesMax } };
    }
    for (const { log, timed } of opened) await readLog(log, timed, filters, take);
    return undefined;
  } finally {
    await Promise.all(opened.map(({ timed }) => timed.close()));
  }
}

async function readLog({ id, app, name }: Log, timed: TimedLog, filters: LogFilters, take: (entry: LogEntry) => boolean) {
  const { kind, severity: usual } = logTypes[name];
  const tellsSeverity = kind === 'application' || kind === 'cron';
  for await (const { time, nth, line } of timed.lines()) {
    const body = line.toString('utf8', 0, bodyCharactersMax).trimEnd();
    const severity = tellsSeverity ? severityIn(body, usual) : usual;
    if (!isLetThrough(filters.severities, severity)) continue;
    if (!take({ time, nth, log: id, severity, kind, service: app, body })) return;
  }
}

/** Entries of one time are told log by log. */
export function compareEntries(one: Place, other: Place): number {
  return one.time - other.time || (one.log < other.log ? -1 : one.log > other.log ? 1 : one.nth - other.nth);
}

/** Where an entry stands among all, whatever comes later. */
export type Place = Pick<LogEntry, 'time' | 'log' | 'nth'>;

export const writeCursor = ({ time, log, nth }: Place) => Buffer.from(JSON.stringify([time, log, nth])).toString('base64url');

/** Undefined: nobody was given this one. */
export function readCursor(text: string): Place | undefined {
  try {
    const [time, log, nth] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    return typeof time === 'number' && typeof log === 'string' && typeof nth === 'number' ? { time, log, nth } : undefined;
  } catch {
    return undefined;
  }
}
