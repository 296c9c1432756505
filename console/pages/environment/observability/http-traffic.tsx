/** HTTP traffic as the edge saw it: how many requests, with which answers, how much was sent, and who asked for what. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { linkOf } from '../../../api/link.ts';
import { type Traffic, trafficQuery, type TrafficRow } from '../../../api/observability-queries.ts';
import { Chart } from '../../../chart/chart.tsx';
import { bytesText, countText, microsecondsText } from '../../../ui/amounts.ts';
import { saveCsv } from '../../../ui/csv.ts';
import { Bones } from '../../../ui/notice.tsx';
import { Failure } from '../../page.tsx';
import { NoTransactions } from './no-transactions.tsx';
import { bytesOverTime, requestsOverTime } from './shape.ts';
import type { Looking } from './use-view.ts';
import { type KindOfTraffic, kindsOfTraffic } from './view.ts';
import { ViewLink } from './view-link.tsx';

const rowsMax = 300;

export function HttpTraffic(looking: Looking) {
  const { project, environment, entrypoint, range, zoom } = looking;
  const asked = { ...looking.asked, limit: rowsMax };
  const { data: traffic, error } = useQuery(trafficQuery({ project, environment, entrypoint, asked }, 'urls'));
  const requests = useMemo(() => traffic && requestsOverTime(traffic), [traffic]);
  const bytes = useMemo(() => traffic && bytesOverTime(traffic), [traffic]);
  if (error) return <Failure error={error} />;
  if (!traffic || !requests || !bytes) return <Bones rows={3} height={120} />;
  if (traffic.breakdown.data.length === 0) return <NoTransactions {...looking} />;
  const each = `each ${microsecondsText(traffic._grain * 1_000_000)}`;
  return (
    <>
      <div className="chart-grid">
        <Chart
          title="Requests"
          about={<>{each}, by status</>}
          data={requests}
          kind="stacked"
          format={countText}
          range={range}
          file={`${environment.id}-requests`}
          onZoom={zoom}
        />
        <Chart
          title="Transfer"
          about={<>{each}, in bytes</>}
          data={bytes}
          kind="lines"
          format={bytesText}
          range={range}
          file={`${environment.id}-transfer`}
          onZoom={zoom}
        />
      </div>
      <TrafficBreakdown looking={looking} byUrl={traffic} />
    </>
  );
}

/** Times of URLs are told in milliseconds, and of visitors in seconds. */
const microseconds: Record<KindOfTraffic, number> = { urls: 1000, ips: 1_000_000, user_agents: 1_000_000 };

function TrafficBreakdown({ looking, byUrl }: { looking: Looking; byUrl: Traffic }) {
  const { project, environment, entrypoint, view } = looking;
  // Addresses tell who visits, so they are for those who may read logs.
  const kinds = (Object.keys(kindsOfTraffic) as KindOfTraffic[]).filter((kind) => kind !== 'ips' || linkOf(environment, '#logs'));
  const by = view.by && kinds.includes(view.by) ? view.by : 'urls';
  const question = { project, environment, entrypoint, asked: { ...looking.asked, limit: rowsMax } };
  const { data: other, error } = useQuery({ ...trafficQuery(question, by), enabled: by !== 'urls' && entrypoint !== undefined });
  const shown = by === 'urls' ? byUrl : other;
  return (
    <section className="section" aria-labelledby="traffic">
      <div className="section-head">
        <h2 id="traffic">Who asked for what</h2>
        {shown && (
          <span className="quiet small">
            {shown.breakdown.data.length} of {countText(shown.breakdown.total)}
          </span>
        )}
        <div className="segments push" role="group" aria-label="By">
          {kinds.map((kind) => (
            <ViewLink key={kind} looking={looking} to={{ ...view, by: kind }} isCurrent={by === kind}>
              {kindsOfTraffic[kind]}
            </ViewLink>
          ))}
        </div>
        {shown && (
          <button
            type="button"
            className="button tiny"
            aria-label="CSV of the traffic"
            onClick={() => saveCsv(`${environment.id}-traffic`, csvRows(shown, by))}
          >
            CSV
          </button>
        )}
      </div>
      {error && <Failure error={error} />}
      {!shown && !error && <Bones rows={4} height={40} />}
      {shown && <TrafficTable rows={shown.breakdown.data} by={by} />}
    </section>
  );
}

const nameOf = ({ url, method, name }: TrafficRow) => (url === undefined ? (name ?? '') : `${method ?? ''} ${url}`);

const csvRows = ({ breakdown: { data } }: Traffic, by: KindOfTraffic) => [
  [by === 'urls' ? 'url' : by === 'ips' ? 'address' : 'program', 'count', 'average_ms', 'p50_ms', 'p96_ms'],
  ...data.map((row) => [nameOf(row), row.count, ...[row.average, row.p_50, row.p_96].map((time) => (time * microseconds[by]) / 1000)]),
];

function TrafficTable({ rows, by }: { rows: readonly TrafficRow[]; by: KindOfTraffic }) {
  const time = (value: number) => microsecondsText(value * microseconds[by]);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Traffic">
      <table className="table breakdown">
        <thead>
          <tr>
            <th scope="col">{by === 'urls' ? 'URL' : by === 'ips' ? 'Address' : 'Program'}</th>
            {['Requests', 'Average', 'Median', 'p96'].map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={nameOf(row)}>
              <th scope="row">
                <code className="cut" title={nameOf(row)}>
                  {nameOf(row)}
                </code>
              </th>
              <td className="number">{countText(row.count)}</td>
              <td className="number">{time(row.average)}</td>
              <td className="number">{time(row.p_50)}</td>
              <td className="number">{time(row.p_96)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
