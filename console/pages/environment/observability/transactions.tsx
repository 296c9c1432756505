/** Where the time goes: each transaction with what it took, and the most consuming of them over time. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { type Breakdown, breakdownQuery, type TransactionRow } from '../../../api/observability-queries.ts';
import { Chart } from '../../../chart/chart.tsx';
import { bytesText, countText, microsecondsText, percentText } from '../../../ui/amounts.ts';
import { saveCsv } from '../../../ui/csv.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Bones } from '../../../ui/notice.tsx';
import { Failure } from '../../page.tsx';
import { NoTransactions } from './no-transactions.tsx';
import { colouredTransactions, consumedOverTime, sumsOf } from './shape.ts';
import { Spans } from './spans.tsx';
import type { Looking } from './use-view.ts';
import { type Measure, measures, type Sort, sorts, withValue } from './view.ts';
import { ViewLink } from './view-link.tsx';

/** As many as the API tells at once. */
const rowsMax = 300;

export function Transactions(looking: Looking) {
  const { project, environment, entrypoint, view, range } = looking;
  const measure = view.measure ?? 'wt';
  const asked = { ...looking.asked, sort: view.sort ?? 'impact', breakdown_dimension: measure, breakdown_limit: rowsMax };
  const { data: breakdown, error } = useQuery(breakdownQuery({ project, environment, entrypoint, asked }));
  const chart = useMemo(() => breakdown && consumedOverTime(breakdown), [breakdown]);
  if (error) return <Failure error={error} />;
  if (!breakdown || !chart) return <Bones rows={3} height={120} />;
  if (breakdown.transactions.data.length === 0) return <NoTransactions {...looking} />;
  return (
    <>
      <Chart
        title="Where the time goes"
        about={<>{measures[measure].toLowerCase()} of all requests, by transaction</>}
        data={chart}
        kind="stacked"
        format={formats[breakdown._breakdown_dimension]}
        range={range}
        file={`${environment.id}-transactions-over-time`}
        onZoom={looking.zoom}
      >
        <Numbers breakdown={breakdown} />
        <div className="segments" role="group" aria-label="Measure">
          {(Object.keys(measures) as Measure[]).map((name) => (
            <ViewLink key={name} looking={looking} to={{ ...view, measure: name }} isCurrent={measure === name}>
              {measures[name]}
            </ViewLink>
          ))}
        </div>
      </Chart>
      <TransactionTable looking={looking} breakdown={breakdown} />
    </>
  );
}

const formats: Record<Measure, (value: number) => string> = { wt: microsecondsText, pmu: bytesText, stdout: bytesText };

function Numbers({ breakdown }: { breakdown: Breakdown }) {
  const { requests, errors, average } = sumsOf(breakdown);
  return (
    <dl className="numbers">
      <div>
        <dt>Requests</dt>
        <dd>{countText(requests)}</dd>
      </div>
      <div>
        <dt>Average</dt>
        <dd>{average === undefined ? '' : microsecondsText(average)}</dd>
      </div>
      <div>
        <dt>Errors</dt>
        <dd className={errors > 0 ? 'is-failed' : undefined}>
          {countText(errors)} {errors > 0 && <span className="quiet small">{percentText(errors / requests)}</span>}
        </dd>
      </div>
    </dl>
  );
}

interface Column {
  sort: Sort;
  name: string;
  cell(row: TransactionRow): string;
}

const columns: readonly Column[] = [
  { sort: 'impact', name: 'Impact', cell: ({ impact }) => percentText((impact ?? 0) / 100) },
  { sort: 'total_requests', name: 'Requests', cell: ({ total_requests }) => countText(total_requests) },
  { sort: 'avg_wt', name: 'Average', cell: ({ avg_wt }) => microsecondsText(avg_wt) },
  { sort: 'wt_96th_percentile', name: 'p96', cell: ({ wt_96th_percentile }) => microsecondsText(wt_96th_percentile) },
  { sort: 'avg_pmu', name: 'Memory', cell: ({ avg_pmu }) => (avg_pmu === 0 ? '' : bytesText(avg_pmu)) },
  { sort: 'avg_stdout', name: 'Output', cell: ({ avg_stdout }) => bytesText(avg_stdout) },
  { sort: 'total_errors', name: 'Errors', cell: ({ total_errors }) => countText(total_errors) },
];

function TransactionTable({ looking, breakdown }: { looking: Looking; breakdown: Breakdown }) {
  const { view, environment } = looking;
  const rows = breakdown.transactions.data;
  const coloured = colouredTransactions(rows);
  const sorted = view.sort ?? 'impact';
  const save = () =>
    saveCsv(`${environment.id}-transactions`, [
      ['transaction', ...sorts],
      ...rows.map((row) => [row.transaction, ...sorts.map((sort) => row[sort])]),
    ]);
  return (
    <section className="section" aria-labelledby="transactions">
      <div className="section-head">
        <h2 id="transactions">Transactions</h2>
        <span className="quiet small">
          {rows.length === rowsMax ? `the first ${rowsMax}` : countText(rows.length)}, a point each{' '}
          {microsecondsText(breakdown._grain * 1_000_000)}
        </span>
        <span className="push">
          <button type="button" className="button tiny" aria-label="CSV of the transactions" onClick={save}>
            CSV
          </button>
        </span>
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard */}
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Transactions">
        <table className="table breakdown">
          <thead>
            <tr>
              <th scope="col">Transaction</th>
              {columns.map(({ sort, name }) => (
                <th
                  key={sort}
                  scope="col"
                  className={sort === 'impact' ? undefined : 'number'}
                  aria-sort={sorted === sort ? 'descending' : undefined}
                >
                  <ViewLink className="sort" looking={looking} to={{ ...view, sort }} title={`The highest ${name.toLowerCase()} first`}>
                    {name}
                    {sorted === sort && <Icon name="chevron" className="small down" />}
                  </ViewLink>
                </th>
              ))}
              <th scope="col">
                <span className="unseen">Parts</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.transaction} looking={looking} row={row} colour={coloured.indexOf(row.transaction) + 1} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ looking, row, colour }: { looking: Looking; row: TransactionRow; colour: number }) {
  const { view } = looking;
  const [isOpen, setOpen] = useState(false);
  const { transaction, impact, total_errors } = row;
  return (
    <tr className={`series-${colour}`}>
      <th scope="row">
        <span className="swatch" aria-hidden="true" />
        <ViewLink
          className="mono cut"
          looking={looking}
          to={withValue(view, 'transactions', transaction, false)}
          title={`Only ${transaction}`}
        >
          {transaction}
        </ViewLink>
      </th>
      {columns.map(({ sort, cell }) =>
        sort === 'impact' ? (
          <td key={sort} className="share">
            <span className="number">{cell(row)}</span>
            <span className="meter" aria-hidden="true">
              <span style={{ width: `${impact ?? 0}%` }} />
            </span>
          </td>
        ) : (
          <td key={sort} className={sort === 'total_errors' && total_errors > 0 ? 'number is-failed strong' : 'number'}>
            {cell(row)}
          </td>
        ),
      )}
      <td className="end">
        <button type="button" className="button tiny quiet" aria-label={`Parts of ${transaction}`} onClick={() => setOpen(true)}>
          Parts
        </button>
        {isOpen && (
          <Dialog
            title={
              <>
                What <code>{transaction}</code> does
              </>
            }
            isWide
            onClose={() => setOpen(false)}
          >
            <Spans looking={looking} href={row._links.top_spans.href} />
          </Dialog>
        )}
      </td>
    </tr>
  );
}
