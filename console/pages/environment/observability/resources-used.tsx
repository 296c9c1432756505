/** What containers used of what they may use, and for how long they had to wait for it. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type ResourcesOverview, resourcesQuery } from '../../../api/observability-queries.ts';
import { Chart } from '../../../chart/chart.tsx';
import { bytesText, cpuText, percentText } from '../../../ui/amounts.ts';
import { Bones } from '../../../ui/notice.tsx';
import { Failure } from '../../page.tsx';
import { disksOverTime, type Share, usedOverTime, usesOf } from './shape.ts';
import type { Looking } from './use-view.ts';
import { withValue } from './view.ts';
import { ViewLink } from './view-link.tsx';

interface ResourceChart {
  title: string;
  about: string;
  measure: string;
  format(value: number): string;
}

const charts: readonly ResourceChart[] = [
  { title: 'CPU', about: 'processors used, on average', measure: 'cpu_used', format: cpuText },
  { title: 'Memory', about: 'used, on average', measure: 'memory_used', format: bytesText },
  { title: 'CPU pressure', about: 'share of the time that something waited for a processor', measure: 'cpu_pressure', format: percentText },
  {
    title: 'Memory pressure',
    about: 'share of the time that something waited for memory',
    measure: 'memory_pressure',
    format: percentText,
  },
  { title: 'Disk pressure', about: 'share of the time that something waited for a disk', measure: 'io_pressure', format: percentText },
];

/** The measures that are shown, as the API names them. */
const types = ['cpu', 'memory', 'cpu_pressure', 'memory_pressure', 'io_pressure', 'disk'];

export function ResourcesUsed(looking: Looking) {
  const { project, environment, entrypoint, range, zoom } = looking;
  const asked = { ...looking.asked, types, aggs: ['avg', 'max'] };
  const { data: overview, error } = useQuery(resourcesQuery({ project, environment, entrypoint, asked }));
  const drawn = useMemo(() => overview && charts.map((chart) => ({ ...chart, data: usedOverTime(overview, chart.measure) })), [overview]);
  const disks = useMemo(() => overview && disksOverTime(overview), [overview]);
  if (error) return <Failure error={error} />;
  if (!overview || !drawn || !disks) return <Bones rows={3} height={120} />;
  const uses = usesOf(overview);
  if (uses.length === 0) return <NothingUsed />;
  return (
    <>
      <Uses looking={looking} overview={overview} />
      <div className="chart-grid">
        {drawn.map(({ title, about, data, format }) => (
          <Chart
            key={title}
            title={title}
            about={about}
            data={data}
            kind="lines"
            format={format}
            range={range}
            file={`${environment.id}-${title.toLowerCase()}`}
            onZoom={zoom}
          />
        ))}
        {disks.series.length > 0 && (
          <Chart
            title="Disk"
            about="used"
            data={disks}
            kind="lines"
            format={bytesText}
            range={range}
            file={`${environment.id}-disk`}
            onZoom={zoom}
          />
        )}
      </div>
    </>
  );
}

const NothingUsed = () => (
  <div className="empty">
    <h2>Nothing ran in this time</h2>
    <p>
      Containers are looked at every few seconds while they run. One that is paused or asleep uses nothing, so there is nothing to show of
      it.
    </p>
  </div>
);

const Uses = ({ looking, overview }: { looking: Looking; overview: ResourcesOverview }) => (
  <section className="section" aria-labelledby="uses">
    <div className="section-head">
      <h2 id="uses">How close it came</h2>
      <span className="quiet small">the highest in this time, of what each container may use</span>
    </div>
    {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard */}
    <div className="table-scroll" tabIndex={0} role="group" aria-label="How close containers came to what they may use">
      <table className="table uses">
        <thead>
          <tr>
            <th scope="col">Container</th>
            <th scope="col">CPU</th>
            <th scope="col">Memory</th>
            <th scope="col">Disk</th>
            <th scope="col" className="number">
              Waited for CPU
            </th>
            <th scope="col" className="number">
              for memory
            </th>
            <th scope="col" className="number">
              for disks
            </th>
          </tr>
        </thead>
        <tbody>
          {usesOf(overview).map(({ service, cpu, memory, disk, pressure }) => (
            <tr key={service}>
              <th scope="row">
                <ViewLink
                  className="mono"
                  looking={looking}
                  to={withValue(looking.view, 'services', service, false)}
                  title={`Only ${service}`}
                >
                  {service}
                </ViewLink>
              </th>
              <UsedCell share={cpu} format={cpuText} />
              <UsedCell share={memory} format={bytesText} />
              <UsedCell share={disk} format={bytesText} />
              <td className="number">{percentText(pressure.cpu)}</td>
              <td className="number">{percentText(pressure.memory)}</td>
              <td className="number">{percentText(pressure.io)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
);

function UsedCell({ share: { used, limit }, format }: { share: Share; format(value: number): string }) {
  if (used === undefined) return <td className="quiet small">none</td>;
  const part = limit ? Math.min(1, used / limit) : undefined;
  return (
    <td className="gauge-cell">
      {format(used)}
      {limit !== undefined && limit > 0 && <span className="quiet"> of {format(limit)}</span>}
      {part !== undefined && (
        <span className="meter" aria-hidden="true">
          <span style={{ width: `${100 * part}%` }} />
        </span>
      )}
    </td>
  );
}
