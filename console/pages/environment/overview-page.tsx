/** An environment at a glance: what runs for it, and what is being done to it. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { deploymentQuery, environmentActivitiesQuery, environmentQuery } from '../../api/queries.ts';
import type { Activity, Environment } from '../../api/resources.ts';
import { ActivityLog } from '../../log/activity-log.tsx';
import { ContainerSizes } from './container-sizes.tsx';
import { Deployments } from './deployments.tsx';
import { FailedDeployment } from './failed-deployment.tsx';
import { Kin } from './kin.tsx';
import { StackMap } from './stack-map.tsx';

export function OverviewPage() {
  const { project, environment: id } = useParams({ from: '/projects/$project/environments/$environment' });
  const { data: environment } = useQuery(environmentQuery(project, id));
  const { data: activities } = useQuery(environmentActivitiesQuery(project, id));
  return environment && <Overview project={project} environment={environment} activities={activities ?? []} />;
}

interface OverviewProps {
  project: string;
  environment: Environment;
  activities: readonly Activity[];
}

function Overview({ project, environment, activities }: OverviewProps) {
  const { data: deployment } = useQuery(deploymentQuery(project, environment));
  const shown =
    activities.find(({ state }) => state === 'in_progress') ??
    activities.find(({ state }) => state === 'pending') ??
    activities.find((activity) => isToldOf(activity, environment));
  return (
    <div className="env-grid">
      <div className="env-content">
        <FailedDeployment project={project} environment={environment} activities={activities} />
        {deployment && <StackMap deployment={deployment} />}
        {!environment.has_deployment && <NothingRuns environment={environment} />}
        {deployment && <ContainerSizes deployment={deployment} />}
        <Deployments project={project} environment={environment} />
      </div>
      <div className="env-side stack">
        {shown && <ActivityLog key={shown.id} activity={shown} />}
        <Kin environment={environment} />
      </div>
    </div>
  );
}

/** What was done to this environment itself, not with it for another; certificates are the platform's own affair. */
const isToldOf = ({ type, environments }: Activity, { id }: Environment) =>
  environments.at(-1) === id && !type.startsWith('environment.certificate');

const NothingRuns = ({ environment }: { environment: Environment }) => (
  <div className="empty">
    <h2>Nothing runs here</h2>
    {environment.has_code ? (
      <p>
        The branch <code>{environment.id}</code> has code. When it is activated, the code is built and runs with a clone of the data of{' '}
        <code>{environment.parent ?? 'its parent'}</code>.
      </p>
    ) : (
      <p>
        The branch <code>{environment.id}</code> has no code yet: push to it.
      </p>
    )}
  </div>
);
