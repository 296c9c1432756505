/** Counts the values that spans or requests can be filtered by. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { filterNames } from '../breakdown.ts';
import type { Facet, FacetsQuestion } from '../facets.ts';
import { isTooMuch, type TooMuch } from '../metrics.ts';
import { trafficFilterNames } from '../questions.ts';
import { conditionsOf as trafficConditionsOf, filterColumns as trafficColumns } from './answer-traffic.ts';
import { columnsOf, numbersIn, textsIn } from './database.ts';
import { matchSeries } from './matching-series.ts';
import type { Partition } from './partition.ts';
import { allRecords, type Bounds, type RecordPiece } from './pieces.ts';
import { filterColumns } from './tables.ts';

/** Rows with a column for each facet, and how many records each row stands for. */
interface Counted {
  names: readonly string[];
  sql: string;
  values: string[];
}

export async function answerFacets(
  connection: DuckDBConnection,
  partitions: readonly Partition[],
  question: FacetsQuestion,
  bounds: Bounds,
): Promise<Facet[] | TooMuch> {
  const pieces = allRecords(partitions, question, question, bounds);
  if (isTooMuch(pieces) || pieces.length === 0) return pieces as TooMuch | [];
  const { names, sql, values } =
    question.of === 'spans' ? await countedSpans(connection, pieces, question.filters) : countedRequests(pieces, question.filters);
  const facets = names.map((name) => `select '${name}' as facet, "${name}" as value, sum(records) as records from counted group by value`);
  const rows = await columnsOf(
    connection,
    `with counted as materialized (${sql}), facets as (${facets.join(' union all ')})
     select facet, value, records::double as records, (count(*) over (partition by facet))::double as distinct_values from facets where value <> ''
     qualify row_number() over (partition by facet order by records desc, value) <= ${question.valuesMax} order by facet, records desc, value`,
    values,
  );
  const found = Map.groupBy(textsIn(rows, 'facet').keys(), (nth) => textsIn(rows, 'facet')[nth] ?? '');
  const at = (column: string, nth: number) => numbersIn(rows, column)[nth] ?? 0;
  return names.flatMap((name) => {
    const own = found.get(name) ?? [];
    const [first] = own;
    if (first === undefined) return [];
    const told = own.map((nth) => ({ value: textsIn(rows, 'value')[nth] ?? '', count: at('records', nth) }));
    return [{ name, distinct: at('distinct_values', first), values: told }];
  });
}

/** Spans are counted by series first, of which there are few. */
async function countedSpans(
  connection: DuckDBConnection,
  pieces: readonly RecordPiece[],
  filters: Extract<FacetsQuestion, { of: 'spans' }>['filters'],
): Promise<Counted> {
  const series = await matchSeries(connection, pieces, filters);
  const columns = filterNames.map((name) => `${filterColumns[name][0]} as "${name}"`).join(', ');
  const parts = pieces.map(({ partition, environment, from, to }) => {
    const tables = ['records', 'recent'].map(
      (table) =>
        `select each.series from "${partition.catalog}".${table} as each join ${series.in(partition).table} as matching using (series)
         where each.environment = ${environment} and each.time >= ${from} and each.time < ${to}`,
    );
    return `select ${columns}, records from (select series, count(*) as records from (${tables.join(' union all ')}) group by series) as found
      join "${partition.catalog}".series as described on described.id = found.series`;
  });
  return { names: filterNames, sql: parts.join(' union all '), values: [] };
}

function countedRequests(pieces: readonly RecordPiece[], filters: Extract<FacetsQuestion, { of: 'requests' }>['filters']): Counted {
  const { sql, values } = trafficConditionsOf(filters);
  const columns = trafficFilterNames.map((name) => `${trafficColumns[name]} as "${name}"`).join(', ');
  const parts = pieces.flatMap(({ partition, environment, from, to }) =>
    ['records', 'recent'].map(
      (table) =>
        `select ${columns} from "${partition.catalog}".${table}
         where environment = ${environment} and time >= ${from} and time < ${to} and ${sql}`,
    ),
  );
  return { names: trafficFilterNames, sql: `select *, count(*) as records from (${parts.join(' union all ')}) group by all`, values };
}
