/** What of an environment's measurements is looked at: which kind, over which time, narrowed down by what. It is the address of the page, and nothing else. */
import type { Span } from '../../../chart/plot.tsx';

export const views = { transactions: 'Transactions', http: 'HTTP traffic', resources: 'Resources' } as const;
export type ViewName = keyof typeof views;

export const presets = { '1h': 3600, '6h': 6 * 3600, '1d': 86_400, '14d': 14 * 86_400 } as const;
export type Preset = keyof typeof presets;
const usualPreset: Preset = '6h';

/** The order of the columns is that of the table. */
export const sorts = ['impact', 'total_requests', 'avg_wt', 'wt_96th_percentile', 'avg_pmu', 'avg_stdout', 'total_errors'] as const;
export type Sort = (typeof sorts)[number];

export const measures = { wt: 'Wall time', pmu: 'Peak memory', stdout: 'Output' } as const;
export type Measure = keyof typeof measures;

export const kindsOfTraffic = { urls: 'By URL', ips: 'By address', user_agents: 'By program' } as const;
export type KindOfTraffic = keyof typeof kindsOfTraffic;

interface FilterLook {
  label: string;
  of: readonly ViewName[];
  /** All that can be, where that is known beforehand; otherwise what was found is suggested. */
  choices?: readonly string[];
}

const milliseconds = ['0-50', '50-100', '100-200', '200-400', '400-800', '800-1600', '1600+'];

/** Named as in the API. */
export const filters = {
  applications: { label: 'App', of: ['transactions', 'http'] },
  transactions: { label: 'Transaction', of: ['transactions'] },
  methods: { label: 'Method', of: ['transactions', 'http'], choices: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] },
  http_status_codes: { label: 'Status code', of: ['transactions'], choices: ['2xx', '3xx', '4xx', '5xx', '404', '500', '502', '503'] },
  code_slots: { label: 'Kind of status', of: ['http'], choices: ['1XX', '2XX', '3XX', '4XX', '5XX'] },
  codes: { label: 'Status code', of: ['http'] },
  http_hosts: { label: 'Host', of: ['transactions'] },
  domains: { label: 'Host', of: ['http'] },
  wt_slots: { label: 'Wall time in ms', of: ['transactions'], choices: milliseconds },
  request_duration_slots: { label: 'Duration in ms', of: ['http'], choices: milliseconds },
  pmu_slots: { label: 'Peak memory in MiB', of: ['transactions'], choices: ['0-8', '8-16', '16-32', '32-64', '64-128', '128-256', '256+'] },
  contexts: { label: 'Context', of: ['transactions'], choices: ['web', 'cli'] },
  instances: { label: 'Instance', of: ['transactions'] },
  hosts: { label: 'Machine', of: ['transactions'] },
  frameworks: { label: 'Framework', of: ['transactions'] },
  languages: { label: 'Language', of: ['transactions'] },
  runtimes: { label: 'Runtime', of: ['transactions'] },
  oss: { label: 'Operating system', of: ['transactions'] },
  services: { label: 'Container', of: ['resources'] },
} as const satisfies Record<string, FilterLook>;
export type FilterName = keyof typeof filters;
const filterNames = Object.keys(filters) as FilterName[];

export const lookOf = (name: FilterName): FilterLook => filters[name];
export const filtersOf = (view: ViewName): FilterName[] => filterNames.filter((name) => lookOf(name).of.includes(view));

export type View = {
  view?: ViewName;
  last?: Preset;
  /** Unix seconds; both or neither. */
  from?: number;
  to?: number;
  sort?: Sort;
  measure?: Measure;
  by?: KindOfTraffic;
} & { [name in FilterName]?: readonly string[] } & { [name in `${FilterName}_mode`]?: -1 };

