/**
 * The environments of a project as shoots. An environment whose data is its own has had it since it was made. What was deployed lately is told by the API's tree
 * and, until that is there, as far as the recent activities tell.
 */
import type { Activity, Environment } from '../api/resources.ts';
import type { TreeShoot } from '../api/project-queries.ts';
import type { Shoot } from './growth.ts';

const deploying = new Set([
  'environment.push',
  'environment.redeploy',
  'environment.activate',
  'environment.branch',
  'environment.merge',
  'environment.rollback',
]);

export function shootsOf(
  environments: readonly Environment[],
  activities: readonly Activity[],
  told: ReadonlyMap<string, TreeShoot> = new Map(),
): Shoot[] {
  return environments.map((environment) => {
    const own = activities.filter(({ environments: on }) => on.includes(environment.id));
    return {
      id: environment.id,
      parent: environment.parent,
      takenAt: Date.parse(environment.data_taken_at ?? environment.created_at),
      restsSince: restsSince(environment, own),
      isDormant: environment.status === 'inactive',
      deployments:
        told.get(environment.id)?.deployments.map(({ at, is_successful }) => ({ at: Date.parse(at), isFailed: !is_successful })) ??
        deploymentsIn(own, environment),
    };
  });
}

const deploymentsIn = (own: readonly Activity[], environment: Environment) =>
  own
    .filter((activity) => isDeployment(activity, environment))
    .map(({ completed_at, result }) => ({ at: Date.parse(completed_at ?? ''), isFailed: result === 'failure' }));

const isDeployment = ({ type, completed_at, environments }: Activity, { id }: Environment) =>
  deploying.has(type) && completed_at !== null && environments.at(-1) === id;

function restsSince({ status, sleeping_since, updated_at }: Environment, own: readonly Activity[]): number | undefined {
  if (status === 'active') return sleeping_since === null ? undefined : Date.parse(sleeping_since);
  const ended = own.find(({ type }) => type === 'environment.pause' || type === 'environment.deactivate');
  return Date.parse(ended?.completed_at ?? updated_at);
}
