/** One team: the roles that it has in its projects, its members, and the projects that it was let into. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { linkOf } from '../../api/link.ts';
import { teamQuery, type Team } from '../../api/organization-queries.ts';
import { DeedButton } from '../../actions/deed-button.tsx';
import { request } from '../../api/request.ts';
import type { Organization } from '../../api/resources.ts';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { Failure } from '../page.tsx';
import { permissionsWith, roleIn, roles, types } from '../project/access-roles.ts';
import { OrganizationThings } from './organization-things.tsx';
import { TeamMembers } from './team-members.tsx';
import { TeamProjects } from './team-projects.tsx';

export const TeamPage = () => (
  <OrganizationThings title="Team">
    {(organization, changed) => <TeamOf organization={organization} onChange={changed} />}
  </OrganizationThings>
);

function TeamOf({ organization, onChange }: { organization: Organization; onChange(): void }) {
  const { team: id } = useParams({ from: '/organizations/$organization/teams/$team' });
  const { data: team, error } = useQuery(teamQuery(organization.id, id));
  if (error) return <Failure error={error} />;
  if (!team) return <Bones rows={4} height={40} />;
  return (
    <>
      <div className="section-head">
        <h2>{team.label}</h2>
        <span className="push">
          <DeedButton
            resource={team}
            rel="update"
            verb="Rename"
            title={`Rename ${team.label}`}
            asks={['label']}
            current={{ label: team.label }}
            onDone={onChange}
          />
        </span>
      </div>
      <Roles team={team} onChange={onChange} />
      <TeamMembers organization={organization} team={team} onChange={onChange} />
      <TeamProjects organization={organization} team={team} onChange={onChange} />
    </>
  );
}

/** One set of roles for all projects of the team, changed at once. */
function Roles({ team, onChange }: { team: Team; onChange(): void }) {
  const link = linkOf(team, 'update');
  const change = useMutation({
    mutationFn: (project_permissions: readonly string[]) => request('PATCH', link?.href ?? '', { project_permissions }),
    onSuccess: onChange,
  });
  const isAdmin = team.project_permissions.includes('admin');
  const isWithout = team.project_permissions.length === 0;
  return (
    <section className="section" aria-label="Roles">
      <div className="section-head">
        <h3>Roles in its projects</h3>
      </div>
      {change.error && <FailureNotice>{change.error.message}</FailureNotice>}
      <dl className="facts choosing">
        {types.map((type) => (
          <Role
            key={type}
            label={type === 'project' ? 'Project' : `On ${type}`}
            options={isWithout && type === 'project' ? [{ role: '', word: 'None yet' }, ...roles.project] : roles[type]}
            role={isWithout ? '' : roleIn(team.project_permissions, type)}
            isImplied={isAdmin && type !== 'project'}
            onChange={
              link && !change.isPending ? (role) => change.mutate(permissionsWith(team.project_permissions, type, role)) : undefined
            }
          />
        ))}
      </dl>
    </section>
  );
}

interface RoleProps {
  label: string;
  options: readonly { role: string; word: string }[];
  role: string;
  /** Administrators of the project may do everything. */
  isImplied: boolean;
  onChange: ((role: string) => void) | undefined;
}

const Role = ({ label, options, role, isImplied, onChange }: RoleProps) => (
  <>
    <dt>{label}</dt>
    <dd>
      {isImplied ? (
        <span className="quiet">everything</span>
      ) : (
        <select
          className="input narrow"
          aria-label={`Role of the team: ${label}`}
          value={role}
          disabled={!onChange}
          onChange={({ target }) => onChange?.(target.value)}
        >
          {options.map((option) => (
            <option key={option.role} value={option.role}>
              {option.word}
            </option>
          ))}
        </select>
      )}
    </dd>
  </>
);
