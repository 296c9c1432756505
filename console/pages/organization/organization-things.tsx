/** What the pages of an organization share: the organization, once it is there, and what is asked anew after a change. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { organizationsQuery } from '../../api/queries.ts';
import type { Organization } from '../../api/resources.ts';
import { useTitle } from '../page.tsx';

interface Things {
  title: string;
  children(organization: Organization, changed: () => void): ReactNode;
}

/** The frame around it shows when the organization is on its way, or absent. */
export function OrganizationThings({ title, children }: Things) {
  const { organization: id } = useParams({ from: '/organizations/$organization' });
  const queries = useQueryClient();
  const { data: organizations } = useQuery(organizationsQuery());
  const organization = organizations?.find((each) => each.id === id);
  useTitle(organization && `${title} of ${organization.label}`);
  return organization && children(organization, () => void queries.invalidateQueries({ queryKey: ['organizations'] }));
}
