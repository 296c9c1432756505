/**
 * Long lists of the account family: `page[size]`, `page[before]`, `page[after]`, `sort` and `filter[field][operator]`; older clients count pages
 * instead, with `page` and `range`.
 * A cursor holds the sort value and the id of a row, so pages stay stable while rows are added, and page 100 costs what page 1 costs:
 * one indexed query and one count. Sort columns must not be null.
 */
import { sql, type ExpressionBuilder, type SelectQueryBuilder } from 'kysely';
import { invalidField, Problem } from './problem.ts';

export interface Listing {
  /** The first is the default; a caller writes `-name` for descending. */
  sort: readonly [string, ...string[]];
  filter?: Record<string, FilterKind>;
  sizeMax?: number;
  sizeDefault?: number;
  /** The name of the array in the reply; `items` unless told. */
  key?: string;
  /** Without `count`, where the published API has a closed object without it. */
  uncounted?: true;
  /** Without the object around it, for the few lists of the account family that are bare arrays. */
  bare?: true;
}

/** Which operators a filter of each kind understands. */
export const filterOperators = {
  string: ['eq', 'ne', 'in', 'nin', 'between', 'contains', 'starts', 'ends'],
  array: ['eq', 'ne', 'in', 'nin'],
  time: ['eq', 'ne', 'between', 'gt', 'gte', 'lt', 'lte'],
} as const;

export type FilterKind = keyof typeof filterOperators;

export interface Filter {
  field: string;
  kind: FilterKind;
  operator: string;
  values: string[];
}

export interface ListRequest {
  size: number;
  sort: { field: string; descending: boolean };
  filters: Filter[];
  from: { direction: 'after' | 'before'; value: string; id: string } | undefined;
  /** Rows before the page, for those who count pages. */
  skipped: number;
}

export interface Page<Row> {
  rows: Row[];
  /** How many rows there are on all pages. */
  count: number;
  before?: string;
  after?: string;
}

export const pageSizeDefault = 20;
export const pageSizeMax = 100;
const filterValuesMax = 100;

type Tree = { [name: string]: unknown };
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads the list parameters of a query string; refuses all that is wrong with them at once, by name. */
export function parseListRequest(listing: Listing, query: Tree): ListRequest {
  const fields: Record<string, string> = {};
  const size = parseSize(listing, query, fields);
  const request: ListRequest = {
    size,
    sort: parseSort(listing, query['sort'], fields),
    filters: parseFilters(listing, query['filter'], fields),
    from: parseCursor(query, fields),
    skipped: (pageNumber(query['page']) - 1) * size,
  };
  const names = Object.keys(fields);
  if (names.length > 0) throw new Problem('invalid-request', names.map((name) => `${name} ${fields[name]}.`).join(' '), { fields });
  return request;
}

const pageNumberMax = 10_000;

/** Counted from 1; the first page where the caller names none. */
export const pageNumber = (page: unknown) =>
  typeof page === 'string' && /^[1-9]\d{0,8}$/.test(page) ? Math.min(Number(page), pageNumberMax) : 1;

function parseSize(
  { sizeMax = pageSizeMax, sizeDefault = pageSizeDefault }: Listing,
  { page, range }: Tree,
  fields: Record<string, string>,
) {
  if (!isTree(page) && typeof range === 'string' && /^[1-9]\d{0,8}$/.test(range)) return Math.min(Number(range), sizeMax);
  const size = isTree(page) ? page['size'] : undefined;
  if (size === undefined) return Math.min(sizeDefault, sizeMax);
  const number = typeof size === 'string' && /^\d{1,9}$/.test(size) ? Number(size) : 0;
  if (number < 1 || number > sizeMax) fields['page[size]'] = `must be a number from 1 to ${sizeMax}`;
  return number;
}

function parseSort({ sort: [first, ...others] }: Listing, value: unknown, fields: Record<string, string>) {
  if (value === undefined) return { field: first, descending: false };
  const text = typeof value === 'string' ? value : '';
  const field = text.replace(/^-/, '');
  if (![first, ...others].includes(field))
    fields['sort'] = `must be one of ${[first, ...others].join(', ')}, with - before it for descending`;
  return { field, descending: text.startsWith('-') };
}

