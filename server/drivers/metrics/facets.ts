/** What there is to filter by: the values that spans and requests have, and how often. */
import type { Filters, TimeRange } from './breakdown.ts';
import type { Scope } from './metrics.ts';
import type { TrafficQuestion } from './questions.ts';

export type FacetsQuestion = Scope &
  TimeRange & {
    /** How many values of a facet are answered, the most frequent first. */
    valuesMax: number;
  } & ({ of: 'spans'; filters: Filters } | { of: 'requests'; filters: TrafficQuestion['filters'] });

/** Of records that the filters let through. What is empty is no value. */
export interface Facet {
  /** A filter, named as in the API. */
  name: string;
  distinct: number;
  values: { value: string; count: number }[];
}
