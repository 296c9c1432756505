/**
 * The records of one kind and one day, in a file of its own: what is too old is removed by removing the file. A batch is stored once, however often it is handed in, since which batches have
 * been received is stored with them. How many records each hour has is known without reading any.
 */
import { INTEGER, VARCHAR, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { join } from 'node:path';
import type { Kind, Records, Scope, TransactionRecord } from '../metrics.ts';
import { appendColumns, columnsOf, inTransaction, numbersIn, textsIn } from './database.ts';
import { hasSeries, kindColumns, recordTypes, seriesColumns, seriesTypes, tablesOf } from './tables.ts';

export const daySeconds = 86_400;
export const hourSeconds = 3600;

export const isoDay = (day: number) => new Date(day * daySeconds * 1000).toISOString().slice(0, 10);
export const fileOfDay = (folder: string, kind: Kind, day: number) => join(folder, `${kind}-${isoDay(day)}.duckdb`);
/** Where what is summed up of a day lies. */
export const blocksOfDay = (folder: string, day: number) => join(folder, `rollups-${isoDay(day)}`);

export interface Batch<K extends Kind = Kind> {
  writer: string;
  /** Grows with each batch of the writer. */
  sequence: number;
  kind: K;
  records: readonly Records[K][];
}

/** Of the series that one environment may have in a day. What comes beyond counts as one transaction without a name. */
const seriesMax = 100_000;

export interface Partition {
  kind: Kind;
  day: number;
  /** What SQL calls it. */
  catalog: string;
  environmentId(scope: Scope): number | undefined;
  /** How many records an environment has in an hour of the day, 0 to 23. */
  recordsIn(environment: number, hour: number): number;
  /** Environments and hours that have records. */
  hours(): { environment: number; hour: number; records: number }[];
  /** Records that are not in order yet. */
  recent: number;
  append(batch: Batch): Promise<void>;
  /** Puts what has arrived in order. */
  order(): Promise<void>;
}

interface Known {
  environments: Map<string, number>;
  series: Map<string, number>;
  seriesOf: Map<number, number>;
  hours: Map<number, number>;
  received: Map<string, number>;
  recent: number;
}

const hourKey = (environment: number, hour: number) => environment * 24 + hour;
const scopeKey = ({ project, environment }: Scope) => `${project}/${environment}`;

export async function openPartition(connection: DuckDBConnection, folder: string, kind: Kind, day: number): Promise<Partition> {
  const catalog = `${kind}_${isoDay(day)}`;
  const file = fileOfDay(folder, kind, day).replaceAll("'", "''");
  await connection.run(`attach if not exists '${file}' as "${catalog}"`);
  for (const statement of tablesOf(kind, catalog)) await connection.run(statement);
  let known = await readKnown(connection, catalog, kind);
  const partition: Partition = {
    kind,
    day,
    catalog,
    environmentId: (scope) => known.environments.get(scopeKey(scope)),
    recordsIn: (environment, hour) => known.hours.get(hourKey(environment, hour)) ?? 0,
    hours: () => [...known.hours].map(([key, records]) => ({ environment: Math.floor(key / 24), hour: key % 24, records })),
    get recent() {
      return known.recent;
    },
    async append(batch) {
      if (batch.sequence <= (known.received.get(batch.writer) ?? 0)) return;
      try {
        await store(connection, partition, known, batch);
      } catch (error) {
        // What was noted for records that are not stored must not be referred to.
        known = await readKnown(connection, catalog, kind);
        throw error;
      }
    },
    async order() {
      await inTransaction(connection, async () => {
        await connection.run(`insert into "${catalog}".records select * from "${catalog}".recent order by environment, time`);
        await connection.run(`delete from "${catalog}".recent`);
      });
      known.recent = 0;
      await connection.run(`checkpoint "${catalog}"`);
    },
  };
  return partition;
}

async function readKnown(connection: DuckDBConnection, catalog: string, kind: Kind): Promise<Known> {
  const environments = await columnsOf(connection, `select id, project || '/' || environment as key from "${catalog}".environments`);
  const hours = await columnsOf(
    connection,
    `select environment * 24 + hour as key, sum(records)::double as records from "${catalog}".hours group by key`,
  );
  const received = await columnsOf(
    connection,
    `select writer, max(sequence)::double as sequence from "${catalog}".received group by writer`,
  );
  const recent = await columnsOf(connection, `select count(*)::double as records from "${catalog}".recent`);
  return {
    environments: mapOf(textsIn(environments, 'key'), numbersIn(environments, 'id')),
    ...(await readSeries(connection, catalog, kind)),
    hours: mapOf(numbersIn(hours, 'key'), numbersIn(hours, 'records')),
    received: mapOf(textsIn(received, 'writer'), numbersIn(received, 'sequence')),
    recent: numbersIn(recent, 'records')[0] ?? 0,
  };
}

const mapOf = <K>(keys: readonly K[], values: readonly number[]) => new Map(keys.map((key, nth) => [key, values[nth] ?? 0]));

/** The same in SQL and here, whatever the values contain. */
const seriesKey = (environment: number, values: readonly DuckDBValue[]) => JSON.stringify([environment, ...values]);

async function readSeries(connection: DuckDBConnection, catalog: string, kind: Kind): Promise<Pick<Known, 'series' | 'seriesOf'>> {
  const [series, seriesOf] = [new Map<string, number>(), new Map<number, number>()];
  if (!hasSeries(kind)) return { series, seriesOf };
  for (const [id, environment, ...values] of await (await connection.run(`select * from "${catalog}".series`)).getRows()) {
    series.set(seriesKey(Number(environment), values), Number(id));
    seriesOf.set(Number(environment), (seriesOf.get(Number(environment)) ?? 0) + 1);
  }
  return { series, seriesOf };
}

interface News {
  environments: DuckDBValue[][];
  series: DuckDBValue[][];
  hours: Map<number, number>;
}

async function store(connection: DuckDBConnection, { kind, day, catalog }: Partition, known: Known, { writer, sequence, records }: Batch) {
  const news: News = { environments: [], series: [], hours: new Map() };
  const rows = records.map((record) => keysOf(record, { kind, day, known, news }));
  const keys = (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? 0));
  const columns = kindColumns[kind] as readonly { of(record: Records[Kind]): DuckDBValue }[];
  const values = columns.map(({ of }) => records.map(of));
  const hours = [...news.hours];
  const byColumn = (list: DuckDBValue[][], width: number) => Array.from({ length: width }, (_, nth) => list.map((row) => row[nth] ?? null));
  await inTransaction(connection, async () => {
    const add = (table: string, types: Parameters<typeof appendColumns>[1]['types'], list: DuckDBValue[][]) =>
      appendColumns(connection, { catalog, table, types }, list);
    await add('environments', [INTEGER, VARCHAR, VARCHAR], byColumn(news.environments, 3));
    await add('series', seriesTypes, byColumn(news.series, seriesTypes.length));
    await add('recent', recordTypes(kind), [...keys, ...values]);
    const counted = hours.map(([key, count]) => [Math.floor(key / 24), key % 24, count]);
    await add('hours', [INTEGER, INTEGER, INTEGER], byColumn(counted, 3));
    await connection.run(`insert into "${catalog}".received values ($1, $2)`, [writer, BigInt(sequence)]);
  });
  for (const [key, count] of hours) known.hours.set(key, (known.hours.get(key) ?? 0) + count);
  known.received.set(writer, sequence);
  known.recent += records.length;
}

