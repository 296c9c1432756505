/** The bar's way to a project: the organization, then the project. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { organizationsQuery, projectQuery } from '../../api/queries.ts';
import { OrganizationCrumb } from '../organization/organization-crumb.tsx';

/** The crumbs of everything that is part of a project. */
export function useProjectCrumbs(id: string, isCurrent = false): ReactNode[] {
  const { data: project } = useQuery(projectQuery(id));
  const { data: organizations } = useQuery(organizationsQuery());
  const organization = organizations?.find((each) => each.id === project?.organization);
  return [
    ...(organization ? [<OrganizationCrumb key="organization" organization={organization} />] : []),
    <Link
      key="project"
      to="/projects/$project"
      params={{ project: id }}
      activeOptions={{ exact: true }}
      aria-current={isCurrent ? 'page' : undefined}
    >
      <span className="cut">{project?.title || id}</span>
    </Link>,
  ];
}
