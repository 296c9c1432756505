/** What requests and commands took: broken down by transaction, over time, by their parts; and what is told of PHP's caches. */
import { Type } from 'typebox';
import { filterNames, pointsOf, type Filter, type FilterName } from '../../drivers/metrics/breakdown.ts';
import { spanSorts, type SpanRow, type SpanSort } from '../../drivers/metrics/questions.ts';
import type { Facet } from '../../drivers/metrics/facets.ts';
import { isTooMuch, type MetricsLimits } from '../../drivers/metrics/metrics.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import { aboutEnvironment, inTurn } from './ask-store.ts';
import {
  Agent,
  askedEnvironment,
  Data,
  Echo,
  echo,
  Envelope,
  envelope,
  Grain,
  modeWords,
  Reply,
  scopeOf,
  type AskedEnvironment,
} from './asked-environment.ts';
import { BreakdownReply, breakdownReply } from './breakdown-reply.ts';
import { BreakdownQuery, distributionCostIn, distributionCosts, filtersIn, serverParameters } from './breakdown-request.ts';
import { FacetFields, facetFields } from './facet-fields.ts';
import { tooMuchData } from './failures.ts';
import { Choice, choice, grainedRangeOf, judgedQuery, type GrainedRange, type Reading } from './query.ts';

export const breakDownTransactions = operation({
  ...aboutEnvironment,
  summary: 'Break the transactions of an environment down by what they took',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/server/transactions-break-down',
  query: BreakdownQuery,
  returns: plain(BreakdownReply),
  handle: async (request, platform) => {
    const { query, target } = request;
    const answer = await inTurn(request, platform, () => platform.metrics.breakdown({ ...scopeOf(target), ...query }));
    return breakdownReply(askedEnvironment(target, platform.config), query, answer);
  },
});

/** What all answers about the server begin with. */
export const serverEnvelope = <N extends FilterName>(environment: AskedEnvironment, request: ServerRequest<N>) => ({
  ...envelope(environment, request),
  _grain: request.grain,
  _agent: environment.agent,
  ...echo(request.filters, modeWords),
  _distribution_cost: request.distributionCost,
});

export const ServerEnvelope = (names: readonly FilterName[]) => ({
  ...Grain,
  ...Envelope,
  ...Agent,
  ...Echo(names, modeWords),
  _distribution_cost: Type.String({ enum: [...distributionCosts] }),
});

export interface ServerRequest<N extends FilterName> extends GrainedRange {
  filters: Record<N, Filter>;
  distributionCost: (typeof distributionCosts)[number];
}

export function readServerRequest<N extends FilterName>(reading: Reading, names: readonly N[]): ServerRequest<N> | undefined {
  const range = grainedRangeOf(reading);
  const request = { filters: filtersIn(reading, names), distributionCost: distributionCostIn(reading) };
  return range && { ...range, ...request };
}

/** By what questions about the server as a whole can be narrowed down. */
export const wholeServerFilters = ['contexts', 'applications', 'instances'] as const satisfies FilterName[];

const share = Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 })));
const caches = [
  'opcache_usage',
  'opcache_isb_usage',
  'apcu_usage',
  'realpath_usage',
  'pcre_usage',
  'apcu_hitrate',
  'opcache_hitrate',
] as const;

/** Nothing asks PHP how full its caches are, so all points are empty. */
export const tellServerCaches = operation({
  ...aboutEnvironment,
  summary: "Tell how full PHP's caches were, as far as it was measured",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/server/caches',
  query: judgedQuery(serverParameters(wholeServerFilters), (reading) => readServerRequest(reading, wholeServerFilters)),
  returns: plain(
    Reply({
      ...ServerEnvelope(wholeServerFilters),
      data: Type.Array(closed({ timestamp: Type.Integer(), ...Object.fromEntries(caches.map((name) => [name, share])) })),
    }),
  ),
  handle: async ({ query, target }, { config, metrics }) => ({
    ...serverEnvelope(askedEnvironment(target, config), query),
    data: emptyPoints(query, metrics.limits),
  }),
});

function emptyPoints(range: GrainedRange, { secondsMax, pointsMax }: MetricsLimits): { timestamp: number }[] {
  const seconds = range.to - range.from;
  if (seconds > secondsMax || seconds / range.grain > pointsMax) throw tooMuchData();
  return pointsOf(range).map((timestamp) => ({ timestamp }));
}

const spansMax = 100;
const valuesOfFacetMax = 50;

const Span = closed({
  id: Type.String(),
  label: Type.String(),
  percentage: nullable(Type.Number({ description: 'The share of requests that have it, 0 to 1.' })),
  wt: Type.Number({ description: 'Microseconds on average, as all wall times.' }),
  p_96: Type.Number(),
  count: Type.Integer(),
  request_wt: Type.Number({ description: 'On average, of the requests that have it.' }),
  metrics: Type.Array(Type.String()),
  service_name: Type.String(),
  impact: Type.Number({ description: 'Its share of the wall time of all requests, 0 to 1.' }),
});

interface SpansRequest extends ServerRequest<FilterName> {
  sort: SpanSort;
}

function readSpansRequest(reading: Reading): SpansRequest | undefined {
  const request = readServerRequest(reading, filterNames);
  const sort = choice(reading, 'sort', spanSorts, 'impact');
  return request && { ...request, sort };
}

export const listTopSpans = operation({
  ...aboutEnvironment,
  summary: 'List the parts of requests that took most, such as queries',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/server/top-spans',
  query: judgedQuery({ ...serverParameters(filterNames), sort: Choice(spanSorts, 'impact') }, readSpansRequest),
  returns: plain(
    Reply({
      ...ServerEnvelope(filterNames),
      _sort: nullable(Type.String({ enum: [...spanSorts] })),
      top_spans: Data(Span),
      advanced_filters: FacetFields,
    }),
  ),
  handle: async (request, platform) => {
    const { query, target } = request;
    const asked = { ...scopeOf(target), from: query.from, to: query.to, filters: query.filters };
    const answer = await inTurn(request, platform, async () => {
      const spans = await platform.metrics.topSpans({ ...asked, sort: query.sort, limit: spansMax });
      const facets = await platform.metrics.facets({ ...asked, of: 'spans', valuesMax: valuesOfFacetMax });
      return isTooMuch(spans) ? spans : isTooMuch(facets) ? facets : { spans, facets };
    });
    return { ...serverEnvelope(askedEnvironment(target, platform.config), query), _sort: query.sort, ...spansReply(answer) };
  },
});

const spansReply = ({ spans, facets }: { spans: SpanRow[]; facets: Facet[] }) => ({
  top_spans: { data: spans.map((span) => ({ ...span, metrics: [] })) },
  advanced_filters: facetFields(facets, filterNames.length),
});
