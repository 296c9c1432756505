/** The reply to a request for the breakdown of transactions, as published: what was asked, as it was understood, and the answer. */
import { Type } from 'typebox';
import { breakdownSorts, dimensions, filterNames, topHits, type Breakdown, type BreakdownRow } from '../../drivers/metrics/breakdown.ts';
import { closed, nullable } from '../../kernel/schema.ts';
import { Agent, Data, Echo, echo, Envelope, envelope, Grain, MapOf, modeWords, Reply, type AskedEnvironment } from './asked-environment.ts';
import { distributionCosts, type BreakdownRequest } from './breakdown-request.ts';

const Href = closed({ href: Type.String({ format: 'uri' }) });

const Transaction = closed({
  transaction: Type.String(),
  wt_96th_percentile: Type.Number({ description: 'Microseconds, as all wall times.' }),
  avg_wt: Type.Number(),
  avg_pmu: Type.Number({ description: 'Bytes.' }),
  avg_stdout: Type.Number({ description: 'Bytes.' }),
  total_requests: Type.Number(),
  total_requests_unnamed: Type.Number(),
  total_errors: Type.Number({ description: 'How many were answered with 5xx.' }),
  impact: nullable(Type.Number({ description: 'Percent of what all transactions took.' })),
  top_hit: Type.Boolean(),
  _links: closed({ top_spans: Href, recommendations: Href, profiles: Href }),
});

const Point = closed({
  timestamp: Type.Integer(),
  _total_consumed: Type.Optional(Type.Number()),
  _total_count: Type.Optional(Type.Number()),
  _transactions: Type.Optional(MapOf(closed({ average: Type.Number(), count: Type.Number() }))),
});

export const BreakdownReply = Reply({
  ...Grain,
  ...Envelope,
  ...Agent,
  ...Echo(filterNames, modeWords),
  _distribution_cost: Type.String({ enum: [...distributionCosts] }),
  _breakdown_dimension: Type.String({ enum: [...dimensions] }),
  _sort: nullable(Type.String({ enum: [...breakdownSorts] })),
  _breakdown_limit: Type.Integer(),
  _breakdown_top_hits: closed({ max_quantity: Type.Integer(), max_percentage: Type.Number() }),
  transactions: Data(Transaction),
  top_hits_timeline: Data(Point),
});

export const breakdownReply = (environment: AskedEnvironment, request: BreakdownRequest, { rows, timeline }: Breakdown) => ({
  ...envelope(environment, request),
  _grain: request.grain,
  _agent: environment.agent,
  ...echo(request.filters, modeWords),
  _distribution_cost: request.distributionCost,
  _breakdown_dimension: request.dimension,
  _sort: request.sort,
  _breakdown_limit: request.limit,
  _breakdown_top_hits: { max_quantity: topHits.maxQuantity, max_percentage: topHits.maxPercentage },
  transactions: { data: rows.map((row) => ({ ...row, _links: linksOf(environment, request, row) })) },
  top_hits_timeline: { data: timeline },
});

function linksOf({ observability }: AskedEnvironment, { from, to }: BreakdownRequest, { transaction }: BreakdownRow) {
  const name = encodeURIComponent(transaction);
  return {
    // Brackets have to be escaped in a URL.
    top_spans: { href: `${observability}/server/top-spans?transactions%5B0%5D=${name}&from=${from}&to=${to}` },
    recommendations: { href: `${observability}/profiles/recommendations?transaction=${name}` },
    profiles: { href: `${observability}/profiles?transaction=${name}` },
  };
}
