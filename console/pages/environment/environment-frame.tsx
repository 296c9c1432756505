/** What the pages of an environment stand in: the tree beside them, its name and state, what can be done to it, and its pages as tabs. */
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { EnvironmentButtons } from '../../actions/environment-actions.tsx';
import { addressOf, standingOf } from '../../api/environment-standing.ts';
import { activitiesQuery, environmentActivitiesQuery, environmentQuery, environmentsQuery, projectQuery } from '../../api/queries.ts';
import type { Activity, Environment } from '../../api/resources.ts';
import { MiniTree } from '../../tree/mini-tree.tsx';
import { Bar } from '../../ui/bar.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Badge } from '../../ui/status.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Failure, Main, useTitle } from '../page.tsx';
import { SuspensionBanner } from '../organization/suspension-banner.tsx';
import { useProjectCrumbs } from '../project/project-crumbs.tsx';

export function EnvironmentFrame() {
  const { project, environment: id } = useParams({ from: '/projects/$project/environments/$environment' });
  const { data: environment, error } = useQuery(environmentQuery(project, id));
  const { data: activities } = useQuery(environmentActivitiesQuery(project, id));
  const { data: owner } = useQuery(projectQuery(project));
  const crumbs = useProjectCrumbs(project);
  useTitle(id);
  const crumb = (
    <Link key="environment" to="/projects/$project/environments/$environment" params={{ project, environment: id }} aria-current="page">
      <span className="cut mono">{id}</span>
    </Link>
  );
  return (
    <>
      <Bar crumbs={[...crumbs, crumb]} />
      <SuspensionBanner organization={owner?.organization} />
      <div className="shell with-tree">
        <Sidebar project={project} />
        <Main>
          <button type="button" className="button tiny only-phone" popoverTarget={sidebarId}>
            <Icon name="branch" className="small" />
            Environments
          </button>
          {error && !environment && <Failure error={error} />}
          {!environment && !error && <Bones rows={6} height={56} />}
          {environment && (
            <>
              <Head project={project} environment={environment} activities={activities ?? []} />
              <Outlet />
            </>
          )}
        </Main>
      </div>
    </>
  );
}

/** On a phone it opens from a button above the content. */
const sidebarId = 'environments';

function Sidebar({ project: id }: { project: string }) {
  const { data: project } = useQuery(projectQuery(id));
  const { data: environments } = useQuery(environmentsQuery(id));
  const { data: activities } = useQuery(activitiesQuery(id));
  return (
    <nav className="sidebar" aria-label="Environments" id={sidebarId} popover="auto">
      <div className="side-head">
        <Link to="/projects/$project" params={{ project: id }}>
          {project?.title || id}
        </Link>
      </div>
      {environments ? <MiniTree project={id} environments={environments} activities={activities ?? []} /> : <Bones rows={4} height={22} />}
    </nav>
  );
}

interface HeadProps {
  project: string;
  environment: Environment;
  activities: readonly Activity[];
}

function Head({ project, environment, activities }: HeadProps) {
  const { standing, word, percent } = standingOf(environment, activities);
  const address = addressOf(environment);
  return (
    <div className="env-head">
      <div className="page-head">
        <div>
          <div className="row wrap env-name">
            <h1 className="mono">{environment.id}</h1>
            <Badge of={standing}>
              {word}
              {percent !== undefined && ` ${percent} %`}
            </Badge>
            <span className={`tag ${environment.type}`}>{environment.type}</span>
          </div>
          {address !== undefined && environment.status !== 'inactive' && (
            <p className="row env-address">
              <a className="cut mono" href={address}>
                {address}
              </a>
              <CopyButton text={address} label="Copy the address" />
            </p>
          )}
        </div>
        <div className="actions">
          {address !== undefined && environment.status !== 'inactive' && (
            <a className="button" href={address}>
              <Icon name="open" />
              Open
            </a>
          )}
          <EnvironmentButtons project={project} environment={environment} />
        </div>
      </div>
      <Tabs
        label="Pages of the environment"
        of="/projects/$project/environments/$environment"
        params={{ project, environment: environment.id }}
        resource={environment}
      />
    </div>
  );
}
