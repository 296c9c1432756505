/** Answers what was asked about transactions, from blocks and records. */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  percentile,
  pointsOf,
  rankRows,
  sortRows,
  type Breakdown,
  type BreakdownQuestion,
  type BreakdownRow,
  type TimelinePoint,
  type TransactionSums,
} from '../breakdown.ts';
import { bucketCount, bucketSql, percentileIn } from '../histogram.ts';
import { isTooMuch, type TooMuch } from '../metrics.ts';
import type { Blocks } from './blocks.ts';
import { columnsOf, numbersIn, type Columns } from './database.ts';
import { matchSeries, type MatchingSeries } from './matching-series.ts';
import { daySeconds, type Partition } from './partition.ts';
import { decidePieces, tooLong, type Bounds, type Pieces } from './pieces.ts';
import { addBlock, addBlockToTimeline, emptySums, type Sums, type TimelineSums } from './sums.ts';

interface Asked {
  connection: DuckDBConnection;
  blocks: Blocks;
  pieces: Pieces;
  series: MatchingSeries;
}

export async function answerBreakdown(
  connection: DuckDBConnection,
  partitions: readonly Partition[],
  blocks: Blocks,
  question: BreakdownQuestion,
  bounds: Bounds,
): Promise<Breakdown | TooMuch> {
  const refusal = tooLong(question, question.grain, bounds);
  if (refusal) return refusal;
  const pieces = decidePieces(partitions, blocks, question, bounds);
  if (isTooMuch(pieces)) return pieces;
  const series = await matchSeries(connection, [...pieces.records, ...pieces.blocks], question.filters);
  const asked = { connection, blocks, pieces, series };
  const isExact = pieces.blocks.length === 0;
  const rows = rankRows(isExact ? await exactSums(asked) : await mergedSums(asked), question.dimension);
  const timeline = await timelineOf(asked, question, rows);
  return { rows: sortRows(rows, question.sort, question.limit), timeline, isExact };
}

/** Undefined where nothing has to be read from records. */
function recordsSql({ pieces, series }: Asked): string | undefined {
  const parts = pieces.records.flatMap(({ partition, environment, from, to }) =>
    ['records', 'recent'].map(
      (table) =>
        `select matching.name, matching.is_named, matching.is_error, each.time // 1000 + ${partition.day * daySeconds} as second,
           each.wt, each.pmu, each.stdout
         from "${partition.catalog}".${table} as each join ${series.in(partition).table} as matching using (series)
         where each.environment = ${environment} and each.time >= ${from} and each.time < ${to}`,
    ),
  );
  return parts.length === 0 ? undefined : `(${parts.join(' union all ')})`;
}

const sumsSql = `count(*)::double as requests, count(*) filter (not is_named)::double as unnamed, count(*) filter (is_error)::double as errors,
  sum(wt)::double as wt, sum(pmu)::double as pmu, sum(stdout)::double as stdout`;

async function exactSums(asked: Asked): Promise<TransactionSums[]> {
  const records = recordsSql(asked);
  if (!records) return [];
  const rows = await columnsOf(
    asked.connection,
    `select name, ${sumsSql}, quantile_disc(wt, ${percentile})::double as percentile from ${records} group by name`,
  );
  return numbersIn(rows, 'name').map((name, nth) => ({
    transaction: asked.series.names[name] ?? '',
    ...sumsAt(rows, nth),
    wtPercentile: numbersIn(rows, 'percentile')[nth] ?? 0,
  }));
}

function sumsAt(rows: Columns, nth: number) {
  const at = (column: string) => numbersIn(rows, column)[nth] ?? 0;
  return { requests: at('requests'), unnamed: at('unnamed'), errors: at('errors'), wt: at('wt'), pmu: at('pmu'), stdout: at('stdout') };
}

async function mergedSums(asked: Asked): Promise<TransactionSums[]> {
  const { blocks, pieces, series } = asked;
  const sums = emptySums(series.names.length);
  for (const piece of pieces.blocks) {
    const block = await blocks.read(piece.partition, piece.environment, piece.hour);
    if (block) addBlock(sums, block, piece, series.in(piece.partition));
  }
  await addRecords(sums, asked);
  return series.names.flatMap((transaction, name) => {
    const requests = sums.requests[name] ?? 0;
    if (requests === 0) return [];
    const histogram = sums.buckets.subarray(name * bucketCount, (name + 1) * bucketCount);
    const at = (column: keyof Sums) => sums[column][name] ?? 0;
    return {
      transaction,
      requests,
      unnamed: at('unnamed'),
      errors: at('errors'),
      wt: at('wt'),
      pmu: at('pmu'),
      stdout: at('stdout'),
      wtPercentile: percentileIn(histogram, requests),
    };
  });
}

