/** A new project: what it is called and whose it is. Everything else is decided by the platform, or by the first push. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { LinkForm } from '../../actions/link-form.tsx';
import { linkOf } from '../../api/link.ts';
import { regionsQuery } from '../../api/project-queries.ts';
import { meQuery, organizationsQuery } from '../../api/queries.ts';
import type { Organization, OrganizationProject } from '../../api/resources.ts';
import { Bar } from '../../ui/bar.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Failure, Main, useTitle } from '../page.tsx';

export function CreateProjectPage() {
  const { data: organizations, error } = useQuery(organizationsQuery());
  useTitle('New project');
  return (
    <>
      <Bar />
      <div className="shell">
        <Main>
          <div className="page-head">
            <h1>New project</h1>
          </div>
          <p className="quiet lead">
            A project is a Git repository, and everything that runs for each of its branches. When it is made, you are shown how to push to
            it.
          </p>
          {error && <Failure error={error} />}
          {!organizations && !error && <Bones rows={3} height={56} />}
          {organizations && <Steps organizations={organizations.filter((each) => linkOf(each, 'create-project'))} />}
        </Main>
      </div>
    </>
  );
}

/** Whoever has no organization makes one first: it takes a name. */
function Steps({ organizations }: { organizations: readonly Organization[] }) {
  const { organization: asked } = useSearch({ from: '/create-project' });
  const [chosen, setChosen] = useState(asked);
  const organization = organizations.find(({ id }) => id === chosen) ?? organizations[0];
  if (!organization) return <FirstOrganization />;
  return (
    <div className="panel form-panel">
      {organizations.length > 1 && <OrganizationChoice organizations={organizations} chosen={organization.id} onChoose={setChosen} />}
      <ProjectForm key={organization.id} organization={organization} />
    </div>
  );
}

interface Choice {
  organizations: readonly Organization[];
  chosen: string;
  onChoose(id: string): void;
}

function OrganizationChoice({ organizations, chosen, onChoose }: Choice) {
  const id = useId();
  return (
    <div className="dialog-body">
      <div className="field">
        <label htmlFor={id}>Organization</label>
        <select className="input" id={id} value={chosen} onChange={({ target }) => onChoose(target.value)}>
          {organizations.map(({ id: each, label }) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

function ProjectForm({ organization }: { organization: Organization }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data: regions, error } = useQuery(regionsQuery(organization));
  const link = linkOf(organization, 'create-project');
  if (error) return <Failure error={error} />;
  if (!link || !regions) return <Bones rows={2} height={56} />;
  const [only, ...others] = regions;
  const given = only && others.length === 0 ? { region: only.id } : {};
  const done = (made: unknown) => {
    void queries.invalidateQueries({ queryKey: ['organizations', organization.id, 'projects'] });
    void navigate({ to: '/projects/$project', params: { project: (made as OrganizationProject).id } });
  };
  return (
    <LinkForm
      link={link}
      verb="Create the project"
      given={given}
      asks={['title', 'region', 'default_branch']}
      onDone={done}
      onCancel={() => void navigate({ to: '/' })}
    />
  );
}

function FirstOrganization() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data: me, error } = useQuery(meQuery());
  const link = linkOf(me, 'create-organization');
  if (error) return <Failure error={error} />;
  if (!me) return <Bones rows={2} height={56} />;
  if (!link) return <p className="empty">You may create projects in no organization: ask somebody to invite you to theirs.</p>;
  return (
    <section className="panel form-panel" aria-label="Your organization">
      <header>
        <h2>First, your organization</h2>
        <span className="quiet">Projects belong to one, and so do the people who may see them.</span>
      </header>
      <LinkForm
        link={link}
        verb="Create the organization"
        asks={['label']}
        onDone={() => void queries.invalidateQueries({ queryKey: ['organizations'] })}
        onCancel={() => void navigate({ to: '/' })}
      />
    </section>
  );
}
