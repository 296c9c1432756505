/** What there is to filter by, as replies tell it. */
import { Type } from 'typebox';
import type { Facet } from '../../drivers/metrics/facets.ts';
import { closed } from '../../kernel/schema.ts';
import { MapOf } from './asked-environment.ts';

const Field = closed({
  distinct_values: Type.Integer(),
  type: Type.String(),
  values: Type.Array(closed({ value: Type.String(), count: Type.Integer() })),
});

export const FacetFields = closed({ fields: MapOf(Field), max_applicable_filters: Type.Integer() });

export const facetFields = (facets: readonly Facet[], max_applicable_filters: number) => ({
  fields: Object.fromEntries(facets.map(({ name, distinct, values }) => [name, { distinct_values: distinct, type: 'string', values }])),
  max_applicable_filters,
});
