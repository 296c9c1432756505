/** Sums by transaction, and by transaction and point of the timeline, over a part of an answer. Sums of several parts are added up. */
import type { Dimension } from '../breakdown.ts';
import { bucketCount } from '../histogram.ts';
import { minutesInPart, partsInHour, type Block } from './block.ts';
import type { SeriesOfPartition } from './matching-series.ts';
import type { BlockPiece } from './pieces.ts';
import { daySeconds, hourSeconds } from './partition.ts';

/** By the number of the transaction. */
export interface Sums {
  requests: Float64Array;
  unnamed: Float64Array;
  errors: Float64Array;
  wt: Float64Array;
  pmu: Float64Array;
  stdout: Float64Array;
  /** Histograms of wall times, one after the other. */
  buckets: Float64Array;
}

export const emptySums = (names: number): Sums => ({
  requests: new Float64Array(names),
  unnamed: new Float64Array(names),
  errors: new Float64Array(names),
  wt: new Float64Array(names),
  pmu: new Float64Array(names),
  stdout: new Float64Array(names),
  buckets: new Float64Array(names * bucketCount),
});

const cellsBefore = (block: Block, nth: number) => (nth === 0 ? 0 : (block.cellEnds[nth - 1] ?? 0));

export function addBlock(sums: Sums, block: Block, piece: BlockPiece, { nameOf, isNamed, isError }: SeriesOfPartition) {
  const { minute, count, wt, pmu, stdout } = block;
  for (let nth = 0; nth < block.series.length; nth += 1) {
    const series = block.series[nth] ?? 0;
    const name = nameOf[series] ?? -1;
    if (name < 0) continue;
    let requests = 0;
    let [sumOfWt, sumOfPmu, sumOfStdout] = [0, 0, 0];
    for (let cell = cellsBefore(block, nth), end = block.cellEnds[nth] ?? 0; cell < end; cell += 1) {
      if (minute[cell]! < piece.fromMinute || minute[cell]! >= piece.toMinute) continue;
      requests += count[cell]!;
      sumOfWt += wt[cell]!;
      sumOfPmu += pmu[cell]!;
      sumOfStdout += stdout[cell]!;
    }
    sums.requests[name]! += requests;
    sums.wt[name]! += sumOfWt;
    sums.pmu[name]! += sumOfPmu;
    sums.stdout[name]! += sumOfStdout;
    if (isNamed[series] === 0) sums.unnamed[name]! += requests;
    if (isError[series] === 1) sums.errors[name]! += requests;
  }
  addBuckets(sums, block, piece, nameOf);
}

/** Pieces of blocks begin and end where histograms do. */
function addBuckets({ buckets }: Sums, block: Block, { fromMinute, toMinute }: BlockPiece, nameOf: Int32Array) {
  const { series, bucketEnds, bucket, bucketCount: counts } = block;
  for (let part = fromMinute / minutesInPart; part < Math.min(partsInHour, toMinute / minutesInPart); part += 1)
    for (let nth = 0; nth < series.length; nth += 1) {
      const name = nameOf[series[nth] ?? 0] ?? -1;
      if (name < 0) continue;
      const at = part * series.length + nth;
      const first = name * bucketCount;
      for (let row = at === 0 ? 0 : bucketEnds[at - 1]!, end = bucketEnds[at]!; row < end; row += 1)
        buckets[first + bucket[row]!]! += counts[row]!;
    }
}

/** For each point: all requests, and those of each top hit. */
export interface TimelineSums {
  /** Unix seconds. */
  first: number;
  grain: number;
  /** By the number of the transaction: its place among the top hits, or -1. */
  topOf: Int32Array;
  tops: number;
  count: Float64Array;
  consumed: Float64Array;
  /** Of top hits: points times `tops`. */
  topCount: Float64Array;
  topConsumed: Float64Array;
}

export function addBlockToTimeline(sums: TimelineSums, block: Block, piece: BlockPiece, nameOf: Int32Array, dimension: Dimension) {
  const { minute, count } = block;
  const consumed = block[dimension];
  const pointOf = pointsOfMinutes(sums, piece);
  for (let nth = 0; nth < block.series.length; nth += 1) {
    const name = nameOf[block.series[nth] ?? 0] ?? -1;
    if (name < 0) continue;
    const top = sums.topOf[name] ?? -1;
    for (let cell = cellsBefore(block, nth), end = block.cellEnds[nth] ?? 0; cell < end; cell += 1) {
      const point = pointOf[minute[cell]!]!;
      if (point < 0) continue;
      sums.count[point]! += count[cell]!;
      sums.consumed[point]! += consumed[cell]!;
      if (top < 0) continue;
      sums.topCount[point * sums.tops + top]! += count[cell]!;
      sums.topConsumed[point * sums.tops + top]! += consumed[cell]!;
    }
  }
}

/** -1: the minute is no part of the piece. */
function pointsOfMinutes({ first, grain }: TimelineSums, { partition, hour, fromMinute, toMinute }: BlockPiece): Int32Array {
  const start = partition.day * daySeconds + hour * hourSeconds;
  return Int32Array.from({ length: 60 }, (_, minute) =>
    minute < fromMinute || minute >= toMinute ? -1 : Math.floor((start + minute * 60 - first) / grain),
  );
}