function parseFilters({ filter: known = {} }: Listing, value: unknown, fields: Record<string, string>): Filter[] {
  if (value === undefined) return [];
  if (!isTree(value)) {
    fields['filter'] = 'must name a field, as in filter[name]=value';
    return [];
  }
  return Object.entries(value).flatMap(([field, wanted]) => {
    const kind = Object.hasOwn(known, field) ? known[field] : undefined;
    if (!kind) {
      fields[`filter[${field}]`] = `is not a filter of this list; the filters are ${Object.keys(known).join(', ') || 'none'}`;
      return [];
    }
    return conditionsOf(wanted).flatMap(([operator, operand]) => parseFilter(field, kind, operator, operand, fields));
  });
}

/** `filter[a]=x`, `filter[a][in]=x,y`, and as older clients write it: `filter[a][value][]=x&filter[a][operator]=IN`. */
function conditionsOf(wanted: unknown): [operator: string, operand: unknown][] {
  if (!isTree(wanted)) return [['eq', wanted]];
  if (!('value' in wanted)) return Object.entries(wanted).map(([operator, operand]) => [plainOperator(operator), operand]);
  const { value, operator = Array.isArray(value) ? 'in' : 'eq', ...others } = wanted;
  return [[plainOperator(String(operator)), value], ...Object.entries(others)];
}

const spellings: Record<string, string> = {
  '=': 'eq',
  '<>': 'ne',
  '!=': 'ne',
  '>': 'gt',
  '>=': 'gte',
  '<': 'lt',
  '<=': 'lte',
  'not in': 'nin',
  starts_with: 'starts',
  ends_with: 'ends',
};

function plainOperator(operator: string): string {
  const lower = operator.toLowerCase();
  return spellings[lower] ?? lower;
}

const isTime = (value: string) => /^\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/.test(value) && !Number.isNaN(Date.parse(value));

function parseFilter(field: string, kind: FilterKind, operator: string, operand: unknown, fields: Record<string, string>): Filter[] {
  const refuse = (name: string, message: string) => {
    fields[name] = message;
    return [];
  };
  const operators: readonly string[] = filterOperators[kind];
  if (!operators.includes(operator))
    return refuse(`filter[${field}][${operator}]`, `is not an operator; use one of ${operators.join(', ')}`);
  const several = operator === 'in' || operator === 'nin' || operator === 'between';
  const listed = (Array.isArray(operand) ? operand : [operand]).flatMap((value: unknown) =>
    typeof value === 'string' ? (several ? value.split(',') : [value]) : [],
  );
  const name = `filter[${field}][${operator}]`;
  if (listed.length === 0 || listed.length > filterValuesMax) return refuse(name, `must have 1 to ${filterValuesMax} values`);
  if (!several && listed.length !== 1) return refuse(name, 'must have one value');
  if (operator === 'between' && listed.length !== 2) return refuse(name, 'must have two values separated by a comma');
  if (kind === 'time' && !listed.every(isTime)) return refuse(name, notATime);
  return [{ field, kind, operator, values: listed }];
}

function parseCursor({ page }: Tree, fields: Record<string, string>): ListRequest['from'] {
  if (!isTree(page)) return undefined;
  const direction = page['after'] !== undefined ? 'after' : 'before';
  const cursor = page[direction];
  if (cursor === undefined) return undefined;
  const read = typeof cursor === 'string' ? readCursor(cursor) : undefined;
  if (read) return { direction, ...read };
  fields[`page[${direction}]`] = notACursor;
  return undefined;
}

const notATime = 'must be a date such as 2026-01-31T12:00:00Z';
const notACursor = 'is not a cursor of this list; take it from the next or previous link';

const writeCursor = (value: string, id: string) => Buffer.from(JSON.stringify([value, id])).toString('base64url');

