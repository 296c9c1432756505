/** Histograms with borders that grow by the same factor: they can be added up, and a percentile taken from one is off by no more than `percentileError`. */
import { percentile, percentileError } from './breakdown.ts';

/** (growth - 1) / (growth + 1) is the error of the value in the middle of a bucket. */
export const bucketGrowth = (1 + percentileError) / (1 - percentileError);

/** Enough for every number that is exact in JavaScript. Bucket 0 is for 0. */
export const bucketCount = 2 + Math.ceil(Math.log(Number.MAX_SAFE_INTEGER) / Math.log(bucketGrowth));

/** In SQL: the bucket of a whole number. */
export const bucketSql = (value: string) =>
  `case when ${value} <= 0 then 0 else 1 + ceil(ln(${value}) / ${Math.log(bucketGrowth)})::integer end`;

/** What stands for all values of a bucket. */
const valueOf = (bucket: number) => (bucket === 0 ? 0 : (2 * bucketGrowth ** (bucket - 1)) / (bucketGrowth + 1));

/** Which one, of so many values in order, the percentile is: the first that no smaller share of all reaches. */
export const percentileRank = (count: number) => Math.max(1, Math.ceil(percentile * count - 1e-9));

export function percentileIn(histogram: ArrayLike<number>, count: number): number {
  const rank = percentileRank(count);
  let below = 0;
  for (let bucket = 0; bucket < histogram.length; bucket += 1) {
    below += histogram[bucket] ?? 0;
    if (below >= rank) return valueOf(bucket);
  }
  return 0;
}
