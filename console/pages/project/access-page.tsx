/** Who may do what in a project: people, teams and those who are invited, and their role on each type of environment, as one matrix. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import {
  type Invitation,
  invitationsQuery,
  type Team,
  type TeamAccess,
  teamAccessQuery,
  type UserAccess,
  userAccessQuery,
} from '../../api/access-queries.ts';
import { linkOf } from '../../api/link.ts';
import { request } from '../../api/request.ts';
import type { Person, Project } from '../../api/resources.ts';
import { useProjectChanged } from '../../api/use-project-changed.ts';
import { Age } from '../../ui/age.tsx';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { personNameOrId } from '../../ui/person-name.ts';
import { Failure } from '../page.tsx';
import { AddTeam, InviteButton } from './access-forms.tsx';
import { permissionsInvited, permissionsWith, roleIn, roles, types, type EnvironmentColumn } from './access-roles.ts';
import { ProjectThings, ThingsHead } from './project-things.tsx';

export const AccessPage = () => <ProjectThings title="Access">{(project) => <Access project={project} />}</ProjectThings>;

function Access({ project }: { project: Project }) {
  const { data: people, error } = useQuery(userAccessQuery(project));
  const { data: teams } = useQuery(teamAccessQuery(project));
  const { data: invitations } = useQuery(invitationsQuery(project));
  const changed = useProjectChanged(project.id);
  return (
    <>
      <ThingsHead button={<InviteButton project={project} onDone={changed} />}>
        People and teams that somebody let into this project. Administrators of the project may do everything; others have a role on each
        type of environment. Owners and administrators of the organization are in without being listed.
      </ThingsHead>
      {error && <Failure error={error} />}
      {!people && !error && <Bones rows={3} height={40} />}
      {people && (
        <table className="table cards access-matrix">
          <thead>
            <tr>
              <th scope="col">Who</th>
              {types.map((type) => (
                <th key={type} scope="col">
                  {type === 'project' ? 'Project' : `On ${type}`}
                </th>
              ))}
              <th scope="col">
                <span className="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {people.items.map((access) => (
              <AccessRow key={access.user_id} project={project} access={access} person={people.mentioned[access.user_id]} />
            ))}
            {teams?.items.map((access) => (
              <TeamRow key={access.team_id} project={project} access={access} team={teams.mentioned[access.team_id]} />
            ))}
            {invitations?.map((invitation) => (
              <InvitationRow key={invitation.id} project={project} invitation={invitation} />
            ))}
          </tbody>
        </table>
      )}
      {teams && <AddTeam project={project} present={new Set(teams.items.map(({ team_id }) => team_id))} onDone={changed} />}
    </>
  );
}

function AccessRow({ project, access, person }: { project: Project; access: UserAccess; person: Person | undefined }) {
  const changed = useProjectChanged(project.id);
  const name = personNameOrId(person, access.user_id);
  const link = linkOf(access, 'update');
  const change = useMutation({
    mutationFn: (permissions: readonly string[]) => request('PATCH', link?.href ?? '', { permissions }),
    onSuccess: changed,
  });
  return (
    <tr>
      <th scope="row">
        {name}
        {person && <p className="quiet small">{person.email}</p>}
        {change.error && <FailureNotice>{change.error.message}</FailureNotice>}
      </th>
      {types.map((type) => (
        <td key={type} data-label={type}>
          <Role
            label={`Role of ${name} ${type === 'project' ? 'in the project' : `on ${type}`}`}
            type={type}
            permissions={access.permissions}
            onChange={link && !change.isPending ? (role) => change.mutate(permissionsWith(access.permissions, type, role)) : undefined}
          />
        </td>
      ))}
      <td className="end">
        <DeedButton
          resource={access}
          rel="delete"
          says="Remove"
          label={`Remove ${name}`}
          title={`Remove ${name} from ${project.title}`}
          look="button tiny"
          verb="Remove"
          onDone={changed}
        />
      </td>
    </tr>
  );
}

/** What a team may do is the team's own, in all its projects. */
function TeamRow({ project, access, team }: { project: Project; access: TeamAccess; team: Team | undefined }) {
  const changed = useProjectChanged(project.id);
  const name = team?.label ?? access.team_id;
  return (
    <tr>
      <th scope="row">
        {name} <span className="tag plain">team</span>
        {team && <p className="quiet small">{team.counts.member_count === 1 ? '1 person' : `${team.counts.member_count} people`}</p>}
      </th>
      <RoleWords permissions={team?.project_permissions ?? []} />
      <td className="end">
        <DeedButton
          resource={access}
          rel="delete"
          says="Remove"
          look="button tiny"
          label={`Remove ${name}`}
          title={`Remove ${name} from ${project.title}`}
          verb="Remove"
          onDone={changed}
        />
      </td>
    </tr>
  );
}

function InvitationRow({ project, invitation }: { project: Project; invitation: Invitation }) {
  const changed = useProjectChanged(project.id);
  return (
    <tr>
      <th scope="row">
        {invitation.email} <span className="tag plain">invited</span>
        <p className="quiet small">
          by {invitation.owner.display_name}, <Age of={invitation.created_at} ago />
        </p>
      </th>
      <RoleWords permissions={permissionsInvited(invitation)} />
      <td className="end">
        <DeedButton
          resource={invitation}
          rel="delete"
          says="Cancel"
          look="button tiny"
          label={`Cancel the invitation of ${invitation.email}`}
          title={`Cancel the invitation of ${invitation.email}`}
          verb="Cancel the invitation"
          onDone={changed}
        />
      </td>
    </tr>
  );
}

/** Roles that are not changed here. */
const RoleWords = ({ permissions }: { permissions: readonly string[] }) =>
  types.map((type) => (
    <td key={type} data-label={type}>
      {type !== 'project' && permissions.includes('admin') ? (
        <span className="quiet">everything</span>
      ) : (
        roles[type].find(({ role }) => role === roleIn(permissions, type))?.word
      )}
    </td>
  ));

interface RoleProps {
  label: string;
  type: EnvironmentColumn;
  permissions: readonly string[];
  /** Undefined: it cannot be changed by whoever looks, or not just now. */
  onChange: ((role: string) => void) | undefined;
}

function Role({ label, type, permissions, onChange }: RoleProps) {
  const role = roleIn(permissions, type);
  const isAdmin = type !== 'project' && permissions.includes('admin');
  if (isAdmin) return <span className="quiet">everything</span>;
  return (
    <select className="input" aria-label={label} value={role} disabled={!onChange} onChange={({ target }) => onChange?.(target.value)}>
      {roles[type].map(({ role: each, word }) => (
        <option key={each} value={each}>
          {word}
        </option>
      ))}
    </select>
  );
}