function readCursor(cursor: string) {
  try {
    const [value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    return typeof value === 'string' && typeof id === 'string' && !`${value}${id}`.includes('\0') ? { value, id } : undefined;
  } catch {
    return undefined;
  }
}

/** Runs a list request on a query whose selected columns carry the names of the sort and filter fields. */
export async function paged<Row extends object>(
  query: SelectQueryBuilder<any, any, Row>,
  { size, sort, filters, from, skipped }: ListRequest,
  idColumn = 'id',
): Promise<Page<Row>> {
  const backwards = from?.direction === 'before';
  const ascending = sort.descending === backwards;
  const filtered = filters.reduce((narrowed, filter) => narrowed.where((eb) => condition(eb, filter)), query);
  const keyed = from
    ? filtered.where(
        sql<boolean>`(${sql.ref(sort.field)}, ${sql.ref(idColumn)}) ${sql.raw(ascending ? '>' : '<')} (${from.value}, ${from.id})`,
      )
    : filtered;
  const order = ascending ? 'asc' : 'desc';
  const [found, total] = await Promise.all([
    keyed
      .orderBy(sql.ref(sort.field), order)
      .orderBy(sql.ref(idColumn), order)
      .offset(skipped)
      .limit(size + 1)
      .execute(),
    filtered
      .clearSelect()
      .select(sql<number>`count(*)::int`.as('count'))
      .executeTakeFirstOrThrow() as Promise<{ count: number }>,
  ]).catch((error: unknown) => {
    throw isDataException(error) ? unreadable(filters, from) : error;
  });
  const more = found.length > size;
  const rows = found.slice(0, size);
  if (backwards) rows.reverse();
  const cursorOf = (row: Row | undefined) => {
    const columns = row as Record<string, unknown> | undefined;
    return columns && writeCursor(String(columns[sort.field]), String(columns[idColumn]));
  };
  const before = (backwards ? more : from || skipped > 0) ? cursorOf(rows[0]) : undefined;
  const after = (backwards ? true : more) ? cursorOf(rows.at(-1)) : undefined;
  return { rows, count: total.count, ...(before && { before }), ...(after && { after }) };
}

/** Only the database knows whether a cursor holds values of the columns' types, and that there is no 30th of February. */
const isDataException = (error: unknown) => (error as { code?: string }).code?.startsWith('22') ?? false;

function unreadable(filters: Filter[], from: ListRequest['from']) {
  const time = filters.find(({ kind }) => kind === 'time');
  return from && !time ? invalidField(`page[${from.direction}]`, notACursor) : invalidField(`filter[${time?.field}]`, notATime);
}

const escapeLike = (text: string) => text.replace(/[\\%_]/g, String.raw`\$&`);

function condition(eb: ExpressionBuilder<any, any>, { field, kind, operator, values }: Filter) {
  /** Compared as text, so that what is no id is not found rather than refused by the database. */
  const column = kind === 'string' ? sql`${sql.ref(field)}::text` : sql.ref(field);
  const [first = '', second = ''] = values;
  const list = sql`(${sql.join(values)})`;
  const ofKind = (value: string) => (kind === 'time' ? sql`${value}::timestamptz` : sql`${value}`);
  if (kind === 'array') {
    const overlaps =
      operator === 'eq' || operator === 'ne' ? sql<boolean>`${first} = any(${column})` : sql<boolean>`${column} && ${values}::text[]`;
    return operator === 'ne' || operator === 'nin' ? eb.not(overlaps) : overlaps;
  }
  const conditions: Record<string, ReturnType<typeof sql<boolean>>> = {
    eq: sql`${column} = ${ofKind(first)}`,
    ne: sql`${column} <> ${ofKind(first)}`,
    in: sql`${column} in ${list}`,
    nin: sql`${column} not in ${list}`,
    between: sql`${column} between ${ofKind(first)} and ${ofKind(second)}`,
    gt: sql`${column} > ${ofKind(first)}`,
    gte: sql`${column} >= ${ofKind(first)}`,
    lt: sql`${column} < ${ofKind(first)}`,
    lte: sql`${column} <= ${ofKind(first)}`,
    contains: sql`${column} ilike ${`%${escapeLike(first)}%`}`,
    starts: sql`${column} ilike ${`${escapeLike(first)}%`}`,
    ends: sql`${column} ilike ${`%${escapeLike(first)}`}`,
  };
  const chosen = conditions[operator];
  if (!chosen) throw new Error(`No SQL for filter operator ${operator}`);
  return chosen;
}
