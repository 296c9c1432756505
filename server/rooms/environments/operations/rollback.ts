/** Going back to what ran before: an extension of the published API. */
import { Type } from 'typebox';
import { array, one, operation, updated } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import { actorOf, changed } from '../../activities/public.ts';
import { EarlierDeploymentEntity, earlierDeployments } from '../../deployments/public.ts';
import { EnvironmentEntity } from '../environment.ts';
import { mayRollBack, noRollback, startRollback } from '../start-rollback.ts';

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

export const rollBackEnvironment = operation({
  summary: 'Roll an environment back: an earlier deployment runs again, without a build, and with the data as it is now',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/rollback',
  on: EnvironmentEntity,
  rel: '#rollback',
  permission: 'environment:push',
  allowedWhen: mayRollBack,
  otherwise: noRollback,
  body: closed({
    deployment: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9]{1,64}$',
        description: 'Its id or its number; without it, what ran before the code that runs now.',
      }),
    ),
    strategy: Type.Optional(Type.Unsafe<'stopstart' | 'rolling'>({ type: 'string', enum: ['stopstart', 'rolling'] })),
  }),
  example: {},
  returns: updated(EnvironmentEntity),
  handle: async ({ target: found, body, caller }, { db, config }) => {
    const start = db.transaction().execute((tx) => startRollback(tx, config.domain, found, body, actorOf(caller.user)));
    const { target, activity } = await start;
    return changed({ ...target, is_dirty: true }, target.organization_id, activity);
  },
});
