/** The teams of an organization: people who are let into projects together. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import { hrefOf } from '../../api/link.ts';
import { teamsQuery, type Team } from '../../api/organization-queries.ts';
import type { Organization } from '../../api/resources.ts';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { OrganizationThings } from './organization-things.tsx';

export const TeamsPage = () => (
  <OrganizationThings title="Teams">
    {(organization, changed) => <Teams organization={organization} onChange={changed} />}
  </OrganizationThings>
);

function Teams({ organization, onChange }: { organization: Organization; onChange(): void }) {
  const { data: teams, error } = useQuery(teamsQuery(organization));
  const create = (
    <DeedButton
      resource={organization}
      rel="create-team"
      says="New team"
      verb="Create the team"
      look="button primary"
      given={{ organization_id: organization.id }}
      asks={['label']}
      onDone={onChange}
    />
  );
  return (
    <List
      title="Teams"
      about="A team has one set of roles, which its members have in all of its projects."
      button={create}
      rows={teams}
      error={error}
      columns={['Team', 'Roles', { number: 'Members' }, { number: 'Projects' }, actionsColumn]}
      empty={{
        says: 'No team yet. With one, several people are let into several projects at once.',
        cli: `upsun team:create --label Designers --org ${organization.name}`,
        curl: curlOf('POST', hrefOf(organization, 'create-team'), {
          organization_id: organization.id,
          label: 'Designers',
          project_permissions: ['viewer', 'staging:contributor'],
        }),
      }}
    >
      {(team) => <TeamRow key={team.id} team={team} organization={organization} onChange={onChange} />}
    </List>
  );
}

const TeamRow = ({ team, organization, onChange }: { team: Team; organization: Organization; onChange(): void }) => (
  <tr>
    <th scope="row">
      <Link to="/organizations/$organization/teams/$team" params={{ organization: organization.id, team: team.id }}>
        {team.label}
      </Link>
    </th>
    <td data-label="Roles">
      <span className="tags">
        {team.project_permissions.map((permission) => (
          <span key={permission} className="tag plain">
            {permission}
          </span>
        ))}
        {team.project_permissions.length === 0 && <span className="quiet">none yet</span>}
      </span>
    </td>
    <td data-label="Members" className="number">
      {team.counts.member_count}
    </td>
    <td data-label="Projects" className="number">
      {team.counts.project_count}
    </td>
    <td className="end">
      <DeedButton
        resource={team}
        rel="delete"
        verb="Delete"
        label={`Delete ${team.label}`}
        look="button tiny"
        guard={{ loses: 'Its members lose the access that it gave them.', name: team.label }}
        onDone={onChange}
      />
    </td>
  </tr>
);
