/** A day of transactions as the store would have written it, made inside DuckDB: of one environment, beside as many of others. */
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { fileOfDay } from '../../server/drivers/metrics/duckdb/partition.ts';
import { openStore, type StoreOptions } from '../../server/drivers/metrics/duckdb/store.ts';
import type { TransactionRecord } from '../../server/drivers/metrics/metrics.ts';

/** The day before yesterday, which nobody adds to any more. */
export const day = Math.floor(Date.now() / 86_400_000) - 2;
export const names = 200;
export const scope = { project: 'bench', environment: 'main' };
const series = names * 5;
const otherEnvironments = 50;

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
async function generate(connection: DuckDBConnection, folder: string, millions: number) {
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
export async function makeDay(options: StoreOptions, millions: number) {
  const { folder } = options;
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
  await generate(connection, folder, millions);
  return { instance, connection };
}
