import { Type } from 'typebox';
import { ActivityId, ProjectId } from '../../ids.ts';
import type { Activity } from '../../kernel/activity.ts';
import { activityLife } from '../../kernel/activity-life-cycle.ts';
import { logText } from '../../kernel/activity-log.ts';
import { Changed, entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import type { EnvironmentType } from '../../permissions.ts';
import { listed, type ListedActivity } from './listed-activity.ts';
import { activityById } from './queries.ts';

export const activityResults = ['success', 'failure'] as const;

const textCharactersMax = 1024 * 1024;

const anything = Type.Unsafe<unknown>({ type: 'object', additionalProperties: true });

/** A change to a project, under way or done: asynchronous, logged, resumable. */
export const ActivityEntity = entity({
  name: 'activity',
  path: '/projects/{projectId}/activities/{activityId}',
  params: { projectId: ProjectId, activityId: ActivityId },
  schema: Type.Object({
    id: ActivityId,
    type: Type.String({ description: 'Such as environment.push.' }),
    parameters: anything,
    payload: anything,
    project: ProjectId,
    integration: Type.Optional(Type.String()),
    environments: Type.Array(Type.String()),
    state: Type.String({ enum: [...activityLife.states] }),
    result: nullable(Type.String({ enum: [...activityResults] })),
    failure_reason: nullable(Type.String({ enum: ['error', 'shell'], description: '`shell`: a command of the user failed.' })),
    completion_percent: Type.Integer({ minimum: 0, maximum: 100 }),
    created_at: Time,
    updated_at: Time,
    started_at: nullable(Time),
    completed_at: nullable(Time),
    cancelled_at: nullable(Time),
    expires_at: nullable(Time),
    timings: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'number' } }),
    log: Type.String({ description: 'The log so far, in the reply about one activity; the link `log` streams it.' }),
    description: nullable(Type.String()),
    text: nullable(Type.String()),
    commands: Type.Unsafe<unknown>({
      type: 'array',
      items: {
        type: 'object',
        properties: { app: { type: 'string' }, type: { type: 'string' }, exit_code: { type: 'integer' } },
        required: ['app', 'type', 'exit_code'],
      },
    }),
  }),
  address: ({ id, project_id }: ListedActivity) => ({ projectId: project_id, activityId: id }),
  scope: (activity) => scopeOf(activity),
  view: 'activity:view',
  load: async ({ projectId, activityId }, { db }) => {
    const [found, log] = await Promise.all([activityById(db, projectId, activityId), logText(db, activityId, textCharactersMax)]);
    return found && { ...found, log };
  },
});

/** An activity on several environments has the scope of the most guarded one: a caller who may not see that environment may not see the activity. */
function scopeOf({ project_id, organization_id, environment_types }: ListedActivity) {
  const whole = { project: project_id, organization: organization_id };
  const guarded = (['production', 'staging', 'development'] as const satisfies EnvironmentType[]).find((type) =>
    environment_types.includes(type),
  );
  return guarded ? { ...whole, environmentType: guarded } : whole;
}

/** The reply about a thing as it is now, with the activities that carry out the rest of the change. */
export const changed = <Row extends object>(row: Row, organizationId: string, ...activities: readonly Activity[]): Changed<Row> =>
  new Changed(row, { of: ActivityEntity, rows: activities.map((activity) => listed({ ...activity, organization_id: organizationId })) });
