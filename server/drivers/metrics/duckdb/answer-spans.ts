/** Which parts of requests took how long. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { percentile } from '../breakdown.ts';
import { isTooMuch, type TooMuch } from '../metrics.ts';
import type { SpanRow, SpansQuestion, SpanSort } from '../questions.ts';
import { columnsOf, numbersIn, textsIn } from './database.ts';
import { matchSeries } from './matching-series.ts';
import type { Partition } from './partition.ts';
import { allRecords, type Bounds } from './pieces.ts';

const columnOfSort: Record<SpanSort, string> = {
  percentage: 'by_request.traces',
  p_96: 'p_96',
  count: 'count',
  wt: 'by_span.wt',
  'exec-time': 'consumed',
  impact: 'consumed',
};

export async function answerSpans(
  connection: DuckDBConnection,
  partitions: readonly Partition[],
  question: SpansQuestion,
  bounds: Bounds,
): Promise<SpanRow[] | TooMuch> {
  const pieces = allRecords(partitions, question, question, bounds);
  if (isTooMuch(pieces)) return pieces;
  if (pieces.length === 0) return [];
  const series = await matchSeries(connection, pieces, question.filters);
  const spans = pieces.flatMap(({ partition, environment, from, to }) =>
    ['records', 'recent'].map(
      (table) =>
        `select each.span, each.label, each.service, each.trace, each.span_wt, each.wt
         from "${partition.catalog}".${table} as each join ${series.in(partition).table} as matching using (series)
         where each.environment = ${environment} and each.time >= ${from} and each.time < ${to}`,
    ),
  );
  const rows = await columnsOf(
    connection,
    `with spans as materialized (${spans.join(' union all ')}),
       requests as (select span, trace, max(wt) as wt from spans group by span, trace),
       whole as (select count(*)::double as traces, sum(wt)::double as wt from (select trace, max(wt) as wt from spans group by trace)),
       by_span as (select span, min(label) as label, min(service) as service, count(*)::double as count, avg(span_wt) as wt,
         quantile_disc(span_wt, ${percentile})::double as p_96, sum(span_wt)::double as consumed from spans group by span),
       by_request as (select span, count(*)::double as traces, avg(wt) as request_wt from requests group by span)
     select span, label, service, count, by_span.wt, p_96, request_wt, by_request.traces / whole.traces as percentage,
       case when whole.wt > 0 then least(1, consumed / whole.wt) else 0 end as impact
     from by_span join by_request using (span), whole order by ${columnOfSort[question.sort]} desc, span limit ${question.limit}`,
  );
  const at = (column: string, nth: number) => numbersIn(rows, column)[nth] ?? 0;
  return textsIn(rows, 'span').map((id, nth) => ({
    id,
    label: textsIn(rows, 'label')[nth] ?? '',
    service_name: textsIn(rows, 'service')[nth] ?? '',
    count: at('count', nth),
    wt: at('wt', nth),
    p_96: at('p_96', nth),
    request_wt: at('request_wt', nth),
    percentage: at('percentage', nth),
    impact: at('impact', nth),
  }));
}
