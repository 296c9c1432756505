/** What is asked beside the breakdown of transactions: spans, HTTP traffic, resources, and what billing sums up. */
import type { Filter, Filters, TimeRange } from './breakdown.ts';
import type { Scope } from './metrics.ts';

export const spanSorts = ['percentage', 'p_96', 'count', 'wt', 'exec-time', 'impact'] as const;
export type SpanSort = (typeof spanSorts)[number];

export interface SpansQuestion extends Scope, TimeRange {
  sort: SpanSort;
  limit: number;
  filters: Filters;
}

export interface SpanRow {
  id: string;
  label: string;
  service_name: string;
  count: number;
  /** Average, in microseconds. */
  wt: number;
  p_96: number;
  /** The average wall time of the requests that have it. */
  request_wt: number;
  /** The share of requests that have it. */
  percentage: number;
  /** What it took, as a share of what all requests took. */
  impact: number;
}

export const trafficKinds = ['url', 'ip', 'user_agent'] as const;
export type TrafficKind = (typeof trafficKinds)[number];

export const trafficFilterNames = ['applications', 'methods', 'domains', 'code_slots', 'codes', 'request_duration_slots'] as const;
export type TrafficFilterName = (typeof trafficFilterNames)[number];

export interface TrafficQuestion extends Scope, TimeRange {
  by: TrafficKind;
  grain: number;
  limit: number;
  topHits: number;
  filters: Partial<Record<TrafficFilterName, Filter>>;
}

/** Microseconds. */
export interface TrafficRow {
  name: string;
  /** Of URLs only. */
  method?: string | undefined;
  count: number;
  average: number;
  p_50: number;
  p_96: number;
  consumed: number;
  top_hit: boolean;
}

export interface TrafficPoint {
  timestamp: number;
  count: number;
  consumed: number;
  requestBytes: number;
  responseBytes: number;
  /** By the first digit of the status; `0` where there is none. */
  codes: Record<string, number>;
  /** Of top hits, by their place among them. */
  tops: Record<number, { average: number; count: number }>;
}

export interface Traffic {
  rows: TrafficRow[];
  /** How many different ones there are, of which `rows` are the first. */
  distinct: number;
  count: number;
  consumed: number;
  /** Only points with requests. */
  timeline: TrafficPoint[];
}

export interface ResourcesQuestion extends Scope, TimeRange {
  /** Undefined: one value for the whole range. */
  grain?: number | undefined;
  /** Whether instances are told apart. */
  byInstance: boolean;
  services?: Filter | undefined;
}

export const aggregates = ['min', 'max', 'avg', 'stddev', 'p50', 'p95', 'p96', 'p97', 'p98', 'p99'] as const;
export type Aggregates = Record<(typeof aggregates)[number], number>;

export const usedMeasures = [
  'cpu_used',
  'memory_used',
  'swap_used',
  'cpu_pressure',
  'memory_pressure',
  'io_pressure',
  'irq_pressure',
] as const;
export const limitMeasures = ['cpu_limit', 'memory_limit', 'swap_limit'] as const;
export const usedMountMeasures = ['disk_used', 'inodes_used'] as const;
export const limitMountMeasures = ['disk_limit', 'inodes_limit'] as const;

/** Of one service, or one instance of it, at one point or over all. */
export interface ResourcesRow {
  timestamp?: number | undefined;
  service: string;
  instance?: string | undefined;
  /** Undefined: what is measured of the instance itself. */
  mount?: string | undefined;
  used: Record<string, Aggregates>;
  /** The highest. */
  limits: Record<string, number>;
}

/** Without a scope: of everybody. */
export interface UsageQuestion extends TimeRange {
  scope?: Scope | undefined;
  byService?: boolean | undefined;
}
