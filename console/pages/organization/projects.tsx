/** The projects of an organization, as far as a person may see them. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { linkOf } from '../../api/link.ts';
import { organizationProjectsQuery } from '../../api/queries.ts';
import type { Organization, OrganizationProject } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Snippet } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Badge, type Standing } from '../../ui/status.tsx';
import { Failure } from '../page.tsx';

export function Projects({ organization }: { organization: Organization }) {
  const { data: projects, error } = useQuery(organizationProjectsQuery(organization));
  return (
    <>
      {error && <Failure error={error} />}
      {!projects && !error && <Bones rows={2} height={40} />}
      {projects?.length === 0 && <NoProject organization={organization} />}
      {projects && projects.length > 0 && <ProjectTable projects={projects} />}
    </>
  );
}

const standings: Readonly<Record<string, { standing: Standing; word: string }>> = {
  active: { standing: 'active', word: 'Active' },
  requested: { standing: 'building', word: 'Being made' },
  provisioning: { standing: 'building', word: 'Being made' },
  suspended: { standing: 'paused', word: 'Suspended' },
  deleted: { standing: 'inactive', word: 'Deleted' },
};

const ProjectTable = ({ projects }: { projects: readonly OrganizationProject[] }) => (
  <table className="table cards">
    <thead>
      <tr>
        <th scope="col">Project</th>
        <th scope="col">Status</th>
        <th scope="col">Region</th>
        <th scope="col">Made</th>
        <th scope="col">Id</th>
      </tr>
    </thead>
    <tbody>
      {projects.map(({ id, title, status, region, created_at }) => {
        const { standing, word } = standings[status] ?? { standing: 'inactive' as const, word: status };
        return (
          <tr key={id}>
            <th scope="row">
              <Link to="/projects/$project" params={{ project: id }}>
                {title || id}
              </Link>
            </th>
            <td>
              <Badge of={standing}>{word}</Badge>
            </td>
            <td data-label="Region">{region}</td>
            <td data-label="Made">
              <Age of={created_at} ago />
            </td>
            <td data-label="Id" className="mono quiet">
              {id}
            </td>
          </tr>
        );
      })}
    </tbody>
  </table>
);

const NoProject = ({ organization }: { organization: Organization }) => (
  <div className="empty">
    <p>
      {organization.label} has no project that you may see. A project is a Git repository, and everything that runs for each of its
      branches.
    </p>
    {linkOf(organization, 'create-project') && (
      <Link className="button primary" to="/create-project" search={{ organization: organization.id }}>
        <Icon name="branch" />
        Create the first project
      </Link>
    )}
    <Snippet
      label="Copy the request"
      text={`curl -X POST -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d '{"region": "offshoot", "title": "Shop"}' ${location.origin}/organizations/${organization.id}/projects`}
    />
  </div>
);