interface Noting {
  kind: Kind;
  day: number;
  known: Known;
  news: News;
}

/** The numbers that a record refers to others by; what is new among them is noted. */
function keysOf(record: Records[Kind], { kind, day, known, news }: Noting): number[] {
  let environment = known.environments.get(scopeKey(record));
  if (environment === undefined) {
    environment = known.environments.size + 1;
    known.environments.set(scopeKey(record), environment);
    news.environments.push([environment, record.project, record.environment]);
  }
  const time = Math.floor(record.time - day * daySeconds * 1000);
  const hour = hourKey(environment, Math.floor(time / (hourSeconds * 1000)));
  news.hours.set(hour, (news.hours.get(hour) ?? 0) + 1);
  return hasSeries(kind) ? [environment, time, seriesOf(record as TransactionRecord, environment, known, news)] : [environment, time];
}

function seriesOf(record: TransactionRecord, environment: number, known: Known, news: News): number {
  const count = known.seriesOf.get(environment) ?? 0;
  const values = seriesColumns.map(({ of }) => of(record));
  const key = seriesKey(environment, values);
  const existing = known.series.get(key);
  if (existing !== undefined) return existing;
  if (count >= seriesMax && record.host !== manyOthers) return seriesOf(withoutNames(record), environment, known, news);
  const id = known.series.size + 1;
  known.series.set(key, id);
  known.seriesOf.set(environment, count + 1);
  news.series.push([id, environment, ...values]);
  return id;
}

const manyOthers = 'others';

/** What few programs have many of is left out; what remains has few values. */
const withoutNames = (record: TransactionRecord): TransactionRecord => ({
  ...record,
  transaction: undefined,
  httpHost: manyOthers,
  host: manyOthers,
  framework: '',
  language: '',
  runtime: '',
  os: '',
  method: '',
  status: Math.floor(record.status / 100) * 100,
});
