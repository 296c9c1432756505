/** The HTTP traffic of an environment as the edge saw it: by URL, address and program of visitors. */
import { Type, type TSchema } from 'typebox';
import { pointsOf, type Filter, type TimeRange } from '../../drivers/metrics/breakdown.ts';
import { grainOf } from '../../drivers/metrics/grain.ts';
import { isTooMuch } from '../../drivers/metrics/metrics.ts';
import {
  trafficFilterNames,
  type Traffic,
  type TrafficFilterName,
  type TrafficKind,
  type TrafficPoint,
  type TrafficRow,
} from '../../drivers/metrics/questions.ts';
import { wallTimeSlots } from '../../drivers/metrics/slots.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import { environmentTypes } from '../../permissions.ts';
import type { Platform } from '../../platform.ts';
import { aboutEnvironment, inTurn, type Asking } from './ask-store.ts';
import { askedEnvironment, Data, Echo, echo, Envelope, envelope, Grain, MapOf, modeNumbers, Reply, scopeOf } from './asked-environment.ts';
import { limits } from './breakdown-request.ts';
import { FacetFields, facetFields } from './facet-fields.ts';
import { boundedNumber, filterOf, filterParameters, judgedQuery, rangeOf, rangeParameters, type Reading } from './query.ts';

const topHitsCounts = { least: 1, most: 15, byDefault: 10 };
const valuesOfFacetMax = 50;
const codeSlots = ['1XX', '2XX', '3XX', '4XX', '5XX'] as const;
const filterChoices: Partial<Record<TrafficFilterName, readonly string[]>> = {
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
  code_slots: codeSlots,
  request_duration_slots: wallTimeSlots.map(({ name }) => name),
};

interface TrafficRequest extends TimeRange {
  grain: number;
  limit: number;
  topHits: number;
  filters: Record<TrafficFilterName, Filter>;
}

function readTrafficRequest(reading: Reading): TrafficRequest | undefined {
  const range = rangeOf(reading);
  const filters = trafficFilterNames.map((name) => {
    const choices = filterChoices[name];
    return [name, filterOf(reading, name, choices && { choices })] as const;
  });
  const request = {
    limit: boundedNumber(reading, 'limit', limits),
    topHits: boundedNumber(reading, 'top_hits_count', topHitsCounts),
    filters: Object.fromEntries(filters) as TrafficRequest['filters'],
  };
  return range && { ...range, grain: grainOf(range), ...request };
}

const bounded = ({ least, most, byDefault }: typeof limits) =>
  Type.Optional(Type.Integer({ minimum: least, maximum: most, default: byDefault }));

const TrafficQuery = judgedQuery(
  {
    ...rangeParameters,
    limit: bounded(limits),
    top_hits_count: bounded(topHitsCounts),
    ...filterParameters(trafficFilterNames, filterChoices as Record<string, readonly string[]>),
  },
  readTrafficRequest,
);

/** URLs are told in milliseconds, and what they took as it is; addresses and programs in seconds, and what they took as a share. */
interface Told {
  by: TrafficKind;
  microseconds: number;
  impact(consumed: number, total: number): number;
  row(row: TrafficRow): object;
  /** The name of what points tell of top hits, and of each of them. */
  tops: string;
  nameOf(row: TrafficRow): string;
}

const urls: Told = {
  by: 'url',
  microseconds: 1000,
  impact: (consumed) => consumed / 1000,
  row: ({ name, method }) => ({ url: name, method }),
  tops: 'urls',
  nameOf: ({ name, method }) => `${method}-${name}`,
};

const visitors = (by: 'ip' | 'user_agent'): Told => ({
  by,
  microseconds: 1_000_000,
  impact: (consumed, total) => (total > 0 ? (100 * consumed) / total : 0),
  row: ({ name }) => ({ name }),
  tops: 'data',
  nameOf: ({ name }) => name,
});

const rowOf = (told: Told, row: TrafficRow, total: number) => ({
  ...told.row(row),
  impact: told.impact(row.consumed, total),
  average: row.average / told.microseconds,
  p_50: row.p_50 / told.microseconds,
  p_96: row.p_96 / told.microseconds,
  count: row.count,
  top_hit: row.top_hit,
});

const countsOfCodes = ({ codes }: TrafficPoint) => {
  const counts = codeSlots.map((slot) => [slot, codes[slot.charAt(0)] ?? 0] as const);
  return { ...Object.fromEntries(counts), UNKNOWN: codes['0'] ?? 0 };
};

function pointOf(told: Told, point: TrafficPoint, rows: readonly TrafficRow[]) {
  const tops = Object.entries(point.tops).flatMap(([place, { average, count }]) => {
    const row = rows[Number(place)];
    return row ? [[told.nameOf(row), { count, impact: told.impact(average * count, point.consumed) }] as const] : [];
  });
  return {
    timestamp: point.timestamp,
    _total_consumed: point.consumed / told.microseconds,
    _total_count: point.count,
    ...(told.by === 'url' && {
      request_size: point.requestBytes,
      response_size: point.responseBytes,
      codes: countsOfCodes(point),
    }),
    [told.tops]: Object.fromEntries(tops),
  };
}

