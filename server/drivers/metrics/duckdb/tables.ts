/**
 * How records of each kind lie in the file of a day. Whatever a transaction can be filtered by makes up its series, which is stored once and referred to by number: a filter is decided on
 * the few series of an environment, and what is read of each request is a few small numbers.
 */
import { BIGINT, BOOLEAN, DOUBLE, INTEGER, SMALLINT, VARCHAR, type DuckDBType, type DuckDBValue } from '@duckdb/node-api';
import { unnamedTransaction, type FilterName } from '../breakdown.ts';
import type { Kind, Records, SpanRecord, TransactionRecord } from '../metrics.ts';
import { textMax } from '../outgoing.ts';
import { peakMemorySlots, slotOf, wallTimeSlots } from '../slots.ts';

export interface Column<R> {
  name: string;
  type: DuckDBType;
  of(record: R): DuckDBValue;
}

/** What is told from outside is a number, or nothing at all. */
const whole = (value: number) => BigInt(Math.max(0, Math.round(Number.isFinite(value) ? value : 0)));
const text = <R>(name: string, of: (record: R) => string): Column<R> => ({
  name,
  type: VARCHAR,
  of: (record) => of(record).slice(0, textMax),
});
const integer = <R>(name: string, of: (record: R) => number): Column<R> => ({ name, type: BIGINT, of: (record) => whole(of(record)) });
const fraction = <R>(name: string, of: (record: R) => number): Column<R> => ({
  name,
  type: DOUBLE,
  of: (record) => (Number.isFinite(of(record)) ? of(record) : 0),
});

type SeriesColumn = Column<TransactionRecord>;
const isNamed: SeriesColumn = { name: 'is_named', type: BOOLEAN, of: ({ transaction }) => transaction !== undefined };
const statusCode = ({ status }: { status: number }) => (Number.isInteger(status) && status >= 0 && status <= 999 ? status : 0);
const status: SeriesColumn = { name: 'status', type: SMALLINT, of: statusCode };

/** What a series is made of, beside its environment. */
export const seriesColumns: readonly SeriesColumn[] = [
  text('context', ({ context }) => context),
  text('application', ({ application }) => application),
  text('instance', ({ instance }) => instance),
  text('transaction', ({ transaction = unnamedTransaction }) => transaction),
  isNamed,
  status,
  text('http_host', ({ httpHost }) => httpHost),
  text('host', ({ host }) => host),
  text('framework', ({ framework }) => framework),
  text('language', ({ language }) => language),
  text('method', ({ method }) => method.toLowerCase()),
  text('runtime', ({ runtime }) => runtime),
  text('os', ({ os }) => os),
  text('wt_slot', ({ wallTime }) => slotOf(wallTimeSlots, wallTime)),
  text('pmu_slot', ({ peakMemory }) => slotOf(peakMemorySlots, peakMemory)),
];

/** What the values of a filter are compared with: any of these. */
export const filterColumns: Readonly<Record<FilterName, readonly string[]>> = {
  contexts: ['context'],
  applications: ['application'],
  instances: ['instance'],
  transactions: ['transaction'],
  wt_slots: ['wt_slot'],
  pmu_slots: ['pmu_slot'],
  http_status_codes: ['status::varchar', "(status // 100)::varchar || 'xx'"],
  http_hosts: ['http_host'],
  hosts: ['host'],
  frameworks: ['framework'],
  languages: ['language'],
  methods: ['method'],
  runtimes: ['runtime'],
  oss: ['os'],
};

const transactionColumns: readonly Column<TransactionRecord>[] = [
  integer('wt', ({ wallTime }) => wallTime),
  integer('pmu', ({ peakMemory }) => peakMemory),
  integer('stdout', ({ output }) => output),
];

type ColumnsOfKinds = { readonly [K in Kind]: readonly Column<Records[K]>[] };

