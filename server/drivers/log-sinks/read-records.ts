/** The next lines of a log as records, and the place after them. Lines are whole; one that is very long is several records, and blank ones are none. */
import type { LogName } from '../logs/log-folders.ts';
import { timeIn, wholeCharacters } from '../logs/read-log.ts';
import { LineTimes } from './line-times.ts';
import type { LogRecord } from './log-record.ts';
import { openTail, type Tail, type TailPosition } from './log-tail.ts';

export interface FollowedLog {
  service: string;
  log: LogName;
  file: string;
  times: LineTimes;
}

export interface ReadRecords {
  records: LogRecord[];
  position: TailPosition;
  lostBytes: number;
  /** Whether all that the log had was read. */
  isAll: boolean;
}

const readBytesMax = 256 * 1024;
const linesMax = 4000;
const lineBytesMax = 32 * 1024;
/** A line without an end is taken as it is once nobody has added to it for so long. */
const unfinishedMilliseconds = 10_000;

/** Undefined: there is no such log, or it is just being rotated. */
export async function readRecords(followed: FollowedLog, from: TailPosition): Promise<ReadRecords | undefined> {
  const tail = await openTail(followed.file, from);
  if (!tail) return undefined;
  try {
    const { records, to } = await readPart(followed, tail);
    const position = await tail.advanced(to);
    if (await tail.isRotated()) return undefined;
    const { lostBytes } = tail;
    if (lostBytes > 0) records.unshift(gapBefore(followed, lostBytes, records[0]?.time ?? Date.now()));
    return { records, position, lostBytes, isAll: position.bytes >= position.seen };
  } finally {
    await tail.close();
  }
}

const gapBefore = ({ service, log }: FollowedLog, bytes: number, time: number): LogRecord => ({
  time,
  service,
  log,
  message: `[Lines are missing here: they were rotated away before they could be sent. Bytes missing: ${bytes} or more.]`,
});

async function readPart({ service, log, times }: FollowedLog, { part, position }: Tail): Promise<{ records: LogRecord[]; to: number }> {
  const from = position.bytes - part.start;
  const length = Math.min(readBytesMax, part.size - from);
  if (length <= 0) return { records: [], to: from };
  const { buffer, bytesRead } = await part.handle.read(Buffer.alloc(length), 0, length, from);
  await times.load(part, from);
  const isLast = from + bytesRead >= part.size && (!part.isGrowing || Date.now() - part.changedAt > unfinishedMilliseconds);
  const records: LogRecord[] = [];
  let [at, time] = [0, part.changedAt];
  while (at < bytesRead && records.length < linesMax) {
    const line = nextLine(buffer.subarray(at, bytesRead), isLast);
    if (!line) break;
    time = times.at(from + at) ?? timeIn(line) ?? time;
    at += line.length;
    const message = line.toString('utf8').replace(/\r?\n$/, '');
    if (message.trim() !== '') records.push({ time, service, log, message });
  }
  return { records, to: from + at };
}

/** With its end. Undefined: the end is still to come. */
function nextLine(bytes: Buffer, isLast: boolean): Buffer | undefined {
  const end = bytes.indexOf(10);
  if (end >= 0 && end < lineBytesMax) return bytes.subarray(0, end + 1);
  if (bytes.length > lineBytesMax) return bytes.subarray(0, wholeCharacters(bytes.subarray(0, lineBytesMax)));
  return isLast ? bytes : undefined;
}
