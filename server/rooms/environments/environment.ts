import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { Line, nullable, Time } from '../../kernel/schema.ts';
import { environmentTypes } from '../../permissions.ts';
import { environmentById, type Environment } from './queries.ts';
import { sshLinks } from './ssh-names.ts';
import { environmentLife } from './life-cycle.ts';

const anyObject = (properties: Record<string, object> = {}) =>
  Type.Unsafe<unknown>({ type: 'object', properties, additionalProperties: true });

export const HttpAccess = Type.Object({
  is_enabled: Type.Boolean(),
  addresses: Type.Array(Type.Object({ permission: Type.String({ enum: ['allow', 'deny'] }), address: Type.String() })),
  basic_auth: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
});

export const Title = Line(250);

/** A branch of a project, with all that runs for it. */
export const EnvironmentEntity = entity({
  name: 'environment',
  path: '/projects/{projectId}/environments/{environmentId}',
  params: { projectId: ProjectId, environmentId: EnvironmentId },
  schema: Type.Object({
    id: EnvironmentId,
    name: EnvironmentId,
    machine_name: Type.String({ description: 'Fit for host names.' }),
    title: Type.String(),
    attributes: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
    type: Type.String({ enum: [...environmentTypes] }),
    parent: nullable(Type.String()),
    default_domain: nullable(Type.String()),
    has_domains: Type.Boolean(),
    clone_parent_on_create: Type.Boolean(),
    deployment_target: nullable(Type.String()),
    is_pr: Type.Boolean(),
    has_remote: Type.Boolean(),
    status: Type.String({ enum: [...environmentLife.states, 'dirty'] }),
    http_access: anyObject(HttpAccess.properties),
    enable_smtp: Type.Boolean(),
    restrict_robots: Type.Boolean(),
    edge_hostname: Type.String(),
    deployment_state: anyObject(),
    sizing: anyObject(),
    resources_overrides: anyObject(),
    max_instance_count: nullable(Type.Integer()),
    sleeping_since: nullable(
      Type.String({
        format: 'date-time',
        description: 'Its containers stopped because nobody visited it; the next request starts them. Its status stays `active`.',
      }),
    ),
    start_failure: nullable(Type.String({ description: 'Why what should run could not be started, the last time that was tried.' })),
    data_taken_from: nullable(
      Type.String({
        description:
          'The environment whose data this one has a copy of: itself after a backup of its own was restored; null: its data is its own.',
      }),
    ),
    data_taken_at: nullable(Type.String({ format: 'date-time', description: 'As of when the copy is.' })),
    last_active_at: nullable(Time),
    last_backup_at: nullable(Time),
    project: ProjectId,
    is_main: Type.Boolean(),
    is_dirty: Type.Boolean({ description: 'Whether an activity waits or runs.' }),
    has_staged_activities: Type.Boolean(),
    can_rolling_deploy: Type.Boolean(),
    supports_rolling_deployments: Type.Boolean(),
    has_code: Type.Boolean(),
    head_commit: nullable(Type.String()),
    merge_info: Type.Object({
      commits_ahead: nullable(Type.Integer()),
      commits_behind: nullable(Type.Integer()),
      parent_ref: nullable(Type.String()),
    }),
    has_deployment: Type.Boolean(),
    supports_restrict_robots: Type.Boolean(),
    created_at: Time,
    updated_at: Time,
  }),
  address: ({ id, project_id }: Environment) => ({ projectId: project_id, environmentId: id }),
  scope: ({ project_id, organization_id, type }) => ({ project: project_id, organization: organization_id, environmentType: type }),
  view: 'environment:view',
  links: (environment, caller) => ({
    'pf:routes': environment.urls.map((href) => ({ href })),
    ...sshLinks(environment, environment.domain, caller),
  }),
  load: ({ projectId, environmentId }, { db, config }) => environmentById(db, config.domain, projectId, environmentId),
});