/** Whatever else stands in an address is left out. */
export function readView(given: Record<string, unknown>): View {
  const { view, last, from, to, sort, measure, by } = given;
  const [begin, end] = [Number(from), Number(to)];
  const hasRange = Number.isSafeInteger(begin) && Number.isSafeInteger(end) && begin > 0 && end > begin;
  return {
    ...(isIn(views, view) && { view }),
    ...(hasRange ? { from: begin, to: end } : isIn(presets, last) && { last }),
    ...(sorts.includes(sort as Sort) && { sort: sort as Sort }),
    ...(isIn(measures, measure) && { measure }),
    ...(isIn(kindsOfTraffic, by) && { by }),
    ...Object.assign({}, ...filterNames.map((name) => readFilter(given, name))),
  };
}

const isIn = <T extends object>(table: T, name: unknown): name is keyof T => typeof name === 'string' && Object.hasOwn(table, name);

function readFilter(given: Record<string, unknown>, name: FilterName): View {
  const written = given[name];
  const values = (Array.isArray(written) ? written : written === undefined ? [] : [written]).map(String);
  if (values.length === 0) return {};
  return { [name]: values, ...(Number(given[`${name}_mode`]) === -1 && { [`${name}_mode`]: -1 }) };
}

/** The end is a whole minute, so that what is asked stays the same for as long. */
export function rangeOf({ last, from, to }: View, nowMilliseconds: number): Span {
  if (from !== undefined && to !== undefined) return { from, to };
  const end = (Math.floor(nowMilliseconds / 60_000) + 1) * 60;
  return { from: end - presets[last ?? usualPreset], to: end };
}

export const presetOf = ({ last, from }: View): Preset | undefined => (from === undefined ? (last ?? usualPreset) : undefined);

/** The same at another time. */
export function withRange({ last: _last, from: _from, to: _to, ...rest }: View, range: Span | Preset): View {
  return typeof range === 'string' ? { ...rest, last: range } : { ...rest, from: range.from, to: range.to };
}

/** Another kind at the same time, narrowed down by as much as both know. */
export function withView(view: View, name: ViewName): View {
  const others = filterNames.filter((each) => !lookOf(each).of.includes(name));
  const { view: _view, by: _by, sort: _sort, measure: _measure, ...rest } = others.reduce(without, view);
  return { ...rest, ...(name !== 'transactions' && { view: name }) };
}

export interface Filter {
  name: FilterName;
  values: readonly string[];
  /** All but these. */
  isExcluding: boolean;
  /** Nobody asked for it: it is what the API takes where nothing is said. */
  isUsual?: true;
}

/** What holds for the kind that is looked at. Of transactions, requests alone are shown unless somebody says otherwise. */
export function filtersIn(view: View): Filter[] {
  const name = view.view ?? 'transactions';
  return filtersOf(name).flatMap((each): Filter[] => {
    const values = view[each];
    if (values) return [{ name: each, values, isExcluding: view[`${each}_mode`] === -1 }];
    return each === 'contexts' ? [{ name: each, values: ['web'], isExcluding: false, isUsual: true }] : [];
  });
}

export function withFilter(view: View, { name, values, isExcluding }: Filter): View {
  const bare = without(view, name);
  return values.length === 0 ? bare : { ...bare, [name]: values, ...(isExcluding && { [`${name}_mode`]: -1 }) };
}

/** One more value; a filter that was turned around begins anew. */
export function withValue(view: View, name: FilterName, value: string, isExcluding: boolean): View {
  const isSame = (view[`${name}_mode`] === -1) === isExcluding;
  const values = isSame ? (view[name] ?? []) : [];
  return withFilter(view, { name, values: [...new Set([...values, value])], isExcluding });
}

/** What the API takes for granted has to be said otherwise in place of being left out. */
export const withoutFilter = (view: View, { name, isUsual }: Filter): View =>
  isUsual ? { ...view, contexts: ['web', 'cli'] } : without(view, name);

function without(view: View, name: FilterName): View {
  const { [name]: _values, [`${name}_mode` as const]: _mode, ...rest } = view;
  return rest;
}

/** The filters as the API takes them. */
export const askedFilters = (view: View) =>
  Object.fromEntries(
    filtersIn(view).flatMap(({ name, values, isExcluding }) => [
      [name, values] as const,
      ...(isExcluding ? [[`${name}_mode`, '-1'] as const] : []),
    ]),
  );
