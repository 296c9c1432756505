/** The parts of a transaction's requests that took most, such as queries, as far as the app reports them. */
import { useQuery } from '@tanstack/react-query';
import { topSpansQuery } from '../../../api/observability-queries.ts';
import { countText, microsecondsText, percentText } from '../../../ui/amounts.ts';
import { Bones } from '../../../ui/notice.tsx';
import { Failure } from '../../page.tsx';
import { HowToReport } from './no-transactions.tsx';
import type { Looking } from './use-view.ts';

export function Spans({ looking: { project, environment }, href }: { looking: Looking; href: string }) {
  const { data, error } = useQuery(topSpansQuery(project, environment.id, href));
  const spans = data?.top_spans.data;
  return (
    <div className="dialog-body">
      {error && <Failure error={error} />}
      {!spans && !error && <Bones rows={4} height={32} />}
      {spans?.length === 0 && (
        <>
          <p>
            The app tells nothing of what it does in these requests: they were counted by the router. To see queries, calls and functions
            here:
          </p>
          <HowToReport />
        </>
      )}
      {spans && spans.length > 0 && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
        <div className="table-scroll" tabIndex={0} role="group" aria-label="Parts">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Part</th>
                {['Impact', 'In requests', 'Times', 'Average', 'p96'].map((name) => (
                  <th key={name} scope="col" className="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {spans.map(({ id, label, service_name, impact, percentage, count, wt, p_96 }) => (
                <tr key={id}>
                  <th scope="row">
                    <code className="cut">{label}</code> <span className="quiet small">{service_name}</span>
                  </th>
                  <td className="number">{percentText(impact)}</td>
                  <td className="number">{percentage === null ? '' : percentText(percentage)}</td>
                  <td className="number">{countText(count)}</td>
                  <td className="number">{microsecondsText(wt)}</td>
                  <td className="number">{microsecondsText(p_96)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
