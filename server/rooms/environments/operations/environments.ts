import { Type } from 'typebox';
import { array, deleted, one, operation, updated } from '../../../kernel/operation.ts';
import { closed, nullable } from '../../../kernel/schema.ts';
import { environmentTypes } from '../../../permissions.ts';
import { actorOf, changed } from '../../activities/public.ts';
import { ProjectEntity } from '../../projects/public.ts';
import { AddressRules, BasicAuth, changeEnvironment } from '../change-environment.ts';
import { atHost, isOfHost } from '../code-source.ts';
import { areMet, hindrance, isNotOfDefaultBranch, isQuiet } from '../conditions.ts';
import { EnvironmentEntity, Title } from '../environment.ts';
import { environmentsOf } from '../queries.ts';
import { startDelete } from '../record-push.ts';
import { environmentLife } from '../life-cycle.ts';

export const listProjectsEnvironments = operation({
  summary: "List a project's environments",
  endpoint: 'GET /projects/{projectId}/environments',
  on: ProjectEntity,
  rel: 'environments',
  permission: 'project:view',
  returns: array(EnvironmentEntity),
  handle: async ({ target: { id }, caller }, { db, config }) =>
    (await environmentsOf(db, config.domain, id)).filter((environment) =>
      caller.can('environment:view', EnvironmentEntity.scope(environment)),
    ),
});

export const getEnvironment = operation({
  summary: 'Get an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}',
  on: EnvironmentEntity,
  permission: 'environment:view',
  returns: one(EnvironmentEntity),
  handle: async ({ target }) => target,
});

export const updateEnvironment = operation({
  summary: 'Change an environment',
  endpoint: 'PATCH /projects/{projectId}/environments/{environmentId}',
  on: EnvironmentEntity,
  rel: '#edit',
  permission: 'environment:admin',
  allowedWhen: ({ status }) => environmentLife.possible(status, 'edit'),
  otherwise: ({ status }) => environmentLife.otherwise(status, 'edit'),
  body: closed({
    name: Type.Optional(Type.String({ maxLength: 250 })),
    title: Type.Optional(Title),
    attributes: Type.Optional(Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 1000 }), { maxProperties: 50 })),
    type: Type.Optional(Type.String({ enum: [...environmentTypes] })),
    parent: Type.Optional(nullable(Type.String({ maxLength: 250 }))),
    clone_parent_on_create: Type.Optional(Type.Boolean()),
    http_access: Type.Optional(
      closed({ is_enabled: Type.Optional(Type.Boolean()), addresses: Type.Optional(AddressRules), basic_auth: Type.Optional(BasicAuth) }),
    ),
    enable_smtp: Type.Optional(Type.Boolean()),
    restrict_robots: Type.Optional(Type.Boolean()),
  }),
  example: { title: 'New checkout' },
  returns: updated(EnvironmentEntity),
  handle: ({ target, body, caller }, platform) => changeEnvironment(platform, target, body, caller),
});

const canGo = [isNotOfDefaultBranch, isQuiet];

export const deleteEnvironment = operation({
  summary: 'Delete an inactive environment and its branch',
  endpoint: 'DELETE /projects/{projectId}/environments/{environmentId}',
  on: EnvironmentEntity,
  rel: '#delete',
  permission: 'environment:admin',
  allowedWhen: (target) => environmentLife.possible(target.status, 'delete') && areMet(canGo, target) && !isOfHost(target),
  otherwise: (target) =>
    isOfHost(target)
      ? atHost(target, `${target.is_pr ? 'Close the pull request' : 'Delete the branch'} there, and its environment goes.`)
      : hindrance(target, 'delete', canGo),
  returns: deleted,
  handle: async ({ target, caller }, { db }) => {
    const activity = await db.transaction().execute((tx) => startDelete(tx, { id: target.project_id }, target, actorOf(caller.user)));
    const status = environmentLife.after(target.status, 'delete') ?? target.status;
    return changed({ ...target, status, is_dirty: true }, target.organization_id, activity);
  },
});
