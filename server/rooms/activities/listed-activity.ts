/** An activity as lists and replies show it. */
import type { Activity } from '../../kernel/activity.ts';

export interface ListedActivity extends Omit<Activity, 'integration'> {
  organization_id: string;
  project: string;
  integration?: string;
  /** Only in the reply about one activity; lists would be megabytes. */
  log: string;
}

export const listed = ({ integration, ...row }: Activity & { organization_id: string }): ListedActivity => ({
  ...row,
  ...(integration !== null && { integration }),
  project: row.project_id,
  log: '',
});