async function addRecords(sums: Sums, asked: Asked) {
  const records = recordsSql(asked);
  if (!records) return;
  const rows = await columnsOf(
    asked.connection,
    `select name, ${bucketSql('wt')} as bucket, ${sumsSql} from ${records} group by name, bucket`,
  );
  const buckets = numbersIn(rows, 'bucket');
  for (const [nth, name] of numbersIn(rows, 'name').entries()) {
    const each = sumsAt(rows, nth);
    for (const column of ['requests', 'unnamed', 'errors', 'wt', 'pmu', 'stdout'] as const) sums[column][name]! += each[column];
    sums.buckets[name * bucketCount + (buckets[nth] ?? 0)]! += each.requests;
  }
}

async function timelineOf(asked: Asked, question: BreakdownQuestion, rows: readonly BreakdownRow[]): Promise<TimelinePoint[]> {
  const points = pointsOf(question);
  const tops = rows.filter(({ top_hit }) => top_hit).map(({ transaction }) => transaction);
  const places = new Map(tops.map((name, place) => [name, place]));
  const sums: TimelineSums = {
    first: points[0] ?? 0,
    grain: question.grain,
    topOf: Int32Array.from(asked.series.names, (name) => places.get(name) ?? -1),
    tops: tops.length,
    count: new Float64Array(points.length),
    consumed: new Float64Array(points.length),
    topCount: new Float64Array(points.length * tops.length),
    topConsumed: new Float64Array(points.length * tops.length),
  };
  for (const piece of asked.pieces.blocks) {
    const block = await asked.blocks.read(piece.partition, piece.environment, piece.hour);
    if (block) addBlockToTimeline(sums, block, piece, asked.series.in(piece.partition).nameOf, question.dimension);
  }
  await addRecordsToTimeline(sums, asked, question);
  return points.map((timestamp, point) => pointAt(sums, tops, timestamp, point));
}

async function addRecordsToTimeline(sums: TimelineSums, asked: Asked, { dimension, grain }: BreakdownQuestion) {
  const records = recordsSql(asked);
  if (!records) return;
  const tops = [...sums.topOf.entries()].filter(([, place]) => place >= 0);
  const place = tops.length === 0 ? '-1' : `case name ${tops.map(([name, top]) => `when ${name} then ${top}`).join(' ')} else -1 end`;
  const rows = await columnsOf(
    asked.connection,
    `select ((second - ${sums.first}) // ${grain})::integer as point, ${place} as top, count(*)::double as count, sum(${dimension})::double as consumed
       from ${records} group by point, top`,
  );
  const [places, count, consumed] = [numbersIn(rows, 'top'), numbersIn(rows, 'count'), numbersIn(rows, 'consumed')];
  for (const [nth, point] of numbersIn(rows, 'point').entries()) {
    sums.count[point]! += count[nth] ?? 0;
    sums.consumed[point]! += consumed[nth] ?? 0;
    const top = places[nth] ?? -1;
    if (top < 0) continue;
    sums.topCount[point * sums.tops + top]! += count[nth] ?? 0;
    sums.topConsumed[point * sums.tops + top]! += consumed[nth] ?? 0;
  }
}

function pointAt(sums: TimelineSums, tops: readonly string[], timestamp: number, point: number): TimelinePoint {
  const total = sums.count[point] ?? 0;
  if (total === 0) return { timestamp };
  const transactions = tops.flatMap((name, place) => {
    const count = sums.topCount[point * sums.tops + place] ?? 0;
    const average = (sums.topConsumed[point * sums.tops + place] ?? 0) / count;
    return count === 0 ? [] : ([[name, { average, count }]] as const);
  });
  return {
    timestamp,
    _total_consumed: sums.consumed[point] ?? 0,
    _total_count: total,
    _transactions: Object.fromEntries(transactions),
  };
}
