/** HTTP traffic by URL, address of the visitor, or program of the visitor. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { percentile } from '../breakdown.ts';
import { isTooMuch, type TooMuch } from '../metrics.ts';
import {
  trafficFilterNames,
  type Traffic,
  type TrafficFilterName,
  type TrafficKind,
  type TrafficPoint,
  type TrafficQuestion,
  type TrafficRow,
} from '../questions.ts';
import { wallTimeSlots } from '../slots.ts';
import { columnsOf, numbersIn, textsIn } from './database.ts';
import { daySeconds, type Partition } from './partition.ts';
import { allRecords, tooLong, type Bounds } from './pieces.ts';

const durationSlot = `case ${wallTimeSlots.map(({ name, to }) => (Number.isFinite(to) ? `when wt < ${to} then '${name}'` : `else '${name}'`)).join(' ')} end`;

/** What the values of a filter are compared with; none of it comes from outside. */
export const filterColumns: Record<TrafficFilterName, string> = {
  applications: 'application',
  methods: 'upper(method)',
  domains: 'domain',
  code_slots: "(status // 100)::varchar || 'XX'",
  codes: 'status::varchar',
  request_duration_slots: durationSlot,
};

/** Two columns that a row is known by; addresses and programs have no method. */
const keyOf: Record<TrafficKind, string> = {
  url: 'url as name, upper(method) as method',
  ip: "ip as name, '' as method",
  user_agent: "user_agent as name, '' as method",
};

export function conditionsOf(filters: TrafficQuestion['filters']): { sql: string; values: string[] } {
  const values: string[] = [];
  const conditions = trafficFilterNames.flatMap((name) => {
    const filter = filters[name];
    if (!filter || (filter.mode === 'subtractive' && filter.values.length === 0)) return [];
    const places = filter.values.map((value) => {
      values.push(name === 'methods' || name === 'code_slots' ? value.toUpperCase() : value);
      return `$${values.length}`;
    });
    const isListed = places.length === 0 ? 'false' : `(${filterColumns[name]}) in (${places.join(', ')})`;
    return filter.mode === 'additive' ? isListed : `not (${isListed})`;
  });
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' and '), values };
}

export async function answerTraffic(
  connection: DuckDBConnection,
  partitions: readonly Partition[],
  question: TrafficQuestion,
  bounds: Bounds,
): Promise<Traffic | TooMuch> {
  const pieces = tooLong(question, question.grain, bounds) ?? allRecords(partitions, question, question, bounds);
  if (isTooMuch(pieces)) return pieces;
  if (pieces.length === 0) return { rows: [], distinct: 0, count: 0, consumed: 0, timeline: [] };
  const { sql, values } = conditionsOf(question.filters);
  const parts = pieces.flatMap(({ partition, environment, from, to }) =>
    ['records', 'recent'].map(
      (table) =>
        `select ${keyOf[question.by]}, (time // 1000 + ${partition.day * daySeconds}) // ${question.grain} * ${question.grain} as point,
           status, wt, request_bytes, response_bytes
         from "${partition.catalog}".${table} where environment = ${environment} and time >= ${from} and time < ${to} and ${sql}`,
    ),
  );
  await connection.run(`create temp table traffic as ${parts.join(' union all ')}`, values);
  const rows = await rowsOf(connection, question);
  const whole = await columnsOf(
    connection,
    `select count(*)::double as count, coalesce(sum(wt), 0)::double as consumed, count(distinct (name, method))::double as names from traffic`,
  );
  const total = (column: string) => numbersIn(whole, column)[0] ?? 0;
  return {
    rows,
    distinct: total('names'),
    count: total('count'),
    consumed: total('consumed'),
    timeline: await timelineOf(connection, question),
  };
}

const ranked = `select name, method, count(*)::double as count, avg(wt) as average, quantile_disc(wt, 0.5)::double as p_50,
  quantile_disc(wt, ${percentile})::double as p_96, sum(wt)::double as consumed from traffic group by name, method
  order by sum(wt) desc, count(*) desc, name, method`;

async function rowsOf(connection: DuckDBConnection, { by, limit, topHits }: TrafficQuestion): Promise<TrafficRow[]> {
  const rows = await columnsOf(connection, `${ranked} limit ${limit}`);
  const at = (column: string, nth: number) => numbersIn(rows, column)[nth] ?? 0;
  return textsIn(rows, 'name').map((name, nth) => ({
    name,
    method: by === 'url' ? textsIn(rows, 'method')[nth] : undefined,
    count: at('count', nth),
    average: at('average', nth),
    p_50: at('p_50', nth),
    p_96: at('p_96', nth),
    consumed: at('consumed', nth),
    top_hit: nth < topHits,
  }));
}

async function timelineOf(connection: DuckDBConnection, { topHits }: TrafficQuestion): Promise<TrafficPoint[]> {
  const rows = await columnsOf(
    connection,
    `with tops as (select name, method, (row_number() over ())::integer - 1 as top from (${ranked} limit ${topHits}))
     select point::double as point, coalesce(tops.top, -1) as top, (status // 100)::varchar as code, count(*)::double as count,
       sum(wt)::double as consumed, sum(request_bytes)::double as request_bytes, sum(response_bytes)::double as response_bytes
     from traffic left join tops using (name, method) group by all order by point`,
  );
  const points = new Map<number, TrafficPoint>();
  const at = (column: string, nth: number) => numbersIn(rows, column)[nth] ?? 0;
  for (const [nth, timestamp] of numbersIn(rows, 'point').entries()) {
    const point = points.get(timestamp) ?? { timestamp, count: 0, consumed: 0, requestBytes: 0, responseBytes: 0, codes: {}, tops: {} };
    points.set(timestamp, point);
    const [count, consumed, code] = [at('count', nth), at('consumed', nth), textsIn(rows, 'code')[nth] ?? '0'];
    point.count += count;
    point.consumed += consumed;
    point.requestBytes += at('request_bytes', nth);
    point.responseBytes += at('response_bytes', nth);
    point.codes[code] = (point.codes[code] ?? 0) + count;
    addToTop(point, at('top', nth), count, consumed);
  }
  return [...points.values()];
}

function addToTop({ tops }: TrafficPoint, top: number, count: number, consumed: number) {
  if (top < 0) return;
  const before = tops[top] ?? { average: 0, count: 0 };
  const all = before.count + count;
  tops[top] = { average: (before.average * before.count + consumed) / all, count: all };
}
