/** The breakdown of transactions: what is asked, what is answered, and how the answer follows from sums. Every driver sums in its own way and ends here. */
import type { Scope } from './metrics.ts';

export const dimensions = ['wt', 'pmu', 'stdout'] as const;
export type Dimension = (typeof dimensions)[number];

export const breakdownSorts = [
  'impact',
  'total_requests',
  'avg_wt',
  'avg_pmu',
  'avg_stdout',
  'total_errors',
  'wt_96th_percentile',
] as const;
export type BreakdownSort = (typeof breakdownSorts)[number];

/** What transactions can be filtered by, named as in the API. */
export const filterNames = [
  'contexts',
  'applications',
  'instances',
  'transactions',
  'wt_slots',
  'pmu_slots',
  'http_status_codes',
  'http_hosts',
  'hosts',
  'frameworks',
  'languages',
  'methods',
  'runtimes',
  'oss',
] as const;
export type FilterName = (typeof filterNames)[number];

/** Additive: only the values. Subtractive: all but the values. */
export type FilterMode = 'additive' | 'subtractive';

export interface Filter {
  values: readonly string[];
  mode: FilterMode;
}

export type Filters = Partial<Record<FilterName, Filter>>;

/** Unix seconds: `from` is included, `to` is not. */
export interface TimeRange {
  from: number;
  to: number;
}

export interface BreakdownQuestion extends Scope, TimeRange {
  /** Seconds between points of the timeline, which stand at whole multiples of it. */
  grain: number;
  dimension: Dimension;
  sort: BreakdownSort;
  limit: number;
  filters: Filters;
}

/** Rows are in the timeline until one of these is reached. */
export const topHits = { maxQuantity: 15, maxPercentage: 98 };

/** Percentiles that were taken from sums made earlier are off by no more than this share. Everything else is exact. */
export const percentileError = 0.01;
export const percentile = 0.96;

/** How requests are called that nobody could name. */
export const unnamedTransaction = 'unnamed';

export interface BreakdownRow {
  transaction: string;
  wt_96th_percentile: number;
  avg_wt: number;
  avg_pmu: number;
  avg_stdout: number;
  total_requests: number;
  total_requests_unnamed: number;
  total_errors: number;
  /** Percent; null where nothing was consumed at all. */
  impact: number | null;
  top_hit: boolean;
}

/** Without anything but its time where there were no requests. */
export interface TimelinePoint {
  timestamp: number;
  _total_consumed?: number;
  _total_count?: number;
  _transactions?: Record<string, { average: number; count: number }>;
}

export interface Breakdown {
  rows: BreakdownRow[];
  timeline: TimelinePoint[];
  /** Whether percentiles are exact. */
  isExact: boolean;
}

/** The sums over all requests of one transaction. */
export interface TransactionSums {
  transaction: string;
  requests: number;
  unnamed: number;
  errors: number;
  wt: number;
  pmu: number;
  stdout: number;
  wtPercentile: number;
}

/** All rows with their impact, the most consuming first. */
export function rankRows(sums: readonly TransactionSums[], dimension: Dimension): BreakdownRow[] {
  const total = sums.reduce((sum, each) => sum + each[dimension], 0);
  const ranked = sums.toSorted(
    (one, other) => other[dimension] - one[dimension] || other.requests - one.requests || compareNames(one.transaction, other.transaction),
  );
  let [percentBefore, rank] = [0, 0];
  return ranked.map((each) => {
    const impact = total > 0 ? (100 * each[dimension]) / total : null;
    const isTop = rank < topHits.maxQuantity && percentBefore < topHits.maxPercentage;
    rank += 1;
    percentBefore += impact ?? 0;
    return rowOf(each, impact, isTop);
  });
}

const rowOf = (each: TransactionSums, impact: number | null, isTop: boolean): BreakdownRow => ({
  transaction: each.transaction,
  wt_96th_percentile: each.wtPercentile,
  avg_wt: each.wt / each.requests,
  avg_pmu: each.pmu / each.requests,
  avg_stdout: each.stdout / each.requests,
  total_requests: each.requests,
  total_requests_unnamed: each.unnamed,
  total_errors: each.errors,
  impact,
  top_hit: isTop,
});

/** The highest first; what is equal, by name. */
export const sortRows = (rows: readonly BreakdownRow[], sort: BreakdownSort, limit: number): BreakdownRow[] =>
  rows.toSorted((one, other) => (other[sort] ?? 0) - (one[sort] ?? 0) || compareNames(one.transaction, other.transaction)).slice(0, limit);

const compareNames = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** The times of all points, also of those without requests. */
export function pointsOf({ from, to, grain }: TimeRange & { grain: number }): number[] {
  const first = Math.floor(from / grain) * grain;
  return Array.from({ length: Math.ceil((to - first) / grain) }, (_, nth) => first + nth * grain);
}
