/** The home page of an organization: its projects. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { organizationsQuery } from '../../api/queries.ts';
import { Projects } from './projects.tsx';

export function ProjectsPage() {
  const { organization: id } = useParams({ from: '/organizations/$organization' });
  const { data: organizations } = useQuery(organizationsQuery());
  const organization = organizations?.find((each) => each.id === id);
  return organization && <Projects organization={organization} />;
}