function trafficReply(told: Told, request: TrafficRequest, { rows, distinct, consumed, timeline }: Traffic) {
  const points = new Map(timeline.map((point) => [point.timestamp, pointOf(told, point, rows)]));
  return {
    breakdown: { kind: told.by, total: distinct, data: rows.map((row) => rowOf(told, row, consumed)) },
    top_hits_timeline: { data: pointsOf(request).map((timestamp) => points.get(timestamp) ?? { timestamp }) },
  };
}

async function answered(told: Told, request: Asking & { query: TrafficRequest }, platform: Platform) {
  const { query, target } = request;
  const { from, to, filters } = query;
  const asked = { ...scopeOf(target), from, to, filters };
  const topHits = Math.min(query.topHits, query.limit);
  const answer = await inTurn(request, platform, async () => {
    const traffic = await platform.metrics.traffic({ ...asked, by: told.by, grain: query.grain, limit: query.limit, topHits });
    const facets = told.by === 'url' ? await platform.metrics.facets({ ...asked, of: 'requests', valuesMax: valuesOfFacetMax }) : [];
    return isTooMuch(traffic) ? traffic : isTooMuch(facets) ? facets : { traffic, facets };
  });
  const environment = askedEnvironment(target, platform.config);
  return {
    ...envelope(environment, query),
    _grain: query.grain,
    _environment_type: environment.type,
    _breakdown_limit: query.limit,
    _breakdown_top_hits: query.topHits,
    ...echo(filters, modeNumbers),
    ...trafficReply(told, query, answer.traffic),
    ...(told.by === 'url' && { filters: facetFields(answer.facets, trafficFilterNames.length) }),
  };
}

const Hit = closed({ count: Type.Integer(), impact: nullable(Type.Number()) });

const measured = {
  impact: nullable(Type.Number()),
  average: Type.Number(),
  p_50: Type.Number(),
  p_96: Type.Number(),
  count: Type.Integer(),
  top_hit: Type.Boolean(),
};

const TrafficReply = (kind: TrafficKind, row: TSchema, point: Record<string, TSchema>, more: Record<string, TSchema> = {}) =>
  Reply({
    ...Grain,
    ...Envelope,
    _environment_type: Type.String({ enum: [...environmentTypes] }),
    _breakdown_limit: Type.Integer(),
    _breakdown_top_hits: Type.Integer(),
    ...Echo(trafficFilterNames, modeNumbers),
    breakdown: closed({ kind: Type.String({ enum: [kind] }), total: Type.Integer(), data: Type.Array(row) }),
    top_hits_timeline: Data(
      closed({
        timestamp: Type.Integer(),
        _total_consumed: Type.Optional(Type.Number()),
        _total_count: Type.Optional(Type.Integer()),
        ...point,
      }),
    ),
    ...more,
  });

const VisitorsReply = (kind: 'ip' | 'user_agent') =>
  TrafficReply(kind, closed({ name: Type.String(), ...measured }), { data: Type.Optional(MapOf(Hit)) });

const Codes = closed(Object.fromEntries([...codeSlots, 'UNKNOWN'].map((slot) => [slot, Type.Integer()])));

export const breakDownUrls = operation({
  ...aboutEnvironment,
  summary: 'Break the HTTP traffic of an environment down by URL',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/http/breakdown/urls',
  query: TrafficQuery,
  returns: plain(
    TrafficReply(
      'url',
      closed({ url: Type.String(), method: Type.String(), ...measured }),
      {
        request_size: Type.Optional(Type.Integer()),
        response_size: Type.Optional(Type.Integer()),
        urls: Type.Optional(MapOf(Hit)),
        codes: Type.Optional(Codes),
      },
      { filters: FacetFields },
    ),
  ),
  handle: (request, platform) => answered(urls, request, platform),
});

/** Addresses tell who visits, as logs do, so they are for the same people. */
export const breakDownAddresses = operation({
  ...aboutEnvironment,
  summary: "Break the HTTP traffic of an environment down by visitors' addresses",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/http/breakdown/ips',
  permission: 'log:view',
  query: TrafficQuery,
  returns: plain(VisitorsReply('ip')),
  handle: (request, platform) => answered(visitors('ip'), request, platform),
});

export const breakDownUserAgents = operation({
  ...aboutEnvironment,
  summary: "Break the HTTP traffic of an environment down by visitors' programs",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/http/breakdown/user-agents',
  query: TrafficQuery,
  returns: plain(VisitorsReply('user_agent')),
  handle: (request, platform) => answered(visitors('user_agent'), request, platform),
});