/** Beside the environment, the time, and the series where the kind has one. */
export const kindColumns: ColumnsOfKinds = {
  transactions: transactionColumns,
  spans: [
    integer<SpanRecord>('wt', ({ wallTime }) => wallTime),
    integer<SpanRecord>('span_wt', ({ spanTime }) => spanTime),
    text<SpanRecord>('trace', ({ trace }) => trace),
    text<SpanRecord>('span', ({ span }) => span),
    text<SpanRecord>('label', ({ label }) => label),
    text<SpanRecord>('service', ({ service }) => service),
  ],
  requests: [
    text('application', ({ application }) => application),
    text('domain', ({ domain }) => domain),
    text('method', ({ method }) => method),
    text('url', ({ url }) => url),
    text('ip', ({ ip }) => ip),
    text('user_agent', ({ userAgent }) => userAgent),
    { name: 'status', type: SMALLINT, of: statusCode },
    integer('wt', ({ wallTime }) => wallTime),
    integer('request_bytes', ({ requestBytes }) => requestBytes),
    integer('response_bytes', ({ responseBytes }) => responseBytes),
    text('instance', ({ instance = '' }) => instance),
    { name: 'is_cached', type: BOOLEAN, of: ({ isFromCache = false }) => isFromCache },
  ],
  samples: [
    text('service', ({ service }) => service),
    text('instance', ({ instance }) => instance),
    fraction('seconds', ({ seconds }) => seconds),
    fraction('cpu_used', ({ cpuUsed }) => cpuUsed),
    fraction('cpu_limit', ({ cpuLimit }) => cpuLimit),
    integer('memory_used', ({ memoryUsed }) => memoryUsed),
    integer('memory_limit', ({ memoryLimit }) => memoryLimit),
    integer('swap_used', ({ swapUsed }) => swapUsed),
    integer('swap_limit', ({ swapLimit }) => swapLimit),
    fraction('cpu_pressure', ({ cpuPressure }) => cpuPressure),
    fraction('memory_pressure', ({ memoryPressure }) => memoryPressure),
    fraction('io_pressure', ({ ioPressure }) => ioPressure),
    fraction('irq_pressure', ({ irqPressure }) => irqPressure),
    integer('received_bytes', ({ receivedBytes }) => receivedBytes),
    integer('sent_bytes', ({ sentBytes }) => sentBytes),
  ],
  mounts: [
    text('service', ({ service }) => service),
    text('instance', ({ instance }) => instance),
    fraction('seconds', ({ seconds }) => seconds),
    text('mount', ({ mount }) => mount),
    integer('disk_used', ({ diskUsed }) => diskUsed),
    integer('disk_limit', ({ diskLimit }) => diskLimit),
    integer('inodes_used', ({ inodesUsed }) => inodesUsed),
    integer('inodes_limit', ({ inodesLimit }) => inodesLimit),
  ],
};

const kindsWithSeries: ReadonlySet<Kind> = new Set<Kind>(['transactions', 'spans']);
export const hasSeries = (kind: Kind) => kindsWithSeries.has(kind);

/** Numbers by which records refer to others, and their time as milliseconds of the day. */
const keyColumns = (kind: Kind) => ['environment', 'time', ...(hasSeries(kind) ? ['series'] : [])];

export const recordTypes = (kind: Kind): DuckDBType[] => [
  ...keyColumns(kind).map(() => INTEGER),
  ...kindColumns[kind].map(({ type }) => type),
];
export const seriesTypes: readonly DuckDBType[] = [INTEGER, INTEGER, ...seriesColumns.map(({ type }) => type)];

/** `recent` is in the order of arrival, `records` in runs ordered by environment and time. */
export function tablesOf(kind: Kind, catalog: string): string[] {
  const columns = [
    ...keyColumns(kind).map((name) => `${name} integer not null`),
    ...kindColumns[kind].map(({ name, type }) => `"${name}" ${type.toString()} not null`),
  ].join(', ');
  const series = seriesColumns.map(({ name, type }) => `"${name}" ${type.toString()} not null`).join(', ');
  return [
    `create table if not exists "${catalog}".records (${columns})`,
    `create table if not exists "${catalog}".recent (${columns})`,
    `create table if not exists "${catalog}".environments (id integer not null, project varchar not null, environment varchar not null)`,
    `create table if not exists "${catalog}".series (id integer not null, environment integer not null, ${series})`,
    `create table if not exists "${catalog}".hours (environment integer not null, hour integer not null, records integer not null)`,
    `create table if not exists "${catalog}".received (writer varchar not null, sequence bigint not null)`,
  ];
}
