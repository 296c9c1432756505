/** What an organization's projects gave off in CO2, by project and interval, how that is worked out, and the same as a file. */
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { carbonQuery, type Carbon, type CarbonInterval } from '../../api/organization-queries.ts';
import type { Organization } from '../../api/resources.ts';
import { seriesColour, StackedBars } from '../../chart/stacked-bars.tsx';
import { saveCsv } from '../../ui/csv.ts';
import { List } from '../list-page.tsx';
import { Segments } from '../segments.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const CarbonPage = () => (
  <OrganizationThings title="Carbon">{(organization) => <CarbonOf organization={organization} />}</OrganizationThings>
);

const intervals: readonly { interval: CarbonInterval; word: string }[] = [
  { interval: 'day', word: '30 days' },
  { interval: 'month', word: '12 months' },
  { interval: 'year', word: '5 years' },
];

const formats: Readonly<Record<CarbonInterval, Intl.DateTimeFormatOptions>> = {
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
  year: { year: 'numeric' },
};

/** Intervals are those of UTC. */
const intervalName = (start: string, interval: CarbonInterval) =>
  new Intl.DateTimeFormat(undefined, { ...formats[interval], timeZone: 'UTC' }).format(new Date(start));

function CarbonOf({ organization }: { organization: Organization }) {
  const { interval = 'day' } = useSearch({ from: '/organizations/$organization/carbon' });
  const { data: carbon, error } = useQuery(carbonQuery(organization, interval));
  const projects = carbon && ranked(carbon);
  return (
    <>
      <List
        title="Carbon"
        about="What your environments gave off in CO₂ equivalent, from what was measured of them: processor time, memory, disk and traffic."
        button={
          <span className="row">
            <Segments label="Time shown">
              {intervals.map((each) => (
                <Link
                  key={each.interval}
                  to="/organizations/$organization/carbon"
                  params={{ organization: organization.id }}
                  search={{ interval: each.interval }}
                  activeOptions={{ includeSearch: true }}
                  aria-current={each.interval === interval ? 'true' : undefined}
                >
                  {each.word}
                </Link>
              ))}
            </Segments>
            <button
              type="button"
              className="button"
              disabled={!carbon}
              onClick={() => carbon && saveCsv(`carbon-${organization.name}`, csvRows(carbon))}
            >
              Save as CSV
            </button>
          </span>
        }
        rows={projects}
        error={error}
        columns={['Project', { number: 'CO₂e' }, { number: 'Share' }]}
        empty={{ says: 'No project, so nothing is given off.' }}
      >
        {(project) => (
          <tr key={project.id}>
            <th scope="row">
              <span className="swatch" style={{ background: seriesColour(project.rank) }} /> {project.title}
            </th>
            <td className="number" data-label="CO₂e">
              {massText(project.total)}
            </td>
            <td className="number" data-label="Share">
              {carbon && carbon.total > 0 ? `${Math.round((project.total / carbon.total) * 100)} %` : '0 %'}
            </td>
          </tr>
        )}
      </List>
      {carbon && projects && projects.length > 0 && (
        <>
          <p className="figure">
            <strong>{massText(carbon.total)}</strong> in all
          </p>
          <StackedBars
            label={`CO₂ equivalent of each ${interval}`}
            names={projects.map(({ title }) => title)}
            bars={(carbon.projects[0]?.values ?? []).map(({ start_time }, n) => ({
              name: intervalName(start_time, interval),
              values: projects.map(({ values }) => values[n] ?? 0),
            }))}
            text={massText}
          />
        </>
      )}
      <Method />
    </>
  );
}

/** Projects with their totals, the largest first. */
const ranked = ({ projects }: Carbon) =>
  projects
    .map(({ project_id, project_title, values }) => ({
      id: project_id,
      title: project_title || project_id,
      values: values.map(({ value }) => value),
      total: values.reduce((sum, { value }) => sum + value, 0),
    }))
    .toSorted((one, other) => other.total - one.total)
    .map((project, rank) => ({ ...project, rank }));

export function massText(kilograms: number): string {
  const grams = kilograms * 1000;
  if (grams === 0) return '0 g';
  if (grams < 1) return `${(grams * 1000).toPrecision(2)} mg`;
  return grams < 1000 ? `${grams.toPrecision(3)} g` : `${kilograms.toPrecision(3)} kg`;
}

const csvRows = ({ projects, meta }: Carbon) => [
  ['project_id', 'project', meta.interval, 'kg_co2e'],
  ...projects.flatMap(({ project_id, project_title, values }) =>
    values.map(({ value, start_time }) => [project_id, project_title, start_time.slice(0, 10), value]),
  ),
];

const Method = () => (
  <section className="section reading" aria-label="How it is worked out">
    <div className="section-head">
      <h2>How it is worked out</h2>
    </div>
    <p>
      Processor time, memory held, disk in use and traffic of each container are multiplied by what each draws in watt-hours. An environment
      is also charged with a part of the machine at rest, as large as its part of the memory; one that sleeps holds none. The sum is
      multiplied by what the building draws for each watt of the machine (PUE), and by the grams of CO₂ that a kilowatt-hour costs in this
      region. Making the machine, and visitors&rsquo; own devices, are not counted.
    </p>
    <p>
      Days are those of UTC. One is closed an hour after it ends and never changes again; months and years are sums of days, and the total
      is the sum of what is shown.
    </p>
  </section>
);
