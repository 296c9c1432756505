/** All projects of a person, by organization: where the console begins. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { organizationsQuery } from '../api/queries.ts';
import type { Organization } from '../api/resources.ts';
import { Bar } from '../ui/bar.tsx';
import { Snippet } from '../ui/copy-button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Bones } from '../ui/notice.tsx';
import { NewProject } from './organization/new-project.tsx';
import { Projects } from './organization/projects.tsx';
import { Failure, Main, useTitle } from './page.tsx';

export function HomePage() {
  const { data: organizations, error } = useQuery(organizationsQuery());
  useTitle('Projects');
  return (
    <>
      <Bar />
      <div className="shell">
        <Main>
          <div className="page-head">
            <h1>Projects</h1>
          </div>
          {error && <Failure error={error} />}
          {!organizations && !error && <Bones rows={4} height={40} />}
          {organizations?.map((organization) => (
            <OrganizationSection key={organization.id} organization={organization} />
          ))}
          {organizations?.length === 0 && <NoOrganization />}
        </Main>
      </div>
    </>
  );
}

const OrganizationSection = ({ organization }: { organization: Organization }) => (
  <section className="section" aria-label={organization.label}>
    <div className="section-head">
      <h2>
        <Link to="/organizations/$organization" params={{ organization: organization.id }}>
          {organization.label}
        </Link>
      </h2>
      <span className="push">
        <NewProject organization={organization} />
      </span>
    </div>
    <Projects organization={organization} />
  </section>
);

const NoOrganization = () => (
  <div className="empty section">
    <h2>Nothing grows here yet</h2>
    <p>
      A project is a Git repository, and everything that runs for each of its branches. It belongs to an organization: one that somebody
      invites you to, or your own.
    </p>
    <Link className="button primary" to="/create-project">
      <Icon name="branch" />
      Create your first project
    </Link>
    <p className="quiet">The same without the console begins with an organization:</p>
    <Snippet
      label="Copy the request"
      text={`curl -X POST -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d '{"label": "Acme"}' ${location.origin}/organizations`}
    />
  </div>
);
