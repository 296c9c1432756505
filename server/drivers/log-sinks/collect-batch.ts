/** What is new in the logs of one service, as one batch: lines of all its logs by their times, those of each log in their order. */
import { stat } from 'node:fs/promises';
import { logFile, rareLogs, usualLogs } from '../logs/log-folders.ts';
import { LineTimes } from './line-times.ts';
import type { LogRecord } from './log-record.ts';
import type { TailPosition } from './log-tail.ts';
import type { Positions } from './positions.ts';
import { readRecords, type FollowedLog } from './read-records.ts';

export interface Batch {
  records: LogRecord[];
  /** Where each log goes on once it was sent. */
  reads: { log: Followed[number]; position: TailPosition; readMark: string }[];
  lost: { log: string; bytes: number }[];
}

export type Followed = readonly (FollowedLog & {
  name: string;
  /** How the log looked when all of it had been sent. */ readMark: string;
})[];

export const followedLogs = (logs: string, service: string): Followed =>
  [...usualLogs, ...rareLogs].map((log) => ({
    service,
    log,
    name: `${service}/${log}`,
    file: logFile(logs, service, log),
    times: new LineTimes(),
    readMark: '',
  }));

/** Undefined: there is nothing new. What was read counts as sent when it is committed, and is read again otherwise. */
export async function collectBatch(followed: Followed, positions: Positions): Promise<Batch | undefined> {
  const batch: Batch = { records: [], reads: [], lost: [] };
  const recordsOfLogs: LogRecord[][] = [];
  for (const log of followed) {
    const mark = await markOf(log.file);
    if (mark === log.readMark) continue;
    const before = positions.of(log.name);
    const read = await readRecords(log, before);
    if (!read) continue;
    const readMark = read.isAll ? mark : '';
    if (read.position.bytes === before.bytes && read.position.base === before.base) {
      log.readMark = readMark;
      continue;
    }
    recordsOfLogs.push(read.records);
    batch.reads.push({ log, position: read.position, readMark });
    if (read.lostBytes > 0) batch.lost.push({ log: log.name, bytes: read.lostBytes });
  }
  if (batch.reads.length === 0) return undefined;
  return { ...batch, records: merged(recordsOfLogs) };
}

/** The batch was sent. */
export async function commitBatch({ reads }: Batch, positions: Positions): Promise<void> {
  for (const { log, position, readMark } of reads) {
    positions.set(log.name, position);
    log.readMark = readMark;
  }
  await positions.save();
}

/** Empty where there is no such log. */
async function markOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  return found ? `${found.size}-${found.mtimeMs}` : '';
}

/** Times within a log may go back, when a clock was set; its order stays. */
function merged(lists: readonly LogRecord[][]): LogRecord[] {
  const [only] = lists;
  if (only && lists.length === 1) return only;
  const heads = lists.map((list) => ({ list, next: 0 }));
  const records: LogRecord[] = [];
  const timeOf = ({ list, next }: (typeof heads)[number]) => list[next]?.time ?? Number.POSITIVE_INFINITY;
  for (let left = lists.reduce((sum, { length }) => sum + length, 0); left > 0; left--) {
    const earliest = heads.reduce((best, head) => (timeOf(head) < timeOf(best) ? head : best));
    const record = earliest.list[earliest.next++];
    if (record) records.push(record);
  }
  return records;
}
