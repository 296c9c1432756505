/** The numbers of charts, out of what the API answered. */
import type { Breakdown, MeasuredOfService, ResourcesOverview, Traffic, TransactionRow } from '../../../api/observability-queries.ts';
import { type ChartData, coloursMax, highestOf, type Series, withTheRest } from '../../../chart/chart-data.ts';

/** The transactions with a colour of their own, the most consuming first, whatever the table is sorted by. */
export const colouredTransactions = (rows: readonly TransactionRow[]): string[] =>
  rows
    .filter(({ top_hit }) => top_hit)
    .toSorted((one, other) => (other.impact ?? 0) - (one.impact ?? 0))
    .slice(0, coloursMax)
    .map(({ transaction }) => transaction);

/** What each transaction took at each point, and all others together. */
export function consumedOverTime({ transactions, top_hits_timeline, _grain }: Breakdown): ChartData {
  const points = top_hits_timeline.data;
  const names = colouredTransactions(transactions.data);
  const own = names.map((name, n): Series => ({
    name,
    colour: n + 1,
    values: points.map(({ _total_count, _transactions }) => {
      const hit = _transactions?.[name];
      return _total_count === undefined ? null : hit ? hit.average * hit.count : 0;
    }),
  }));
  const others = points.map(({ _total_consumed, _total_count }, n) =>
    _total_count === undefined ? null : Math.max(0, (_total_consumed ?? 0) - own.reduce((sum, { values }) => sum + (values[n] ?? 0), 0)),
  );
  const hasOthers = others.some((value, n) => value !== null && value > (points[n]?._total_consumed ?? 0) * 1e-9);
  return {
    times: points.map(({ timestamp }) => timestamp),
    grain: _grain,
    series: [...own, ...(hasOthers ? [{ name: 'all others', colour: 0, values: others }] : [])],
  };
}

export interface Sums {
  requests: number;
  errors: number;
  /** Microseconds; undefined without requests. */
  average: number | undefined;
}

export function sumsOf({ transactions: { data } }: Breakdown): Sums {
  const requests = data.reduce((sum, { total_requests }) => sum + total_requests, 0);
  const consumed = data.reduce((sum, { avg_wt, total_requests }) => sum + avg_wt * total_requests, 0);
  return {
    requests,
    errors: data.reduce((sum, { total_errors }) => sum + total_errors, 0),
    average: requests === 0 ? undefined : consumed / requests,
  };
}

/** In the colours that people expect of them. */
const kindsOfStatus = [
  ['2XX', 1],
  ['3XX', 2],
  ['4XX', 3],
  ['5XX', 5],
  ['1XX', 6],
  ['UNKNOWN', 0],
] as const;

export function requestsOverTime({ top_hits_timeline: { data }, _grain }: Traffic): ChartData {
  const series = kindsOfStatus.map(([kind, colour]): Series => ({
    name: kind === 'UNKNOWN' ? 'no answer' : kind.toLowerCase(),
    colour,
    values: data.map(({ codes }) => (codes ? (codes[kind] ?? 0) : null)),
  }));
  return { times: data.map(({ timestamp }) => timestamp), grain: _grain, series: series.filter((each) => highestOf(each) > 0) };
}

export const bytesOverTime = ({ top_hits_timeline: { data }, _grain }: Traffic): ChartData => ({
  times: data.map(({ timestamp }) => timestamp),
  grain: _grain,
  series: [
    { name: 'sent', colour: 1, values: data.map(({ response_size }) => response_size ?? null) },
    { name: 'received', colour: 2, values: data.map(({ request_size }) => request_size ?? null) },
  ],
});

/** What was measured of each container under one name, such as `cpu_used`. */
export function usedOverTime({ data, _grain }: ResourcesOverview, measure: string): ChartData {
  const names = servicesIn(data);
  const series = names.map((name) => ({ name, values: data.map(({ services }) => services?.[name]?.[measure]?.avg ?? null) }));
  return chartOf(data, _grain, series);
}

export function disksOverTime({ data, _grain }: ResourcesOverview): ChartData {
  const mounts = servicesIn(data).flatMap((service) => {
    const own = new Set(data.flatMap(({ services }) => Object.keys(services?.[service]?.mountpoints ?? {})));
    return [...own].map((mount) => ({ service, mount }));
  });
  const series = mounts.map(({ service, mount }) => ({
    name: mounts.filter((each) => each.service === service).length > 1 ? `${service} ${mount}` : service,
    values: data.map(({ services }) => services?.[service]?.mountpoints?.[mount]?.['disk_used']?.avg ?? null),
  }));
  return chartOf(data, _grain, series);
}

const chartOf = (data: ResourcesOverview['data'], grain: number, series: readonly Omit<Series, 'colour'>[]): ChartData => ({
  times: data.map(({ timestamp }) => timestamp),
  grain,
  series: withTheRest(series, highestOf, 'all others'),
});

const servicesIn = (data: ResourcesOverview['data']): string[] =>
  [...new Set(data.flatMap(({ services }) => Object.keys(services ?? {})))].toSorted();

export interface ServiceUse {
  service: string;
  cpu: Share;
  memory: Share;
  disk: Share;
  /** Shares of the time, at most: 0 to 1. */
  pressure: Readonly<Record<'cpu' | 'memory' | 'io', number>>;
}

export interface Share {
  /** The highest of all points. */
  used: number | undefined;
  limit: number | undefined;
}

/** How close each container came to what it may use. */
export function usesOf({ data }: ResourcesOverview): ServiceUse[] {
  return servicesIn(data).map((service): ServiceUse => {
    const points = data.map(({ services }) => services?.[service]).filter((point) => point !== undefined);
    const highest = (measure: string) => most(points.map((point) => point[measure]?.max));
    const ofMounts = (measure: string) => most(points.map((point) => sumOfMounts(point, measure)));
    return {
      service,
      cpu: { used: highest('cpu_used'), limit: highest('cpu_limit') },
      memory: { used: highest('memory_used'), limit: highest('memory_limit') },
      disk: { used: ofMounts('disk_used'), limit: ofMounts('disk_limit') },
      pressure: { cpu: highest('cpu_pressure') ?? 0, memory: highest('memory_pressure') ?? 0, io: highest('io_pressure') ?? 0 },
    };
  });
}

function sumOfMounts({ mountpoints = {} }: MeasuredOfService, measure: string): number | undefined {
  const known = Object.values(mountpoints).flatMap((mount) => mount[measure]?.max ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

function most(values: readonly (number | null | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
