/** The store itself, as the process of its own runs it: days that are written to and read, what is summed up of them, and what is too old. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { mkdirSync, statfsSync } from 'node:fs';
import { limit } from '../../../kernel/limits.ts';
import type { TimeRange } from '../breakdown.ts';
import type { Kind, Metrics } from '../metrics.ts';
import { answerBreakdown } from './answer-breakdown.ts';
import { answerFacets } from './answer-facets.ts';
import { answerResources } from './answer-resources.ts';
import { answerSpans } from './answer-spans.ts';
import { answerTraffic } from './answer-traffic.ts';
import { answerUsage, usageKinds } from './answer-usage.ts';
import { openBlocks } from './blocks.ts';
import { openDatabase, type DatabaseBounds } from './database.ts';
import { openDays, type Days } from './days.ts';
import { daySeconds, type Batch, type Partition } from './partition.ts';
import type { Bounds } from './pieces.ts';
import { tidyStore } from './tidy.ts';

export interface StoreOptions extends Bounds, DatabaseBounds {
  folder: string;
  /** How many days are kept, by kind. */
  keptDays: Record<Kind, number>;
  /** Nothing is stored where less of the disk is free. */
  freeBytesMin: number;
  /** So many records that have arrived are put in order together. */
  runRecords: number;
  /** An hour with fewer is read as it is. */
  blockRecordsMin: number;
  questionMilliseconds: number;
}

const gigabyte = 1e9;

export const storeDefaults: Omit<StoreOptions, 'folder'> = {
  memoryBytes: gigabyte,
  threads: 2,
  spillBytes: 4 * gigabyte,
  keptDays: { transactions: 56, spans: 14, requests: 30, samples: 30, mounts: 30 },
  freeBytesMin: gigabyte,
  runRecords: 1_000_000,
  blockRecordsMin: 10_000,
  questionMilliseconds: 30_000,
  secondsMax: 14 * daySeconds,
  pointsMax: 20_000,
  recordsMax: 50_000_000,
  exactRecordsMax: 1_000_000,
};

/** Clocks of apps may be ahead by so much. */
const aheadSeconds = 3600;
const questionsAtOnce = 2;

/** The disk has no room; what was not stored can be handed in again. */
export class NoRoom extends Error {}

type Questions = Pick<Metrics, 'breakdown' | 'topSpans' | 'traffic' | 'facets' | 'resources' | 'usage'>;

export interface Store extends Questions {
  /** Throws NoRoom, and stores none of it, where the disk is full. What is too old, or ahead of time, is left out: answers how many were stored. */
  append(batch: Batch): Promise<number>;
  /** Puts in order, sums up and removes what is due. */
  tidy(now: number): Promise<void>;
  close(): Promise<void>;
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const { folder } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = await openDatabase(folder, options);
  const days = openDays(database.writer, folder);
  const blocks = openBlocks(folder);
  /** Whoever writes to the database takes turns: a transaction belongs to the connection. */
  const writing = limit(1);
  const asking = limit(questionsAtOnce);

  const answering = <T>(
    wanted: readonly Kind[],
    range: TimeRange,
    work: (connection: DuckDBConnection, found: Partition[]) => Promise<T>,
  ) =>
    asking(async () => {
      const found = await writing(async () => (await Promise.all(wanted.map((kind) => days.within(kind, range)))).flat());
      return database.reading(options.questionMilliseconds, (connection) => work(connection, found));
    });
  const ofKind = (found: readonly Partition[], kind: Kind) => found.filter((partition) => partition.kind === kind);

  return {
    append: (batch) => writing(() => appendByDay(days, options, batch)),
    breakdown: (question) =>
      answering(['transactions'], question, (connection, found) => answerBreakdown(connection, found, blocks, question, options)),
    topSpans: (question) => answering(['spans'], question, (connection, found) => answerSpans(connection, found, question, options)),
    traffic: (question) => answering(['requests'], question, (connection, found) => answerTraffic(connection, found, question, options)),
    facets: (question) => answering([question.of], question, (connection, found) => answerFacets(connection, found, question, options)),
    resources: (question) =>
      answering(['samples', 'mounts'], question, (connection, found) =>
        answerResources(connection, { samples: ofKind(found, 'samples'), mounts: ofKind(found, 'mounts') }, question, options),
      ),
    usage: (question) => answering(usageKinds, question, (connection, found) => answerUsage(connection, found, question)),
    tidy: (now) => tidyStore({ days, blocks, writer: database.writer, writing, options }, now),
    close: () =>
      writing(async () => {
        await days.close();
        database.close();
      }),
  };
}

async function appendByDay(days: Days, options: StoreOptions, batch: Batch): Promise<number> {
  const now = Date.now() / 1000;
  const oldest = (Math.floor(now / daySeconds) - options.keptDays[batch.kind] + 1) * daySeconds * 1000;
  const newest = (now + aheadSeconds) * 1000;
  const accepted = batch.records.filter(({ time }) => time >= oldest && time < newest);
  const { bavail, bsize } = statfsSync(options.folder);
  if (bavail * bsize < options.freeBytesMin) throw new NoRoom('Too little of the disk is free.');
  for (const [day, records] of Map.groupBy(accepted, ({ time }) => Math.floor(time / (daySeconds * 1000))))
    await (await days.open(batch.kind, day)).append({ ...batch, records });
  return accepted.length;
}
