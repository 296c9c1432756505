/** An activity as lists and replies show it. */
import type { Activity } from '../../kernel/activity.ts';

export interface ListedActivity extends Omit<Activity, 'integration'> {
  organization_id: string;
  project: string;
  integration?: string;
  /** The log is filled in only for a single activity; with it, lists would have megabytes. */
  log: string;
}

export const listed = ({ integration, ...row }: Activity & { organization_id: string }): ListedActivity => ({
  ...row,
  ...(integration !== null && { integration }),
  project: row.project_id,
  log: '',
});
