/** All organizations: what each may have of the machine, what it has, and the way to change that. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import { type Installation, type Limits, type OrganizationQuota, organizationQuotasQuery } from '../../api/installation-queries.ts';
import { megabytesText } from '../../ui/amounts.ts';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { ListSearch, ShowMore } from '../long-list.tsx';
import { useInstallation, useInstallationChanged } from './use-installation.ts';
import './installation.css';

export function OrganizationsPage() {
  const installation = useInstallation();
  return installation && <Organizations installation={installation} />;
}

const megabytes = (amount: number) => megabytesText((amount * 2 ** 20) / 1e6);
const plain = (amount: number) => String(Math.round(amount * 100) / 100);
const shown: readonly { kind: keyof OrganizationQuota['used']; name: string; text(amount: number): string }[] = [
  { kind: 'projects', name: 'Projects', text: plain },
  { kind: 'environments', name: 'Environments', text: plain },
  { kind: 'cpu', name: 'CPU', text: plain },
  { kind: 'memory', name: 'Memory', text: megabytes },
  { kind: 'disk', name: 'Disk', text: megabytes },
];

function Organizations({ installation }: { installation: Installation }) {
  const { search = '' } = useSearch({ from: '/installation/organizations' });
  const changed = useInstallationChanged();
  const { data, error, ...more } = useInfiniteQuery({
    ...organizationQuotasQuery(installation, search),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <List
        title="Organizations"
        about="What each has of the machine, of what it may have. Those without limits of their own have those of the installation."
        button={
          <span className="row">
            <ListSearch label="Find an organization" search={search} />
            <DeedButton
              resource={installation}
              rel="change-default-quota"
              says="Default limits"
              title="Limits of organizations that have none of their own"
              verb="Change them"
              current={{ ...installation.default_quota }}
              onDone={changed}
            />
          </span>
        }
        rows={data?.pages.flatMap(({ items }) => items)}
        error={error}
        columns={['Organization', ...shown.map(({ name }) => ({ number: name })), actionsColumn]}
        empty={{
          says: search === '' ? 'No organization yet. Whoever signs in can make one.' : 'No organization is called that.',
          curl: search === '' ? curlOf('POST', '/organizations', { label: 'Acme' }) : undefined,
        }}
      >
        {(organization) => <OrganizationRow key={organization.id} organization={organization} onChange={changed} />}
      </List>
      <ShowMore {...more} />
    </>
  );
}

const limitsOf = ({ projects, environments, cpu, memory, disk, builds, activities }: OrganizationQuota): Limits => ({
  projects,
  environments,
  cpu,
  memory,
  disk,
  builds,
  activities,
});

const OrganizationRow = ({ organization, onChange }: { organization: OrganizationQuota; onChange(): void }) => (
  <tr>
    <th scope="row">
      <Link to="/organizations/$organization" params={{ organization: organization.id }}>
        {organization.label}
      </Link>
      <span className="under">{organization.owner_email}</span>
    </th>
    {shown.map(({ kind, name, text }) => {
      const limit = organization[kind];
      return (
        <td key={kind} data-label={name} className="number quota-cell">
          {text(organization.used[kind])}
          {limit !== null && <span className="quiet"> of {text(limit)}</span>}
        </td>
      );
    })}
    <td className="end">
      <DeedButton
        resource={organization}
        rel="update"
        says="Change"
        label={`Change the limits of ${organization.label}`}
        verb="Change them"
        look="button tiny"
        current={{ ...limitsOf(organization) }}
        onDone={onChange}
      />
    </td>
  </tr>
);
