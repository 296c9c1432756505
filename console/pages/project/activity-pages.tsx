/** The activity of a project, and one activity at its own address, with all of its log. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { activitiesQuery, activityQuery, projectQuery } from '../../api/queries.ts';
import { ActivityLog } from '../../log/activity-log.tsx';
import { Age } from '../../ui/age.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Feed } from './feed.tsx';
import { Failure, Main, useTitle } from '../page.tsx';

export function ActivitiesPage() {
  const { project: id } = useParams({ from: '/projects/$project/activities' });
  const { data: project } = useQuery(projectQuery(id));
  const { data: activities, error } = useQuery(activitiesQuery(id));
  useTitle(project && `Activity of ${project.title}`);
  return (
    <div className="shell">
      <Main>
        <div className="feed alone">
          {error && <Failure error={error} />}
          {activities ? <Feed activities={activities} /> : !error && <Bones rows={8} height={36} />}
        </div>
      </Main>
    </div>
  );
}

export function ActivityPage() {
  const { project: id, activity: activityId } = useParams({ from: '/projects/$project/activities/$activity' });
  const { data: activity, error } = useQuery(activityQuery(id, activityId));
  useTitle(activity?.text ?? 'Activity');
  return (
    <div className="shell">
      <Main>
        {error && <Failure error={error} />}
        {!activity && !error && <Bones rows={8} height={20} />}
        {activity && (
          <>
            <p className="quiet activity-facts">
              <code>{activity.type}</code> <code>{activity.id}</code>, begun <Age of={activity.created_at} ago />
            </p>
            <ActivityLog activity={activity} isWhole />
          </>
        )}
      </Main>
    </div>
  );
}
