import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../../ids.ts';
import { entity, one, operation, updated } from '../../../kernel/operation.ts';
import { closed, nullable } from '../../../kernel/schema.ts';
import { sleepSecondsMax } from '../../../setting-values.ts';
import { changeSettings } from '../change-settings.ts';
import { environmentById, type Environment } from '../queries.ts';

/** An extension of the published settings. Sleep is off unless somebody wants it, because a sleeping preview does no work of its own, such as that of its workers. */
const SleepAfterSeconds = nullable(
  Type.Integer({
    minimum: 0,
    maximum: sleepSecondsMax,
    description:
      'Without a request for so long, its containers stop, until the next request. 0: never; null: as the installation says. Production never sleeps; environments that are branched from it begin with its value.',
  }),
);

/** How an environment is deployed, and when it sleeps. */
const EnvironmentSettingsEntity = entity({
  name: 'environment settings',
  path: '/projects/{projectId}/environments/{environmentId}/settings',
  params: { projectId: ProjectId, environmentId: EnvironmentId },
  schema: Type.Object({
    enable_manual_deployments: Type.Boolean({ description: 'Changes wait until somebody deploys them.' }),
    sleep_after_seconds: SleepAfterSeconds,
  }),
  address: ({ id, project_id }: Environment) => ({ projectId: project_id, environmentId: id }),
  scope: ({ project_id, organization_id, type }) => ({ project: project_id, organization: organization_id, environmentType: type }),
  view: 'environment:view',
  load: ({ projectId, environmentId }, { db, config }) => environmentById(db, config.domain, projectId, environmentId),
});

export const getEnvironmentSettings = operation({
  summary: "Get an environment's settings",
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/settings',
  on: EnvironmentSettingsEntity,
  permission: 'environment:view',
  returns: one(EnvironmentSettingsEntity),
  handle: async ({ target }) => target,
});

export const updateEnvironmentSettings = operation({
  summary: "Change an environment's settings",
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}/settings',
  on: EnvironmentSettingsEntity,
  rel: '#edit',
  permission: 'environment:admin',
  body: closed({ enable_manual_deployments: Type.Optional(Type.Boolean()), sleep_after_seconds: Type.Optional(SleepAfterSeconds) }),
  example: { enable_manual_deployments: false },
  returns: updated(EnvironmentSettingsEntity),
  handle: ({ target, body, caller }, platform) => changeSettings(platform, target, body, caller),
});
