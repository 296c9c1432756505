/**
 * What a request for the breakdown of transactions asks, from its query as it was sent. Every rule that is broken is told under its parameter, all at once. Arrays are written `name[]=value` or
 * `name[0]=value`.
 */
import {
  breakdownSorts,
  dimensions,
  filterNames,
  type BreakdownSort,
  type Dimension,
  type Filter,
  type FilterMode,
  type FilterName,
} from '../../drivers/metrics/breakdown.ts';
import { grainOf } from '../../drivers/metrics/grain.ts';
import { contexts } from '../../drivers/metrics/metrics.ts';

export type Violations = Record<string, string[]>;

export interface BreakdownRequest {
  from: number;
  to: number;
  grain: number;
  dimension: Dimension;
  sort: BreakdownSort;
  limit: number;
  distributionCost: DistributionCost;
  filters: Record<FilterName, Filter>;
}

export const distributionCosts = ['wt', 'pmu'] as const;
export type DistributionCost = (typeof distributionCosts)[number];

/** 400: what is wrong, by parameter. */
export interface BreakdownProblem {
  type: string;
  title: string;
  status: 400;
  violations: Violations;
}

export const breakdownProblem = (violations: Violations): BreakdownProblem => ({
  type: 'https://tools.ietf.org/html/rfc2616#section-1',
  title: 'Please ensure parameters are correct.',
  status: 400,
  violations,
});

/** 499: what would be read is too much. */
export const tooMuchData = {
  error: 'Too much data fetched',
  message: 'Please reduce the time range or add more filters to narrow down the query',
};

export const limitDefault = 200;
const limitMax = 300;
/** What one filter may name. */
const valuesMax = 1000;

const modes: Readonly<Record<string, FilterMode>> = { '1': 'additive', '-1': 'subtractive' };

/** `now` in Unix seconds. */
export function parseBreakdownRequest(query: string, now: number): BreakdownRequest | { violations: Violations } {
  const parameters = new URLSearchParams(query);
  const violations: Violations = {};
  const violate = (name: string, message: string) => (violations[name] ??= []).push(message);
  const read: Reading = { parameters, violate };

  const from = wholeNumber(read, 'from');
  const to = wholeNumber(read, 'to');
  const grain = wholeNumber(read, 'grain');
  for (const [name, value] of Object.entries({ from, to }))
    if (value === undefined && !violations[name]) violate(name, 'This value is required.');
  if (from !== undefined && from >= now) violate('from', 'The from timestamp must be in the past.');
  if (from !== undefined && to !== undefined && to <= from) violate('to', 'The to timestamp must be greater than the from timestamp.');
  if (grain !== undefined && grain < 1) violate('grain', 'This value should be at least 1.');
  if (grain !== undefined && from !== undefined && to !== undefined && to > from && grain > to - from)
    violate('grain', 'Grain can not be larger than the selection windows.');
  const limit = wholeNumber(read, 'breakdown_limit') ?? limitDefault;
  if (limit < 1 || limit > limitMax) violate('breakdown_limit', `This value should be between 1 and ${limitMax}.`);

  const request = {
    dimension: choice(read, 'breakdown_dimension', dimensions, 'wt'),
    sort: choice(read, 'sort', breakdownSorts, 'impact'),
    limit,
    distributionCost: choice(read, 'distribution_cost', distributionCosts, 'wt'),
    filters: Object.fromEntries(filterNames.map((name) => [name, filterOf(read, name)])) as Record<FilterName, Filter>,
  };
  if (from === undefined || to === undefined || Object.keys(violations).length > 0) return { violations };
  return { from, to, grain: grain ?? grainOf({ from, to }), ...request };
}

interface Reading {
  parameters: URLSearchParams;
  violate(name: string, message: string): void;
}

/** Undefined: it is absent, or wrong. */
function wholeNumber({ parameters, violate }: Reading, name: string): number | undefined {
  const value = parameters.get(name);
  if (value === null) return undefined;
  const number = Number(value);
  if (/^-?\d+$/.test(value) && Number.isSafeInteger(number)) return number;
  violate(name, 'This value should be of type integer.');
  return undefined;
}

function choice<T extends string>({ parameters, violate }: Reading, name: string, choices: readonly T[], byDefault: T): T {
  const value = parameters.get(name);
  const chosen = value === null ? byDefault : choices.find((each) => each === value);
  if (chosen === undefined) violate(name, `This value should be one of ${choices.join(', ')}.`);
  return chosen ?? byDefault;
}

/** Without a mode: only the values, where there are any. Contexts, where nothing is said of them: only `web`. */
function filterOf(read: Reading, name: FilterName): Filter {
  const { parameters, violate } = read;
  const values = arrayOf(parameters, name);
  const written = parameters.get(`${name}_mode`);
  if (values.length > valuesMax) violate(name, `This value should have at most ${valuesMax} elements.`);
  if (name === 'contexts') {
    if (values.some((value) => !contexts.some((context) => context === value))) violate(name, 'Each value should be one of web, cli.');
    if (values.length === 0 && written === null) return { values: ['web'], mode: 'additive' };
  }
  if (written === null) return { values, mode: values.length > 0 ? 'additive' : 'subtractive' };
  const mode = Object.hasOwn(modes, written) ? modes[written] : undefined;
  if (mode === undefined) violate(`${name}_mode`, 'This value should be one of 1, -1.');
  return { values, mode: mode ?? 'additive' };
}

/** Each value once, in the order in which they were sent. */
const arrayOf = (parameters: URLSearchParams, name: string): string[] => {
  const written = new RegExp(String.raw`^${name}\[\d*\]$`);
  return [...new Set([...parameters].flatMap(([key, value]) => (key === name || written.test(key) ? value : [])))];
};
