/** What happened, newest first: who did what, how it ended, and the way to its log. */
import { Link } from '@tanstack/react-router';
import { isUnderWay } from '../../api/queries.ts';
import type { Activity } from '../../api/resources.ts';
import { ActivitySentence } from '../../log/activity-sentence.tsx';
import { activityStanding } from '../../log/activity-log.tsx';
import { Age, duration } from '../../ui/age.tsx';
import { Glyph } from '../../ui/status.tsx';

const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });

function headingOf(activity: Activity): string {
  if (isUnderWay(activity)) return 'Under way';
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(activity.created_at).setHours(0, 0, 0, 0)) / 86_400_000);
  return days === 0 ? 'Today' : days === 1 ? 'Yesterday' : day.format(new Date(activity.created_at));
}

export function Feed({ activities }: { activities: readonly Activity[] }) {
  if (activities.length === 0) return <p className="quiet">Nothing has happened yet.</p>;
  return [...Map.groupBy(activities, headingOf)].map(([heading, some]) => (
    <section key={heading}>
      <h3>{heading}</h3>
      <ul>
        {some.map((activity) => (
          <FeedEntry key={activity.id} activity={activity} />
        ))}
      </ul>
    </section>
  ));
}

const FeedEntry = ({ activity }: { activity: Activity }) => (
  <li>
    <Glyph of={activityStanding(activity)} />
    <span>
      <ActivitySentence activity={activity} />
    </span>
    <span className="when">
      <Age of={activity.completed_at ?? activity.created_at} />
    </span>
    <div className="more">
      {isUnderWay(activity) && (
        <span className="progress" aria-hidden="true">
          <span style={{ width: `${activity.completion_percent}%` }} />
        </span>
      )}
      <Link to="/projects/$project/activities/$activity" params={{ project: activity.project, activity: activity.id }}>
        {activity.result === 'failure' ? 'Read the log' : 'Log'}
      </Link>
      {activity.started_at && activity.completed_at && `, took ${duration(activity.started_at, activity.completed_at)}`}
    </div>
  </li>
);
