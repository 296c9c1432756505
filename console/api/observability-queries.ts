/** What was measured of an environment. Where each thing is asked for is told by the entrypoint, together with how long it is kept. */
import { type QueryKey, queryOptions } from '@tanstack/react-query';
import { hrefOf } from './link.ts';
import { request } from './request.ts';
import type { Environment } from './resources.ts';

interface Period {
  retention_period: number;
  max_range: number;
}

export interface Entrypoint {
  /** By name; `resources_by_service` has links of its own. */
  _links: Readonly<Record<string, { href: string } | Readonly<Record<string, { href: string }>>>>;
  data_retention: { _unit_in_seconds: number } & Readonly<Record<'server_monitoring' | 'http_traffic' | 'resources', Period>>;
}

export const entrypointQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'observability'],
    queryFn: ({ signal }) => request<Entrypoint>('GET', hrefOf(environment, '#observability-pipeline') ?? '', undefined, signal),
    enabled: hrefOf(environment, '#observability-pipeline') !== undefined,
  });

export type Asked = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface Measured {
  _from: number;
  _to: number;
  _grain: number;
}

export interface TransactionRow {
  transaction: string;
  wt_96th_percentile: number;
  avg_wt: number;
  avg_pmu: number;
  avg_stdout: number;
  total_requests: number;
  total_errors: number;
  impact: number | null;
  top_hit: boolean;
  _links: { top_spans: { href: string } };
}

export interface Breakdown extends Measured {
  _breakdown_dimension: 'wt' | 'pmu' | 'stdout';
  transactions: { data: readonly TransactionRow[] };
  top_hits_timeline: {
    data: readonly {
      timestamp: number;
      _total_consumed?: number;
      _total_count?: number;
      _transactions?: Readonly<Record<string, { average: number; count: number }>>;
    }[];
  };
}

export interface Facets {
  fields: Readonly<Record<string, { values: readonly { value: string; count: number }[] }>>;
}

export interface TopSpans {
  top_spans: {
    data: readonly {
      id: string;
      label: string;
      percentage: number | null;
      wt: number;
      p_96: number;
      count: number;
      service_name: string;
      impact: number;
    }[];
  };
  advanced_filters: Facets;
}

export interface TrafficRow {
  url?: string;
  method?: string;
  name?: string;
  impact: number | null;
  average: number;
  p_50: number;
  p_96: number;
  count: number;
}

export interface TrafficPoint {
  timestamp: number;
  _total_count?: number;
  request_size?: number;
  response_size?: number;
  codes?: Readonly<Record<string, number>>;
}

export interface Traffic extends Measured {
  breakdown: { total: number; data: readonly TrafficRow[] };
  top_hits_timeline: { data: readonly TrafficPoint[] };
  /** Of the breakdown by URL. */
  filters?: Facets;
}

type Used = Readonly<Partial<Record<'avg' | 'max', number | null>>>;
export type MeasuredOfService = Readonly<Record<string, Used>> & {
  mountpoints?: Readonly<Record<string, Readonly<Record<string, Used>>>>;
};

export interface ResourcesOverview extends Measured {
  data: readonly { timestamp: number; services?: Readonly<Record<string, MeasuredOfService>> }[];
}

interface Question {
  project: string;
  environment: Environment;
  entrypoint: Entrypoint | undefined;
  /** The name of its link in the entrypoint. */
  rel: string;
  asked: Asked;
}

/** What was there stays on the page until the next answer comes, so that nothing jumps when a filter or the time changes. */
function measured<T>({ project, environment, entrypoint, rel, asked }: Question) {
  const about = ['projects', project, 'environments', environment.id, 'observability', rel];
  return queryOptions({
    queryKey: [...about, asked],
    queryFn: ({ signal }) => request<T>('GET', `${addressOf(entrypoint, rel)}?${queryText(asked)}`, undefined, signal),
    enabled: entrypoint !== undefined,
    placeholderData: whatWasKnown(about),
  });
}

/** The answer before, if it was about the same and asked otherwise: what is known of another environment is no answer about this one. */
export const whatWasKnown =
  (about: readonly string[]) =>
  <T>(before: T | undefined, query: { queryKey: QueryKey } | undefined): T | undefined =>
    query?.queryKey.length === about.length + 1 && about.every((part, n) => query.queryKey[n] === part) ? before : undefined;

export const breakdownQuery = (question: Omit<Question, 'rel'>) =>
  measured<Breakdown>({ ...question, rel: 'blackfire_server_transactions_breakdown' });

export const trafficQuery = (question: Omit<Question, 'rel'>, by: 'urls' | 'ips' | 'user_agents') =>
  measured<Traffic>({ ...question, rel: `http_metrics_timeline_${by}` });

export const resourcesQuery = (question: Omit<Question, 'rel'>) => measured<ResourcesOverview>({ ...question, rel: 'resources_overview' });

/** The link of a transaction says which one; the filters say of which of its requests. */
export const topSpansQuery = (project: string, environment: string, href: string) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment, 'observability', 'spans', { href }],
    queryFn: ({ signal }) => request<TopSpans>('GET', pathIn(href), undefined, signal),
  });

function addressOf(entrypoint: Entrypoint | undefined, rel: string): string {
  const href = entrypoint?._links[rel]?.href;
  return typeof href === 'string' ? pathIn(href) : '';
}

/** The platform may be known to the reader by another name than to itself, so only the path of what it says is followed. */
function pathIn(href: string): string {
  const { pathname, search } = new URL(href);
  return `${pathname}${search}`;
}

/** Lists are written `name[]=value`. */
export function queryText(asked: Asked): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    if (typeof value === 'string' || typeof value === 'number') query.append(name, String(value));
    else for (const each of value ?? []) query.append(`${name}[]`, each);
  }
  return query.toString();
}
