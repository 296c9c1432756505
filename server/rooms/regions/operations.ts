import { one, operation, page } from '../../kernel/operation.ts';
import type { Filter } from '../../kernel/paging.ts';
import { RegionEntity, regionsOf, type Region } from './region.ts';

export const listRegions = operation({
  summary: 'List the regions',
  endpoint: 'GET /regions',
  permission: 'signed-in',
  returns: page(RegionEntity, {
    key: 'regions',
    sort: ['id', 'created_at', 'updated_at'],
    filter: { available: 'string', private: 'string', zone: 'string' },
  }),
  /** There is one region, so the list is always one page, and every order is the same. */
  handle: async ({ list: { filters } }, { config }) => {
    const rows = regionsOf(config).filter((region) => filters.every((filter) => fits(region, filter)));
    return { rows, count: rows.length };
  },
});

export const getRegion = operation({
  summary: 'Get a region',
  endpoint: 'GET /regions/{region_id}',
  on: RegionEntity,
  permission: 'signed-in',
  returns: one(RegionEntity),
  handle: async ({ target }) => target,
});

/** The filter operators that `paged()` leaves to PostgreSQL, for values in memory. */
const operators: Record<string, (value: string, wanted: string[]) => boolean> = {
  eq: (value, [wanted]) => value === wanted,
  ne: (value, [wanted]) => value !== wanted,
  in: (value, wanted) => wanted.includes(value),
  nin: (value, wanted) => !wanted.includes(value),
  between: (value, [from = '', to = '']) => from <= value && value <= to,
  contains: (value, [part = '']) => value.toLowerCase().includes(part.toLowerCase()),
  starts: (value, [part = '']) => value.toLowerCase().startsWith(part.toLowerCase()),
  ends: (value, [part = '']) => value.toLowerCase().endsWith(part.toLowerCase()),
};

/** Some clients send `1` for true and `0` for false. */
const booleans: Record<string, string> = { '1': 'true', '0': 'false' };

function fits(region: Region, { field, operator, values }: Filter) {
  const value = region[field as 'available' | 'private' | 'zone'];
  const wanted = typeof value === 'boolean' ? values.map((text) => booleans[text] ?? text) : values;
  return operators[operator]?.(String(value), wanted) ?? false;
}
