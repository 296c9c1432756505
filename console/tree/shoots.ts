/**
 * The environments of a project as shoots. When data was taken is not told by the API yet: it is the moment at which an environment was made, or a later one
 * at which its data was synchronized or restored, as far as the recent activities tell.
 */
import type { Activity, Environment } from '../api/resources.ts';
import type { Shoot } from './growth.ts';

const deploying = new Set([
  'environment.push',
  'environment.redeploy',
  'environment.activate',
  'environment.branch',
  'environment.merge',
  'environment.rollback',
]);

export function shootsOf(environments: readonly Environment[], activities: readonly Activity[]): Shoot[] {
  return environments.map((environment) => {
    const own = activities.filter(({ environments: on }) => on.includes(environment.id));
    return {
      id: environment.id,
      parent: environment.parent,
      takenAt: takenAt(environment, own),
      restsSince: restsSince(environment, own),
      isDormant: environment.status === 'inactive',
      deployments: own
        .filter((activity) => isDeployment(activity, environment))
        .map(({ completed_at, result }) => ({ at: Date.parse(completed_at ?? ''), isFailed: result === 'failure' })),
    };
  });
}

const isDeployment = ({ type, completed_at, environments }: Activity, { id }: Environment) =>
  deploying.has(type) && completed_at !== null && environments.at(-1) === id;

function takenAt({ id, created_at }: Environment, own: readonly Activity[]): number {
  const brought = own.find(({ type, result, environments, parameters }) => {
    if (result !== 'success' || environments.at(-1) !== id) return false;
    return (type === 'environment.synchronize' && parameters['synchronize_data'] === true) || type === 'environment.restore';
  });
  return Date.parse(brought?.completed_at ?? created_at);
}

function restsSince({ status, sleeping_since, updated_at }: Environment, own: readonly Activity[]): number | undefined {
  if (status === 'active') return sleeping_since === null ? undefined : Date.parse(sleeping_since);
  const ended = own.find(({ type }) => type === 'environment.pause' || type === 'environment.deactivate');
  return Date.parse(ended?.completed_at ?? updated_at);
}
