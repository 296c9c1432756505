/**
 * What it takes to answer the breakdown of a whole day, with its timeline: twenty million transactions of one environment beside as many of others. It is measured
 * against the same questions put to DuckDB itself, without anything of ours, and to ClickHouse, both in process and on the same data; and against what it takes to be exact.
 * METRICS_BENCH_MILLIONS says how many millions each are made (20). ClickHouse is brought by npm into a folder that is removed afterwards; METRICS_BENCH_CHDB names a
 * folder that has it already.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BreakdownQuestion } from '../server/drivers/metrics/breakdown.ts';
import { seriesColumns } from '../server/drivers/metrics/duckdb/tables.ts';
import { fileOfDay } from '../server/drivers/metrics/duckdb/partition.ts';
import { openStore, storeDefaults, type StoreOptions } from '../server/drivers/metrics/duckdb/store.ts';
import { isTooMuch } from '../server/drivers/metrics/metrics.ts';
import { day, makeDay, names, scope } from './harness/day-of-transactions.ts';
import { median } from './harness/platform.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const millions = Number(process.env['METRICS_BENCH_MILLIONS'] ?? 20);
const rounds = 3;
const folder = mkdtempSync(join(tmpdir(), 'offshoot-bench-metrics-'));

const from = day * 86_400;
const question: BreakdownQuestion = {
  ...scope,
  from,
  to: from + 86_400,
  grain: 300,
  dimension: 'wt',
  sort: 'impact',
  limit: 200,
  filters: { contexts: { values: ['web'], mode: 'additive' } },
};

async function measureStore(what: string, options: StoreOptions, asked: BreakdownQuestion): Promise<number> {
  const store = await openStore(options);
  const seconds: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const taken = await timed(async () => {
      const answer = await store.breakdown(asked);
      if (isTooMuch(answer) || answer.rows.length !== names) throw new Error('This is no answer.');
    });
    if (round > 0) seconds.push(taken);
  }
  await store.close();
  note({ what, measured: `${median(seconds).toFixed(3)} s` });
  return median(seconds);
}

/** By what a person would write in SQL, over one table with the names themselves. */
const plainQueries = (table: string, quantile: string, point: string, isError: string) => [
  `select "transaction", count(*), ${isError}, avg(wt), avg(pmu), avg(stdout), ${quantile} from ${table}
     where project = 'bench' and environment = 'main' and context = 'web' group by "transaction" order by sum(wt) desc limit 200`,
  `select ${point} as point, "transaction", count(*), sum(wt) from ${table}
     where project = 'bench' and environment = 'main' and context = 'web' group by point, "transaction"`,
];

async function measureQueries(what: string, run: (sql: string) => unknown, queries: readonly string[]): Promise<number> {
  const seconds: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const taken = await timed(async () => {
      for (const sql of queries) await run(sql);
    });
    if (round > 0) seconds.push(taken);
  }
  note({ what, measured: `${median(seconds).toFixed(3)} s` });
  return median(seconds);
}

const dimensionNames = seriesColumns.map(({ name }) => `series."${name}"`).join(', ');

async function plainTable(connection: DuckDBConnection) {
  const file = join(folder, 'plain.duckdb');
  await connection.run(`attach '${fileOfDay(folder, 'transactions', day)}' as store (read_only)`);
  await connection.run(`attach '${file}' as plain`);
  await connection.run(
    `create table plain.transactions as select known.project, known.environment, each.time, each.wt, each.pmu, each.stdout, ${dimensionNames}
       from store.records as each join store.environments as known on known.id = each.environment join store.series as series on series.id = each.series
       order by each.environment, each.time`,
  );
  await connection.run('checkpoint plain');
}

interface Chdb {
  Session: new (folder: string) => { query(sql: string, format: string): unknown; cleanup?(): void };
}

/** Undefined, with the reason, where it cannot be had. */
function bringChdb(): Chdb | undefined {
  const given = process.env['METRICS_BENCH_CHDB'];
  const place = given ?? join(folder, 'chdb');
  try {
    if (!given)
      execFileSync('npm', ['install', '--prefix', place, '--no-audit', '--no-fund', '--loglevel=error', 'chdb@3.4.0'], {
        stdio: 'inherit',
      });
    return createRequire(join(place, 'package.json'))('chdb') as Chdb;
  } catch (error) {
    note({ what: 'ClickHouse', measured: `could not be had: ${String(error)}` });
    return undefined;
  }
}

async function measureChdb(connection: DuckDBConnection): Promise<number | undefined> {
  const chdb = bringChdb();
  if (!chdb) return undefined;
  const parquet = join(folder, 'plain.parquet');
  await connection.run(`copy plain.transactions to '${parquet}' (format parquet)`);
  const session = new chdb.Session(join(folder, 'clickhouse'));
  const run = (sql: string) => session.query(sql, 'JSONCompact');
  run('create database bench');
  run(
    `create table bench.transactions engine = MergeTree order by (project, environment, time) as
       select * from file('${parquet}', Parquet) settings schema_inference_make_columns_nullable = 0`,
  );
  rmSync(parquet);
  const queries = plainQueries('bench.transactions', 'quantile(0.96)(wt)', 'intDiv(time, 300000)', 'countIf(status >= 500)');
  return measureQueries('ClickHouse in process (its approximate quantile)', run, queries);
}

const bytesOf = (pattern: string) => globSync(pattern, { cwd: folder }).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
const perMillion = (bytes: number, count: number) => `${(bytes / count / 1e6).toFixed(2)} MB a million`;

try {
  // Only the one environment is summed up: the others are there to be in the way.
  const bounds = { freeBytesMin: 0, memoryBytes: 4e9, recordsMax: 1e9, blockRecordsMin: (millions * 1e6) / 48 };
  const options: StoreOptions = { ...storeDefaults, folder, ...bounds };
  const { instance, connection } = await makeDay(options, millions);
  note({ what: 'records on the disk', measured: perMillion(bytesOf('transactions-*.duckdb'), 2 * millions) });

  const store = await openStore(options);
  await store.breakdown(question);
  const summedUp = await timed(() => store.tidy(Date.now() / 1000));
  await store.close();
  note({ what: 'to sum up the whole day of the environment', measured: `${summedUp.toFixed(1)} s` });
  note({ what: 'sums on the disk', measured: perMillion(bytesOf('rollups-*/*.block'), millions) });

  const fromSums = await measureStore('the whole day, from sums', { ...options, exactRecordsMax: 0 }, question);
  await measureStore('a day that begins and ends in the middle of an hour', options, { ...question, from: from + 1234, to: from + 85_000 });
  const exact = await measureStore('the whole day, exactly', { ...options, exactRecordsMax: 1e12 }, question);

  await plainTable(connection);
  const queries = plainQueries('plain.transactions', 'quantile_disc(wt, 0.96)', 'time // 300000', 'count(*) filter (status >= 500)');
  const bare = await measureQueries('DuckDB itself', (sql) => connection.run(sql), queries);
  const ratio = exact / bare;
  note({ what: 'exactly, against DuckDB itself', measured: `${ratio.toFixed(2)}x`, target: 'at most 1.3x', isMet: ratio <= 1.3 });
  const clickhouse = await measureChdb(connection);
  if (clickhouse !== undefined) {
    const faster = clickhouse / fromSums;
    note({ what: 'from sums, against ClickHouse', measured: `${faster.toFixed(1)}x faster`, target: 'at least 10x', isMet: faster >= 10 });
  }
  connection.closeSync();
  instance.closeSync();
  printTable();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// ClickHouse keeps threads of its own.
process.exit();
