/** That the last deployment failed and why, with the way to the line of the log that says so. What ran before still runs. */
import { Link } from '@tanstack/react-router';
import type { Activity, Environment } from '../../api/resources.ts';
import { failureAddress } from '../../log/failing-line.ts';
import { Age } from '../../ui/age.tsx';
import { FailureNotice } from '../../ui/notice.tsx';
import { failedBy } from './failed-by.ts';

interface FailedDeployment {
  project: string;
  environment: Environment;
  activities: readonly Activity[];
}

export function FailedDeployment({ project, environment, activities }: FailedDeployment) {
  const { status, has_deployment, deployment_state: last } = environment;
  // Where nothing was ever deployed, nothing has failed either, and has no time.
  if (status !== 'active' || last?.last_deployment_successful !== false || !last.last_deployment_at) return undefined;
  const activity = failedBy(activities, last.last_deployment_at);
  return (
    <FailureNotice>
      <p>
        <b>The last deployment failed</b>, <Age of={last.last_deployment_at} ago />
        {has_deployment && '; what ran before still runs'}.
      </p>
      {last.last_deployment_failure_reason && <p>{last.last_deployment_failure_reason}</p>}
      {activity && (
        <p>
          <Link to="/projects/$project/activities/$activity" params={{ project, activity: activity.id }} hash={failureAddress}>
            Show where it failed in the log
          </Link>
        </p>
      )}
    </FailureNotice>
  );
}
