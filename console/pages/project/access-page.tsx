/** Who may do what in a project: people, and their role on each type of environment, as one matrix. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { linkOf } from '../../api/link.ts';
import { userAccessQuery, type Person, type UserAccess } from '../../api/project-queries.ts';
import { request } from '../../api/request.ts';
import type { Project } from '../../api/resources.ts';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { Failure } from '../page.tsx';
import { permissionsWith, roleIn, roles, types, type EnvironmentColumn } from './access-roles.ts';
import { ProjectThings, ThingsHead, useChanged } from './project-things.tsx';

export const AccessPage = () => <ProjectThings title="Access">{(project) => <Access project={project} />}</ProjectThings>;

function Access({ project }: { project: Project }) {
  const { data, error } = useQuery(userAccessQuery(project.id));
  return (
    <>
      <ThingsHead>
        People whom somebody let into this project. Administrators of the project may do everything; others have a role on each type of
        environment. Owners and administrators of the organization are in without being listed.
      </ThingsHead>
      {error && <Failure error={error} />}
      {!data && !error && <Bones rows={3} height={40} />}
      {data && (
        <table className="table cards access-matrix">
          <thead>
            <tr>
              <th scope="col">Person</th>
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
            {data.items.map((access) => (
              <AccessRow key={access.user_id} project={project} access={access} person={data.people[access.user_id]} />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

const nameOf = ({ first_name, last_name, username }: Person) => `${first_name} ${last_name}`.trim() || username;

function AccessRow({ project, access, person }: { project: Project; access: UserAccess; person: Person | undefined }) {
  const changed = useChanged(project.id);
  const name = person ? nameOf(person) : access.user_id;
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
