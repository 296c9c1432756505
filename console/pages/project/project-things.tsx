/** What the pages of a project share: the project, once it is there, and how they begin. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { projectQuery } from '../../api/queries.ts';
import type { Project } from '../../api/resources.ts';
import { Bones } from '../../ui/notice.tsx';
import { Failure, Main, useTitle } from '../page.tsx';

export function ProjectThings({ title, children }: { title: string; children(project: Project): ReactNode }) {
  const { project: id } = useParams({ from: '/projects/$project' });
  const { data: project, error } = useQuery(projectQuery(id));
  useTitle(project && `${title} of ${project.title}`);
  return (
    <div className="shell">
      <Main>
        {error && <Failure error={error} />}
        {!project && !error && <Bones rows={5} height={40} />}
        {project && children(project)}
      </Main>
    </div>
  );
}

interface Head {
  children: ReactNode;
  button?: ReactNode;
}

export const ThingsHead = ({ children, button }: Head) => (
  <div className="section-head">
    <p className="quiet page-intro">{children}</p>
    <span className="push">{button}</span>
  </div>
);
