/** The home page of a project: its tree of environments, and what happens in it. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { standingOf } from '../../api/environment-standing.ts';
import { treeQuery, type TreeShoot } from '../../api/project-queries.ts';
import { activitiesQuery, environmentsQuery, projectQuery } from '../../api/queries.ts';
import type { Activity, Environment } from '../../api/resources.ts';
import { EnvironmentTree, useFilter } from '../../tree/environment-tree.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Feed } from './feed.tsx';
import { FirstPush } from './first-push.tsx';
import { Failure, Main, useTitle } from '../page.tsx';

const feedLength = 14;

export function TreePage() {
  const { project: id } = useParams({ from: '/projects/$project' });
  const { data: project, error } = useQuery(projectQuery(id));
  const { data: environments, error: environmentsError } = useQuery(environmentsQuery(id));
  const { data: activities } = useQuery(activitiesQuery(id));
  const { data: told } = useQuery(treeQuery(project));
  useTitle(project?.title);
  const failure = error ?? environmentsError;
  const isEmpty = environments?.every(({ has_code }) => !has_code);
  const isNew = useIsNew(environments);
  return (
    <div className="shell with-feed">
      <Main>
        {failure && <Failure error={failure} />}
        {!environments && !failure && <Bones rows={5} height={56} />}
        {project && isNew && (
          <FirstPush project={project} environment={environments?.find(({ is_main }) => is_main)} activities={activities ?? []} />
        )}
        {environments && !isEmpty && (
          <Environments project={id} environments={environments} activities={activities ?? []} told={told ?? []} />
        )}
      </Main>
      <aside className="feed" aria-label="Activity">
        <h2>Activity</h2>
        {activities ? <Feed activities={activities.filter(isTold).slice(0, feedLength)} /> : <Bones rows={6} height={36} />}
        {activities && activities.length > 0 && (
          <p>
            <Link to="/projects/$project/activities" params={{ project: id }}>
              All activity
            </Link>
          </p>
        )}
      </aside>
    </div>
  );
}

/** Whether nothing was ever live here when the page was opened: then it goes on showing how that comes about, to the end. */
function useIsNew(environments: readonly Environment[] | undefined): boolean {
  const [isNew, setNew] = useState(false);
  const isWaiting = environments?.every(({ has_deployment }) => !has_deployment) ?? false;
  if (isWaiting && !isNew) setNew(true);
  return isNew;
}

/** What the platform does by itself for certificates is on the page of all activity. */
const isTold = ({ type }: Activity) => !type.startsWith('environment.certificate');

interface EnvironmentsProps {
  project: string;
  environments: readonly Environment[];
  activities: readonly Activity[];
  told: readonly TreeShoot[];
}

function Environments({ project, environments, activities, told }: EnvironmentsProps) {
  const { typed, setTyped, shown } = useFilter(environments);
  return (
    <>
      <div className="summary">
        <Summary environments={environments} activities={activities} />
        <form className="filter push" role="search" onSubmit={(event) => event.preventDefault()}>
          <label className="unseen" htmlFor="filter">
            Filter environments
          </label>
          <Icon name="filter" className="small" />
          <input
            className="input"
            id="filter"
            placeholder="Filter"
            autoComplete="off"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
        </form>
      </div>
      {shown.length === 0 ? (
        <p className="quiet">No environment has a name like that.</p>
      ) : (
        <EnvironmentTree project={project} environments={shown} activities={activities} told={told} />
      )}
      <p className="key">A shoot is as long as its data is old. A dot is a deployment. A dotted line is at rest.</p>
    </>
  );
}

const kinds = [
  ['active', 'awake'],
  ['building', 'at work'],
  ['sleeping', 'asleep'],
  ['failed', 'failed'],
  ['paused', 'paused'],
  ['inactive', 'inactive'],
] as const;

function Summary({ environments, activities }: { environments: readonly Environment[]; activities: readonly Activity[] }) {
  const counts = Map.groupBy(environments, (environment) => standingOf(environment, activities).standing);
  const told = kinds.filter(([standing]) => counts.has(standing));
  return (
    <p>
      <b>{environments.length}</b> {environments.length === 1 ? 'environment' : 'environments'}:{' '}
      {told.map(([standing, word], n) => (
        <span key={standing}>
          {n > 0 && ', '}
          <b>{counts.get(standing)?.length}</b> {word}
        </span>
      ))}
    </p>
  );
}
