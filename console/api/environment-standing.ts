/** How an environment is, in one word: from its own state, and from what is being done to it. */
import type { Standing } from '../ui/status.tsx';
import type { Activity, Environment } from './resources.ts';

export interface EnvironmentStanding {
  standing: Standing;
  word: string;
  /** Of the activity that is under way, from 0 to 100. */
  percent?: number;
}

const states: Readonly<Record<string, EnvironmentStanding>> = {
  active: { standing: 'active', word: 'Active' },
  paused: { standing: 'paused', word: 'Paused' },
  inactive: { standing: 'inactive', word: 'Inactive' },
  deleting: { standing: 'building', word: 'Being deleted' },
  dirty: { standing: 'building', word: 'At work' },
};

/** Types of activities that change what runs, and what they are called while they run. */
const deeds: Readonly<Record<string, string>> = {
  'environment.push': 'Deploying',
  'environment.redeploy': 'Redeploying',
  'environment.branch': 'Branching',
  'environment.activate': 'Activating',
  'environment.deactivate': 'Deactivating',
  'environment.pause': 'Pausing',
  'environment.resume': 'Resuming',
  'environment.synchronize': 'Synchronizing',
  'environment.merge': 'Merging',
  'environment.backup': 'Backing up',
  'environment.restore': 'Restoring',
};

export const activityOn = (environment: Environment, activities: readonly Activity[]): Activity | undefined =>
  activities.find(({ state, environments }) => state === 'in_progress' && environments.includes(environment.id));

export function standingOf(environment: Environment, activities: readonly Activity[]): EnvironmentStanding {
  const { status, sleeping_since, deployment_state, start_failure } = environment;
  const activity = activityOn(environment, activities);
  if (activity) return { standing: 'building', word: deeds[activity.type] ?? 'At work', percent: activity.completion_percent };
  if (status === 'active' && start_failure !== null) return { standing: 'failed', word: 'Does not start' };
  if (status === 'active' && deployment_state?.last_deployment_successful === false)
    return { standing: 'failed', word: 'Deployment failed' };
  if (status === 'active' && sleeping_since !== null) return { standing: 'sleeping', word: 'Asleep' };
  return states[status] ?? { standing: 'inactive', word: status };
}

/** Where it answers, without the redirects from `www.`. */
export function addressOf({ _links }: Environment): string | undefined {
  const routes = [_links['pf:routes'] ?? []].flat().map(({ href }) => href);
  return routes.find((href) => !/^https?:\/\/www\./.test(href)) ?? routes[0];
}
