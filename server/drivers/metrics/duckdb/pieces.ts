/**
 * From where a question is answered, decided before anything is read: from blocks where hours have one, from the records themselves elsewhere. Where there are few records, only from
 * those, and the answer is exact.
 */
import type { BreakdownQuestion, TimeRange } from '../breakdown.ts';
import type { Scope, TooMuch } from '../metrics.ts';
import { minutesInPart } from './block.ts';
import type { Blocks } from './blocks.ts';
import { daySeconds, hourSeconds, type Partition } from './partition.ts';

export interface Bounds {
  /** What one question may span. */
  secondsMax: number;
  pointsMax: number;
  /** What may be read for one question, as records; so many bytes of a block count as one. */
  recordsMax: number;
  /** Up to here everything is read from the records themselves. */
  exactRecordsMax: number;
}

const blockBytesPerRecord = 16;

/** A part of a block: minutes of the hour. */
export interface BlockPiece {
  partition: Partition;
  environment: number;
  hour: number;
  fromMinute: number;
  toMinute: number;
}

/** Milliseconds of the day. */
export interface RecordPiece {
  partition: Partition;
  environment: number;
  from: number;
  to: number;
}

export interface Pieces {
  blocks: BlockPiece[];
  records: RecordPiece[];
}

/** Undefined: no more than is allowed. */
export function tooLong({ from, to }: TimeRange, grain: number, { secondsMax, pointsMax }: Bounds): TooMuch | undefined {
  if (to - from > secondsMax) return { tooMuch: { what: 'seconds', asked: to - from, most: secondsMax } };
  const points = Math.ceil((to - from) / grain);
  return points > pointsMax ? { tooMuch: { what: 'points', asked: points, most: pointsMax } } : undefined;
}

/** The parts of a range in the days that it touches, for those partitions in which the environment has anything. */
export function recordPieces(partitions: readonly Partition[], scope: Scope, { from, to }: TimeRange): RecordPiece[] {
  return partitions.flatMap((partition) => {
    const environment = partition.environmentId(scope);
    const start = partition.day * daySeconds;
    const piece = { from: Math.max(0, from - start) * 1000, to: Math.min(daySeconds, to - start) * 1000 };
    return environment === undefined || piece.to <= piece.from ? [] : [{ partition, environment, ...piece }];
  });
}

/** No fewer than there are: of an hour that is touched, all. */
export const recordsIn = (pieces: readonly RecordPiece[]) =>
  pieces.reduce((sum, { partition, environment, from, to }) => {
    const hours = hoursOf(from, to).map(({ hour }) => partition.recordsIn(environment, hour));
    return sum + hours.reduce((total, each) => total + each, 0);
  }, 0);

const hourMilliseconds = hourSeconds * 1000;

const hoursOf = (from: number, to: number) => {
  const first = Math.floor(from / hourMilliseconds);
  return Array.from({ length: Math.ceil(to / hourMilliseconds) - first }, (_, nth) => {
    const hour = first + nth;
    return { hour, from: Math.max(from, hour * hourMilliseconds), to: Math.min(to, (hour + 1) * hourMilliseconds) };
  });
};

/** For questions that are answered from records alone. */
export function allRecords(partitions: readonly Partition[], scope: Scope, range: TimeRange, bounds: Bounds): RecordPiece[] | TooMuch {
  const seconds = range.to - range.from;
  if (seconds > bounds.secondsMax) return { tooMuch: { what: 'seconds', asked: seconds, most: bounds.secondsMax } };
  const pieces = recordPieces(partitions, scope, range);
  const asked = recordsIn(pieces);
  return asked > bounds.recordsMax ? { tooMuch: { what: 'records', asked, most: bounds.recordsMax } } : pieces;
}

export function decidePieces(
  partitions: readonly Partition[],
  blocks: Blocks,
  question: BreakdownQuestion,
  bounds: Bounds,
): Pieces | TooMuch {
  const all = recordPieces(partitions, question, question);
  const records = recordsIn(all);
  const isExact = records <= bounds.exactRecordsMax || question.grain % 60 !== 0;
  const pieces = isExact ? { blocks: [], records: all } : withBlocks(all, blocks);
  const asked = isExact ? records : costOf(pieces, blocks);
  return asked > bounds.recordsMax ? { tooMuch: { what: 'records', asked, most: bounds.recordsMax } } : pieces;
}

function costOf({ blocks: found, records }: Pieces, blocks: Blocks): number {
  const bytes = found.reduce(
    (sum, { partition, environment, hour }) => sum + (blocks.current(partition, environment, hour)?.bytes ?? 0),
    0,
  );
  return recordsIn(records) + Math.ceil(bytes / blockBytesPerRecord);
}

const partMilliseconds = minutesInPart * 60_000;

function withBlocks(all: readonly RecordPiece[], blocks: Blocks): Pieces {
  const pieces: Pieces = { blocks: [], records: [] };
  for (const { partition, environment, from, to } of all)
    for (const piece of hoursOf(from, to)) {
      if (partition.recordsIn(environment, piece.hour) === 0) continue;
      const inner = {
        from: Math.ceil(piece.from / partMilliseconds) * partMilliseconds,
        to: Math.floor(piece.to / partMilliseconds) * partMilliseconds,
      };
      if (inner.from >= inner.to || !blocks.current(partition, environment, piece.hour))
        addRecords(pieces, { partition, environment, from: piece.from, to: piece.to });
      else {
        const minuteOf = (time: number) => time / 60_000 - piece.hour * 60;
        pieces.blocks.push({ partition, environment, hour: piece.hour, fromMinute: minuteOf(inner.from), toMinute: minuteOf(inner.to) });
        addRecords(pieces, { partition, environment, from: piece.from, to: inner.from });
        addRecords(pieces, { partition, environment, from: inner.to, to: piece.to });
      }
    }
  return pieces;
}

/** Pieces that meet are read as one. */
function addRecords(pieces: Pieces, piece: RecordPiece) {
  if (piece.from >= piece.to) return;
  const last = pieces.records.at(-1);
  if (last?.partition === piece.partition && last.to === piece.from) last.to = piece.to;
  else pieces.records.push(piece);
}
