/** What a request for the breakdown of transactions asks. */
import {
  breakdownSorts,
  dimensions,
  filterNames,
  type BreakdownSort,
  type Dimension,
  type Filter,
  type FilterName,
} from '../../drivers/metrics/breakdown.ts';
import { contexts } from '../../drivers/metrics/metrics.ts';
import { Type } from 'typebox';
import {
  boundedNumber,
  Choice,
  choice,
  filterOf,
  filterParameters,
  grainedRangeOf,
  grainParameter,
  judgedQuery,
  rangeParameters,
  readQuery,
  type FilterRule,
  type GrainedRange,
  type Reading,
} from './query.ts';

export interface BreakdownRequest extends GrainedRange {
  dimension: Dimension;
  sort: BreakdownSort;
  limit: number;
  distributionCost: DistributionCost;
  filters: Record<FilterName, Filter>;
}

export const distributionCosts = ['wt', 'pmu'] as const;
export type DistributionCost = (typeof distributionCosts)[number];

export const limits = { least: 1, most: 300, byDefault: 200 };

/** Contexts, where nothing is said of them: only `web`. */
const filterRules: Partial<Record<FilterName, FilterRule>> = {
  contexts: { choices: contexts, unsaid: { values: ['web'], mode: 'additive' } },
};

export const filtersIn = <N extends FilterName>(reading: Reading, names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, filterOf(reading, name, filterRules[name])])) as Record<N, Filter>;

export const distributionCostIn = (reading: Reading) => choice(reading, 'distribution_cost', distributionCosts, 'wt');

/** What all questions about the server have in common. */
export const serverParameters = (names: readonly FilterName[]) => ({
  ...rangeParameters,
  ...grainParameter,
  ...filterParameters(names, { contexts }),
  distribution_cost: Choice(distributionCosts, 'wt'),
});

function readBreakdown(reading: Reading): BreakdownRequest | undefined {
  const range = grainedRangeOf(reading);
  const request = {
    dimension: choice(reading, 'breakdown_dimension', dimensions, 'wt'),
    sort: choice(reading, 'sort', breakdownSorts, 'impact'),
    limit: boundedNumber(reading, 'breakdown_limit', limits),
    distributionCost: distributionCostIn(reading),
    filters: filtersIn(reading, filterNames),
  };
  return range && { ...range, ...request };
}

/** `now` in Unix seconds. */
export const parseBreakdownRequest = (query: string, now: number) => readQuery(query, now, readBreakdown);

export const BreakdownQuery = judgedQuery(
  {
    ...serverParameters(filterNames),
    breakdown_dimension: Choice(dimensions, 'wt'),
    sort: Choice(breakdownSorts, 'impact'),
    breakdown_limit: Type.Optional(Type.Integer({ minimum: limits.least, maximum: limits.most, default: limits.byDefault })),
  },
  readBreakdown,
);
