/** The head of an organization's pages: its name, and its pages as tabs. */
import { useQuery } from '@tanstack/react-query';
import { Outlet, useParams } from '@tanstack/react-router';
import { organizationsQuery } from '../../api/queries.ts';
import { Bar } from '../../ui/bar.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Failure, Main, useTitle } from '../page.tsx';
import { NewProject } from './new-project.tsx';
import { OrganizationCrumb } from './organization-crumb.tsx';
import { SuspensionBanner } from './suspension-banner.tsx';

export function OrganizationFrame() {
  const { organization: id } = useParams({ from: '/organizations/$organization' });
  const { data: organizations, error } = useQuery(organizationsQuery());
  const organization = organizations?.find((each) => each.id === id);
  useTitle(organization?.label);
  return (
    <>
      <Bar crumbs={organization ? [<OrganizationCrumb key="organization" organization={organization} isCurrent />] : []} />
      <SuspensionBanner organization={id} />
      <div className="project-head">
        <div className="page-head">
          <h1>{organization?.label ?? 'Organization'}</h1>
          <span className="push">{organization && <NewProject organization={organization} />}</span>
        </div>
        <Tabs label="Pages of the organization" of="/organizations/$organization" params={{ organization: id }} resource={organization} />
      </div>
      <div className="shell">
        <Main>
          {error && <Failure error={error} />}
          {organizations && !organization && <Failure error={new Error('No such organization.')} />}
          {!organizations && !error && <Bones rows={4} height={40} />}
          {organization && <Outlet />}
        </Main>
      </div>
    </>
  );
}
