/** What the machine has, and what of it is given out. */
import { useQuery } from '@tanstack/react-query';
import { type Amount, type Installation, installationResourcesQuery } from '../../api/installation-queries.ts';
import { Age } from '../../ui/age.tsx';
import { megabytesText } from '../../ui/amounts.ts';
import { List } from '../list-page.tsx';
import { useInstallation } from './use-installation.ts';
import './installation.css';

export function MachinePage() {
  const installation = useInstallation();
  return installation && <Machine installation={installation} />;
}

const cpuText = (amount: number) => `${Math.round(amount * 100) / 100} CPU`;
/** In binary megabytes, as sizes are counted. */
const binaryMegabytes = (amount: number) => megabytesText((amount * 2 ** 20) / 1e6);

function Machine({ installation }: { installation: Installation }) {
  const { data, error } = useQuery(installationResourcesQuery(installation));
  const rows = data && [
    { name: 'Processors', amount: data.cpu, text: cpuText },
    { name: 'Memory', amount: data.memory, text: binaryMegabytes },
    { name: 'Disk', amount: data.disk, text: binaryMegabytes },
  ];
  return (
    <>
      <List
        title="Given out"
        about="Sizes are limits, which most containers are far from most of the time; so more may be given out than there is. What would exceed it is refused."
        rows={rows}
        error={error}
        columns={['Of', { number: 'Given' }, 'Share', { number: 'May be given' }, { number: 'There is' }]}
        empty={{ says: 'Nobody has looked at the machine yet.' }}
      >
        {({ name, amount, text }) => <AmountRow key={name} name={name} amount={amount} text={text} />}
      </List>
      <section className="section" aria-label="What is on it">
        <div className="section-head">
          <h2>What is on it</h2>
        </div>
        <dl className="facts">
          <dt>Environments</dt>
          <dd>
            {installation.environments}
            {data && (
              <span className="quiet">
                {' '}
                of which {data.environments.running} run, {data.environments.paused} are paused and {data.environments.sleeping} asleep
              </span>
            )}
          </dd>
          <dt>Projects</dt>
          <dd>{installation.projects}</dd>
          <dt>Organizations</dt>
          <dd>{installation.organizations}</dd>
          <dt>Users</dt>
          <dd>{installation.users}</dd>
          <dt>Region</dt>
          <dd className="mono">{installation.region}</dd>
          <dt>Domain</dt>
          <dd className="mono">{installation.domain}</dd>
          <dt>Version</dt>
          <dd className="mono">{installation.version}</dd>
          <dt>Here</dt>
          <dd>
            since <Age of={installation.created_at} />
          </dd>
        </dl>
      </section>
    </>
  );
}

function AmountRow({ name, amount: { there, overcommit, given }, text }: { name: string; amount: Amount; text(amount: number): string }) {
  const most = there === null ? undefined : there * overcommit;
  const percent = most === undefined || most === 0 ? undefined : Math.round((given / most) * 100);
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-label="Given" className="number">
        {text(given)}
      </td>
      <td data-label="Share">{percent !== undefined && <Share percent={percent} />}</td>
      <td data-label="May be given" className="number">
        {most === undefined ? <span className="quiet">unknown</span> : text(most)}
        {overcommit !== 1 && <span className="under">{overcommit} times what there is</span>}
      </td>
      <td data-label="There is" className="number">
        {there === null ? <span className="quiet">unknown</span> : text(there)}
      </td>
    </tr>
  );
}

const Share = ({ percent }: { percent: number }) => (
  <span className="gauge">
    <span className="meter" aria-hidden="true">
      <span style={{ width: `${Math.min(100, percent)}%` }} />
    </span>
    <span className="small">{percent} %</span>
  </span>
);
