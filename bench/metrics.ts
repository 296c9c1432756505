/**
 * What it takes to answer the breakdown of a whole day, with its timeline: twenty million transactions of one environment beside as many of others. It is measured
 * against the same questions put to DuckDB itself, without anything of ours, and to ClickHouse, both in process and on the same data; and against what it takes to be exact.
 * METRICS_BENCH_MILLIONS says how many millions each are made (20). ClickHouse is brought by npm into a folder that is removed afterwards; METRICS_BENCH_CHDB names a
 * folder that has it already.
 */
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BreakdownQuestion } from '../server/drivers/metrics/breakdown.ts';
import { seriesColumns } from '../server/drivers/metrics/duckdb/tables.ts';
import { fileOfDay } from '../server/drivers/metrics/duckdb/partition.ts';
import { openStore, storeDefaults, type StoreOptions } from '../server/drivers/metrics/duckdb/store.ts';
import { isTooMuch, type TransactionRecord } from '../server/drivers/metrics/metrics.ts';

import { median } from './harness/platform.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const millions = Number(process.env['METRICS_BENCH_MILLIONS'] ?? 20);
const rounds = 3;
const day = Math.floor(Date.now() / 86_400_000) - 2;
const names = 200;
const series = names * 5;
const otherEnvironments = 50;
const folder = mkdtempSync(join(tmpdir(), 'offshoot-bench-metrics-'));
const scope = { project: 'bench', environment: 'main' };

/** Five kinds of each transaction, as they come: most quick, some slow, some failed, some from another instance. */
function recordOf(nth: number): TransactionRecord {
  const [name, kind] = [nth % names, Math.floor(nth / names)];
  return {
    ...scope,
    time: day * 86_400_000,
    context: 'web',
    transaction: `/page/${name}`,
    application: 'app',
    instance: `app.${kind % 2}`,
    status: kind === 4 ? 500 : 200,
    httpHost: 'example.org',
    host: `app.${kind % 2}`,
    framework: 'symfony',
    language: 'php',
    method: 'get',
    runtime: 'PHP 8.4',
    os: 'Linux',
    wallTime: [10_000, 70_000, 150_000, 20_000, 300_000][kind] ?? 0,
    peakMemory: 4 * 2 ** 20,
    output: 1000,
  };
}

/** A time that fits the slot of its series, so that what is generated is what would have been appended. */
const wallTime = `case series // ${names} when 0 then 2000 + hash(i) % 48000 when 1 then 50000 + hash(i) % 50000 when 2 then 100000 + hash(i) % 100000
  when 3 then 2000 + hash(i) % 48000 else 200000 + hash(i) % 200000 end`;

/** The file of a day as the store would have written it, made inside DuckDB, and the same as one plain table. */
async function generate(connection: DuckDBConnection) {
  const rows = millions * 1e6;
  await connection.run(`attach '${fileOfDay(folder, 'transactions', day)}' as store`);
  await connection.run(
    `create temp table made as select case when i % 2 = 0 then 1 else 2 + (i // 2) % ${otherEnvironments} end::integer as environment,
       ((i * 86400000) // ${2 * rows})::integer as time, series::integer + 1 as series, (${wallTime})::bigint as wt,
       (1000000 + hash(i + 1) % 7000000)::bigint as pmu, (hash(i + 2) % 100000)::bigint as stdout
     from (select i, hash(i // 2) % ${series} as series from range(${2 * rows}) each(i))`,
  );
  // In runs, as they come.
  for (let hour = 0; hour < 24; hour += 1)
    await connection.run(
      `insert into store.records select environment, time, series, wt, pmu, stdout from made
         where time >= ${hour * 3_600_000} and time < ${(hour + 1) * 3_600_000} order by environment, time`,
    );
  await connection.run(`insert into store.hours select environment, time // 3600000, count(*)::integer from made group by all`);
  await connection.run('drop table made');
  await connection.run('detach store');
}

/** What one record of each series leaves behind is what the generated ones refer to. */
async function prepare(options: StoreOptions) {
  const store = await openStore({ ...options, keptDays: { ...options.keptDays, transactions: 1000 } });
  await store.append({
    writer: 'bench',
    sequence: 1,
    kind: 'transactions',
    records: Array.from({ length: series }, (_, nth) => recordOf(nth)),
  });
  for (let other = 0; other < otherEnvironments; other += 1)
    await store.append({
      writer: 'bench',
      sequence: 2 + other,
      kind: 'transactions',
      records: [{ ...recordOf(0), environment: `other-${other}` }],
    });
  await store.close();
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run(`attach '${fileOfDay(folder, 'transactions', day)}' as store`);
  for (const table of ['recent', 'hours']) await connection.run(`delete from store.${table}`);
  await connection.run('detach store');
  await generate(connection);
  return { instance, connection };
}

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
  const { instance, connection } = await prepare(options);
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
