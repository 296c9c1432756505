/** The reply to a request for the breakdown of transactions, as published: what was asked, as it was understood, and the answer. */
import { filterNames, topHits, type Breakdown, type BreakdownRow, type FilterName } from '../../drivers/metrics/breakdown.ts';
import type { BreakdownRequest } from './breakdown-request.ts';

export interface AskedEnvironment {
  /** A UUID. */
  agent: string;
  projectId: string;
  environmentId: string;
  machineName: string;
  /** The URL of the environment's observability. */
  observability: string;
}

/** Two filters are told in the singular. */
const toldAs: Partial<Record<FilterName, string>> = { wt_slots: 'wt_slot', pmu_slots: 'pmu_slot' };

export function breakdownReply(environment: AskedEnvironment, request: BreakdownRequest, { rows, timeline }: Breakdown) {
  const filters = filterNames.flatMap((name) => {
    const { values, mode } = request.filters[name];
    const told = toldAs[name] ?? name;
    return [[`_${told}`, values] as const, [`_${told}_mode`, mode] as const];
  });
  return {
    _grain: request.grain,
    _from: request.from,
    _to: request.to,
    _agent: environment.agent,
    _project_id: environment.projectId,
    _environment_id: environment.environmentId,
    _branch_machine_name: environment.machineName,
    ...Object.fromEntries(filters),
    _distribution_cost: request.distributionCost,
    _breakdown_dimension: request.dimension,
    _sort: request.sort,
    _breakdown_limit: request.limit,
    _breakdown_top_hits: { max_quantity: topHits.maxQuantity, max_percentage: topHits.maxPercentage },
    transactions: { data: rows.map((row) => ({ ...row, _links: linksOf(environment, request, row) })) },
    top_hits_timeline: { data: timeline },
  };
}

function linksOf({ observability }: AskedEnvironment, { from, to }: BreakdownRequest, { transaction }: BreakdownRow) {
  const name = encodeURIComponent(transaction);
  return {
    top_spans: { href: `${observability}/server/top-spans?transactions[0]=${name}&from=${from}&to=${to}` },
    recommendations: { href: `${observability}/profiles/recommendations?transaction=${name}` },
    profiles: { href: `${observability}/profiles?transaction=${name}` },
  };
}
