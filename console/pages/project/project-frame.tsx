/** The head of a project's pages: its name, and its pages as tabs. */
import { useQuery } from '@tanstack/react-query';
import { Outlet, useParams } from '@tanstack/react-router';
import { environmentsQuery, projectQuery } from '../../api/queries.ts';
import { Bar } from '../../ui/bar.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { SuspensionBanner } from '../organization/suspension-banner.tsx';
import { useProjectCrumbs } from './project-crumbs.tsx';

export function ProjectFrame() {
  const { project: id } = useParams({ from: '/projects/$project' });
  const { data: project } = useQuery(projectQuery(id));
  const { data: environments } = useQuery(environmentsQuery(id));
  const crumbs = useProjectCrumbs(id, true);
  return (
    <>
      <Bar crumbs={crumbs} />
      <SuspensionBanner organization={project?.organization} />
      <div className="project-head">
        <div className="page-head">
          <h1>{project?.title || id}</h1>
        </div>
        <Tabs
          label="Pages of the project"
          of="/projects/$project"
          params={{ project: id }}
          resource={project}
          beside={{ Environments: environments && <span className="count">{environments.length}</span> }}
        />
      </div>
      <Outlet />
    </>
  );
}
