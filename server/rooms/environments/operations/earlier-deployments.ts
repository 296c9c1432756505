/** What ran before, and can be gone back to: an extension of the published API. */
import { array, one, operation, plain } from '../../../kernel/operation.ts';
import { Differences, differencesFromCurrent, EarlierDeploymentEntity, earlierDeployments } from '../../deployments/public.ts';
import { EnvironmentEntity } from '../environment.ts';

export const listEarlierDeployments = operation({
  summary: 'List what was deployed in an environment, newest first, and what it can be rolled back to',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/earlier-deployments',
  on: EnvironmentEntity,
  rel: 'earlier-deployments',
  permission: 'environment:view',
  returns: array(EarlierDeploymentEntity),
  handle: ({ target: { project_id, id } }, { db }) => earlierDeployments(db, project_id, id),
});

export const getEarlierDeployment = operation({
  summary: 'Get an earlier deployment of an environment, in short',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/earlier-deployments/{deploymentId}',
  on: EarlierDeploymentEntity,
  permission: 'environment:view',
  returns: one(EarlierDeploymentEntity),
  handle: async ({ target }) => target,
});

export const compareEarlierDeployment = operation({
  summary: 'Tell what differs between an earlier deployment and what runs: commits, configuration, sizes, builds, and names of variables',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/earlier-deployments/{deploymentId}/differences',
  on: EarlierDeploymentEntity,
  rel: '#differences',
  permission: 'environment:view',
  returns: plain(Differences),
  handle: ({ target }, platform) => differencesFromCurrent(platform, target),
});
