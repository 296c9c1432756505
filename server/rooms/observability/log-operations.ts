/** What the logs of an environment say: entries page by page, and how many there are of each severity over time. */
import { Type } from 'typebox';
import { pointsOf } from '../../drivers/metrics/breakdown.ts';
import type { TooMuch } from '../../drivers/metrics/metrics.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { logsOfEnvironment } from '../logs/public.ts';
import { aboutEnvironment, inTurn, type Asking } from './ask-store.ts';
import { askedEnvironment, Echo, echo, Envelope, envelope, Grain, MapOf, modeNumbers, Reply } from './asked-environment.ts';
import { tooMuchData } from './failures.ts';
import {
  compareEntries,
  logFilterNames,
  logKinds,
  logsOfInterest,
  readCursor,
  readEntries,
  severities,
  writeCursor,
  type LogEntry,
  type LogFilters,
  type Place,
} from './log-entries.ts';
import {
  boundedNumber,
  Choice,
  choice,
  filterOf,
  filterParameters,
  grainedRangeOf,
  grainParameter,
  judgedQuery,
  rangeOf,
  rangeParameters,
  type Reading,
} from './query.ts';
import { logsRangeSeconds } from './retention.ts';

const limits = { least: 1, most: 1000, byDefault: 100 };
const orders = ['DESC', 'ASC'] as const;
const filterChoices: Readonly<Record<string, readonly string[]>> = { severities, log_kinds: logKinds };

const filtersIn = (reading: Reading) =>
  Object.fromEntries(
    logFilterNames.map((name) => {
      const choices = filterChoices[name];
      return [name, filterOf(reading, name, choices && { choices })];
    }),
  ) as LogFilters;

function cursorIn({ parameters, violate }: Reading): Place | undefined {
  const written = parameters.get('cursor');
  const cursor = written === null ? undefined : readCursor(written);
  if (written !== null && !cursor) violate('cursor', 'This value is not a cursor that a reply has told.');
  return cursor;
}

function readLogsRequest(reading: Reading) {
  const range = rangeOf(reading);
  const request = {
    filters: filtersIn(reading),
    cursor: cursorIn(reading),
    order: choice(reading, 'order', orders, 'DESC'),
    limit: boundedNumber(reading, 'limit', limits),
  };
  return range && { ...range, ...request };
}
type LogsRequest = NonNullable<ReturnType<typeof readLogsRequest>>;

const LogsQuery = judgedQuery(
  {
    ...rangeParameters,
    cursor: Type.Optional(Type.String({ description: 'Of the reply before this one.' })),
    order: Choice(orders, 'DESC'),
    limit: Type.Optional(Type.Integer({ minimum: limits.least, maximum: limits.most, default: limits.byDefault })),
    ...filterParameters(logFilterNames, filterChoices),
  },
  readLogsRequest,
);

interface AskedLogs {
  from: number;
  to: number;
  filters: LogFilters;
}

/** Reads what the caller may read, in turn with others. */
async function read(request: Asking, { from, to, filters }: AskedLogs, platform: Platform, take: (entry: LogEntry) => boolean) {
  if (to - from > logsRangeSeconds) throw tooMuchData();
  const { caller, target } = request;
  await inTurn(request, platform, async (): Promise<TooMuch | object> => {
    const logs = (await logsOfEnvironment(platform.config, target)).filter(({ entrance, scope }) => caller.can(entrance, scope));
    const times = { since: from * 1000, until: to * 1000 };
    return (await readEntries(logsOfInterest(logs, filters), times, filters, take)) ?? {};
  });
}

/** The page, and one entry more if there is one. Of each log no more is kept than a page can have. */
async function pageOf(request: Asking & { query: LogsRequest }, platform: Platform): Promise<LogEntry[]> {
  const { query } = request;
  const { order, cursor, limit } = query;
  const isAscending = order === 'ASC';
  const kept = new Map<string, LogEntry[]>();
  await read(request, query, platform, (entry) => {
    const own = kept.get(entry.log) ?? [];
    kept.set(entry.log, own);
    const place = cursor ? compareEntries(entry, cursor) : 0;
    if (cursor && (isAscending ? place <= 0 : place >= 0)) return isAscending;
    own.push(entry);
    if (!isAscending && own.length > 2 * limit) own.splice(0, own.length - limit - 1);
    return !isAscending || own.length <= limit;
  });
  const sorted = [...kept.values()].flat().toSorted(compareEntries);
  return (isAscending ? sorted : sorted.toReversed()).slice(0, limit + 1);
}

