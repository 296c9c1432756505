import type { Activity } from '../../api/resources.ts';

/** An activity ends soon after its deployment has failed: when what it had begun is taken back. */
const endsWithinMilliseconds = 10 * 60_000;

/** The activity whose deployment failed at this time; undefined where it is not among those that are at hand. */
export function failedBy(activities: readonly Activity[], at: string): Activity | undefined {
  const distanceOf = ({ completed_at }: Activity) => Math.abs(Date.parse(completed_at ?? '') - Date.parse(at));
  const failed = activities.filter((activity) => activity.result === 'failure' && distanceOf(activity) < endsWithinMilliseconds);
  return failed.toSorted((one, other) => distanceOf(one) - distanceOf(other))[0];
}
