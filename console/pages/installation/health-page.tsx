/** How the platform is: first what is wrong, then what waits, what there is to come back from, and what keeps things true. */
import { useQuery } from '@tanstack/react-query';
import { type Finding, type Health, healthQuery, type Installation } from '../../api/installation-queries.ts';
import { Age, ageIn, exactTime } from '../../ui/age.tsx';
import { Badge } from '../../ui/status.tsx';
import { List } from '../list-page.tsx';
import { useInstallation } from './use-installation.ts';
import './installation.css';

export function HealthPage() {
  const installation = useInstallation();
  return installation && <HealthLists installation={installation} />;
}

function HealthLists({ installation }: { installation: Installation }) {
  const { data: health, error } = useQuery(healthQuery(installation));
  return (
    <>
      <Findings findings={health?.findings} error={error} />
      {health && (
        <>
          <Backups {...health.backups} />
          <Queues health={health} />
          <Reconcilers reconcilers={health.reconcilers} />
        </>
      )}
    </>
  );
}

/** What is wrong comes first, in the order of how much it hinders. */
const gravity = ({ is_ok, need }: Finding) => (is_ok ? 2 : need === 'platform' ? 0 : 1);

const Findings = ({ findings, error }: { findings: readonly Finding[] | undefined; error: Error | null }) => (
  <List
    title="What the machine offers"
    hasHeading
    about={
      <>
        As <code>./offshoot doctor</code> finds it.
      </>
    }
    rows={findings?.toSorted((one, other) => gravity(one) - gravity(other))}
    error={error}
    columns={['What', 'State', 'Found']}
    empty={{ says: 'Nothing was looked at.' }}
  >
    {({ what, need, is_ok, found, remedy }) => (
      <tr key={what}>
        <th scope="row">{what}</th>
        <td data-label="State">
          <Badge of={is_ok ? 'active' : need === 'platform' ? 'failed' : 'paused'}>
            {is_ok ? 'In order' : need === 'platform' ? 'Missing' : 'Warning'}
          </Badge>
        </td>
        <td data-label="Found">
          {found}
          {remedy !== null && <span className="under finding-remedy">{remedy}</span>}
        </td>
      </tr>
    )}
  </List>
);

const Backups = ({ verified_at, is_overdue, places, restorable, damaged }: Health['backups']) => (
  <List
    title="Backups"
    hasHeading
    about={
      verified_at === null ? (
        'The installation itself was not backed up yet; the first time is an hour after its first start.'
      ) : (
        <>
          The installation itself was last backed up, and every byte of that read back, <Age of={verified_at} ago />
          {` (${exactTime(verified_at)})`}. {is_overdue && <b>That is longer ago than it should be.</b>} Of environments {restorable} can be
          restored{damaged > 0 && `, and ${damaged} were found damaged`}.
        </>
      )
    }
    rows={places}
    error={null}
    columns={['Place', 'State', 'Address']}
    empty={{ says: 'No place for backups is set: OFFSHOOT_BACKUPS names them.' }}
  >
    {({ name, address, problem }) => (
      <tr key={`${name} ${address}`}>
        <th scope="row">{name}</th>
        <td data-label="State">
          <Badge of={problem === null ? 'active' : 'failed'}>{problem === null ? 'Answers' : 'In trouble'}</Badge>
          {problem !== null && <span className="under">{problem}</span>}
        </td>
        <td data-label="Address" className="mono">
          {address}
        </td>
      </tr>
    )}
  </List>
);

function Queues({ health: { activities, deliveries } }: { health: Health }) {
  const rows = [
    ...activities.map(({ type, state, ...rest }) => ({ what: type, state: state.replace('_', ' '), ...rest })),
    ...deliveries.map(({ kind, ...rest }) => ({ what: `delivery: ${kind}`, state: 'waiting', ...rest })),
  ];
  return (
    <List
      title="Queues"
      hasHeading
      about="Activities that are not over, and what others are still to be told."
      rows={rows}
      error={null}
      columns={['What', 'State', { number: 'How many' }, { number: 'Oldest waits' }]}
      empty={{ says: 'Nothing waits.' }}
    >
      {({ what, state, count, oldest_waiting_seconds }) => (
        <tr key={`${what} ${state}`}>
          <th scope="row" className="mono">
            {what}
          </th>
          <td data-label="State">{state}</td>
          <td data-label="How many" className="number">
            {count}
          </td>
          <td data-label="Oldest waits" className="number">
            {oldest_waiting_seconds === null ? '' : waitText(oldest_waiting_seconds)}
          </td>
        </tr>
      )}
    </List>
  );
}

const waitText = (seconds: number) => (seconds < 60 ? `${Math.round(seconds)} s` : ageIn(seconds * 1000));

const Reconcilers = ({ reconcilers }: Pick<Health, 'reconcilers'>) => (
  <List
    title="Reconcilers"
    hasHeading
    about="What keeps things true, again and again; as the process that answered has run them."
    rows={reconcilers.toSorted((one, other) => other.failures - one.failures)}
    error={null}
    columns={['What', 'State', { number: 'Looks' }, { number: 'Failed' }, 'Last came to its end']}
    empty={{ says: 'The process that answered runs none; another one of the installation does.' }}
  >
    {({ name, runs, failures, succeeded_at }) => (
      <tr key={name}>
        <th scope="row">{name}</th>
        <td data-label="State">
          <Badge of={failures === 0 ? 'active' : succeeded_at === null ? 'failed' : 'paused'}>
            {failures === 0 ? 'In order' : succeeded_at === null ? 'Fails' : 'Failed at times'}
          </Badge>
        </td>
        <td data-label="Looks" className="number">
          {runs}
        </td>
        <td data-label="Failed" className="number">
          {failures}
        </td>
        <td data-label="Last came to its end">
          {succeeded_at === null ? <span className="quiet">never</span> : <Age of={succeeded_at} ago />}
        </td>
      </tr>
    )}
  </List>
);
