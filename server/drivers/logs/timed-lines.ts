/** The lines of a log with their times, oldest first. How much would be read is known before anything is: of a time, only the parts of the log that were written around it. */
import { readFile } from 'node:fs/promises';
import { timesOf } from '../../../edge/logs/rotate-log.ts';
import { linesIn, openAll, timeIn, timesIn, type LogPart } from './read-log.ts';

export interface TimedLine {
  /** Milliseconds since 1970; to the second. */
  time: number;
  /** The place of the line among those of the same time in this log; it stays the same while the log grows. */
  nth: number;
  line: Buffer;
}

export interface TimedLog {
  /** How many bytes `lines` will read. */
  bytes: number;
  /** Of the time that was asked for. */
  lines(): AsyncGenerator<TimedLine>;
  close(): Promise<void>;
}

/** Milliseconds since 1970: `since` is included, `until` is not. */
export interface LogTimes {
  since: number;
  until: number;
}

interface TimedPart extends LogPart {
  /** Where reading begins. */
  from: number;
  /** Empty: lines tell their time themselves. */
  times: { bytes: number; time: number }[];
}

/** To be closed by whoever opens it. */
export async function openTimedLog(log: string, { since, until }: LogTimes): Promise<TimedLog> {
  const parts = await openAll(log);
  // A part begins where the one before it ends. Times in lines are to the second, hence a little earlier than the change.
  const touched = parts.filter(({ changedAt }, age) => changedAt + 1000 >= since && (parts[age + 1]?.changedAt ?? 0) < until);
  const timed = await Promise.all(touched.toReversed().map((part) => withTimes(part, since)));
  return {
    bytes: timed.reduce((sum, { from, bytes }) => sum + bytes - from, 0),
    lines: () => linesOf(timed, { since, until }),
    close: async () => void (await Promise.all(parts.map(({ handle }) => handle.close()))),
  };
}

async function withTimes(part: LogPart, since: number): Promise<TimedPart> {
  const times = timesIn(await readFile(timesOf(part.path), 'utf8').catch(() => ''));
  const from = times.findLast(({ time }) => time < since)?.bytes ?? 0;
  return { ...part, from: Math.min(from, part.bytes), times };
}

async function* linesOf(parts: readonly TimedPart[], { since, until }: LogTimes): AsyncGenerator<TimedLine> {
  let [time, nth] = [Number.NEGATIVE_INFINITY, 0];
  for (const part of parts) {
    let next = 0;
    for await (const { line, at } of linesIn(part, part.from)) {
      const before = time;
      for (let entry = part.times[next]; entry && entry.bytes <= at; entry = part.times[++next]) time = entry.time;
      // A line without a time belongs to the one before it.
      if (part.times.length === 0) time = timeIn(line) ?? time;
      if (time >= until) return;
      nth = time === before ? nth + 1 : 0;
      if (time >= since) yield { time, nth, line };
    }
  }
}
