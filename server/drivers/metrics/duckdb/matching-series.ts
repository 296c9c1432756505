/** The series that the filters of a question let through, and the transaction that each belongs to, as a number that is the same in all days. */
import { BOOLEAN, INTEGER, type DuckDBConnection } from '@duckdb/node-api';
import { filterNames, type Filters } from '../breakdown.ts';
import { appendColumns, columnsOf, numbersIn, textsIn } from './database.ts';
import type { Partition } from './partition.ts';
import { filterColumns } from './tables.ts';

export interface MatchingSeries {
  /** By number. */
  names: string[];
  in(partition: Partition): SeriesOfPartition;
}

export interface SeriesOfPartition {
  /** A temporary table (series, name, is_named, is_error) on the connection. */
  table: string;
  /** By series: the number of its transaction, or -1 where the filters leave it out. */
  nameOf: Int32Array;
  isNamed: Uint8Array;
  isError: Uint8Array;
}

/** Comparisons are with values that SQL is given apart, never with text put together. */
export function conditionsOf(filters: Filters, firstValue: number): { sql: string; values: string[] } {
  const [conditions, values]: [string[], string[]] = [[], []];
  for (const name of filterNames) {
    const filter = filters[name];
    if (!filter || (filter.mode === 'subtractive' && filter.values.length === 0)) continue;
    const places = filter.values.map((value) => {
      values.push(isCaseless.has(name) ? value.toLowerCase() : value);
      return `$${firstValue + values.length - 1}`;
    });
    const matches = filterColumns[name].map((column) => (places.length === 0 ? 'false' : `${column} in (${places.join(', ')})`));
    conditions.push(filter.mode === 'additive' ? `(${matches.join(' or ')})` : `not (${matches.join(' or ')})`);
  }
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' and '), values };
}

const isCaseless: ReadonlySet<string> = new Set(['methods', 'http_status_codes']);

interface Environment {
  partition: Partition;
  environment: number;
}

export async function matchSeries(
  connection: DuckDBConnection,
  environments: readonly Environment[],
  filters: Filters,
): Promise<MatchingSeries> {
  const numbers = new Map<string, number>();
  const found = new Map<Partition, SeriesOfPartition>();
  const { sql, values } = conditionsOf(filters, 1);
  for (const { partition, environment } of environments)
    if (!found.has(partition)) {
      const rows = await columnsOf(
        connection,
        `select id, transaction, is_named::integer as is_named, (status >= 500)::integer as is_error
           from "${partition.catalog}".series where environment = ${environment} and ${sql}`,
        values,
      );
      const names = textsIn(rows, 'transaction').map((name) => {
        const number = numbers.get(name) ?? numbers.size;
        numbers.set(name, number);
        return number;
      });
      const series = { ids: numbersIn(rows, 'id'), names, isNamed: numbersIn(rows, 'is_named'), isError: numbersIn(rows, 'is_error') };
      found.set(partition, await seriesTable(connection, `matching_${found.size}`, series));
    }
  const names = [...numbers.keys()];
  return {
    names,
    in(partition) {
      const series = found.get(partition);
      if (!series) throw new Error(`${partition.catalog} is not part of the question`);
      return series;
    },
  };
}

interface SeriesRows {
  ids: readonly number[];
  names: readonly number[];
  isNamed: readonly number[];
  isError: readonly number[];
}

async function seriesTable(
  connection: DuckDBConnection,
  table: string,
  { ids, names, isNamed, isError }: SeriesRows,
): Promise<SeriesOfPartition> {
  await connection.run(`create temp table ${table} (series integer, name integer, is_named boolean, is_error boolean)`);
  const flags = (list: readonly number[]) => list.map((flag) => flag === 1);
  const types = [INTEGER, INTEGER, BOOLEAN, BOOLEAN];
  await appendColumns(connection, { catalog: 'temp', table, types }, [ids, names, flags(isNamed), flags(isError)]);
  const length = ids.reduce((most, id) => Math.max(most, id), 0) + 1;
  const series = { table, nameOf: new Int32Array(length).fill(-1), isNamed: new Uint8Array(length), isError: new Uint8Array(length) };
  for (const [nth, id] of ids.entries()) {
    series.nameOf[id] = names[nth] ?? -1;
    series.isNamed[id] = isNamed[nth] ?? 0;
    series.isError[id] = isError[nth] ?? 0;
  }
  return series;
}