const unknown = nullable(Type.String({ description: 'Logs do not tell.' }));
const Entry = closed({
  timestamp: Type.Number({ description: 'Unix seconds.' }),
  severity: Type.String({ enum: [...severities] }),
  log_kind: Type.String({ enum: [...logKinds] }),
  service: Type.String(),
  instance: unknown,
  host: unknown,
  command: unknown,
  container_id: unknown,
  container_image: unknown,
  body: Type.String(),
});

const entryOf = ({ time, severity, kind, service, body }: LogEntry) => ({
  timestamp: time / 1000,
  severity,
  log_kind: kind,
  service,
  instance: null,
  host: null,
  command: null,
  container_id: null,
  container_image: null,
  body,
});

const Href = closed({ href: Type.String({ format: 'uri' }) });

/** The same question, from a cursor on. */
function queryOf({ from, to, order, limit, filters }: LogsRequest, cursor: string): string {
  const parameters = new URLSearchParams({ from: String(from), to: String(to), order, limit: String(limit), cursor });
  for (const [name, { values, mode }] of Object.entries(filters)) {
    for (const value of values) parameters.append(`${name}[]`, value);
    parameters.set(`${name}_mode`, modeNumbers[mode]);
  }
  return parameters.toString();
}

/** Not among the published operations, whose entrypoint links to it all the same. */
export const queryLogs = operation({
  ...aboutEnvironment,
  summary: 'Query the entries of the logs of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/logs/query',
  permission: 'log:view',
  query: LogsQuery,
  returns: plain(
    Reply({
      ...Envelope,
      _order: Type.String({ enum: [...orders] }),
      _limit: Type.Integer(),
      ...Echo(logFilterNames, modeNumbers),
      _cursor: Type.Optional(Type.String()),
      _has_more_results: Type.Boolean(),
      _links: closed({ self: Href, next: Type.Optional(Href), overview: Href }),
      data: Type.Array(Entry),
    }),
  ),
  handle: async (request, platform) => {
    const { query, target } = request;
    const found = await pageOf(request, platform);
    const entries = found.slice(0, query.limit);
    const last = entries.at(-1);
    const hasMore = found.length > query.limit;
    const environment = askedEnvironment(target, platform.config);
    const logs = `${environment.observability}/logs`;
    return {
      ...envelope(environment, query),
      _order: query.order,
      _limit: query.limit,
      ...echo(query.filters, modeNumbers),
      ...(hasMore && last && { _cursor: writeCursor(last) }),
      _has_more_results: hasMore,
      _links: {
        self: { href: `${logs}/query` },
        ...(hasMore && last && { next: { href: `${logs}/query?${queryOf(query, writeCursor(last))}` } }),
        overview: { href: `${logs}/overview` },
      },
      data: entries.map(entryOf),
    };
  },
});

export const countLogEntries = operation({
  ...aboutEnvironment,
  summary: 'Count the entries of the logs of an environment over time, by severity',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/logs/overview',
  permission: 'log:view',
  query: judgedQuery({ ...rangeParameters, ...grainParameter, ...filterParameters(logFilterNames, filterChoices) }, (reading) => {
    const [range, filters] = [grainedRangeOf(reading), filtersIn(reading)];
    return range && { ...range, filters };
  }),
  returns: plain(
    Reply({
      ...Grain,
      ...Envelope,
      ...Echo(logFilterNames, modeNumbers),
      _total: Type.Integer(),
      data: Type.Array(closed({ timestamp: Type.Integer(), severities: Type.Optional(MapOf(Type.Integer())) })),
    }),
  ),
  handle: async (request, platform) => {
    const { query, target } = request;
    if ((query.to - query.from) / query.grain > platform.metrics.limits.pointsMax) throw tooMuchData();
    const counts = new Map<number, Record<string, number>>();
    let total = 0;
    await read(request, query, platform, ({ time, severity }) => {
      const timestamp = Math.floor(time / 1000 / query.grain) * query.grain;
      const point = counts.get(timestamp) ?? {};
      counts.set(timestamp, point);
      point[severity] = (point[severity] ?? 0) + 1;
      total += 1;
      return true;
    });
    return {
      ...envelope(askedEnvironment(target, platform.config), query),
      _grain: query.grain,
      ...echo(query.filters, modeNumbers),
      _total: total,
      data: pointsOf(query).map((timestamp) => ({ timestamp, severities: counts.get(timestamp) })),
    };
  },
});
