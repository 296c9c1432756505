import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time, Ulid } from '../../kernel/schema.ts';
import type { EnvironmentType, Scope } from '../../permissions.ts';
import { backupById, type Backup } from './queries.ts';

const Megabytes = (description: string) => nullable(Type.Integer({ description: `${description}, in MB; null until it is known.` }));

/** All that an environment was at one moment: its data, what ran, and how. */
export const BackupEntity = entity({
  name: 'backup',
  path: '/projects/{projectId}/environments/{environmentId}/backups/{backupId}',
  params: { projectId: ProjectId, environmentId: EnvironmentId, backupId: Ulid },
  schema: Type.Object({
    id: Ulid,
    created_at: nullable(Type.String({ format: 'date-time', description: 'The moment whose data the backup holds.' })),
    updated_at: nullable(Time),
    attributes: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
    status: Type.String({ enum: ['CREATED', 'DELETING'], description: '`DELETING` until the last of it is gone from the store.' }),
    expires_at: nullable(
      Type.String({
        format: 'date-time',
        description:
          'Of an automated backup: when newer ones take its place, as the project has it now (`settings.data_retention`); it stays longer where they do not come. Of one that was found damaged: when it is removed. Null: it stays until it is deleted or replaced.',
      }),
    ),
    index: nullable(Type.Integer({ description: 'The number of an automated backup: they are counted in each environment, from 1.' })),
    commit_id: Type.String({ description: 'The commit that was deployed.' }),
    environment: Type.String({ description: 'The environment that the backup was made of.' }),
    safe: Type.Boolean({ description: 'Whether requests were held while the copies were taken, so that none was half done.' }),
    size_of_volumes: Megabytes('How large the disks of its services and apps were'),
    size_used: Megabytes('What was on them'),
    size_object_storage: Megabytes('How much object storage its apps had: none, here'),
    deployment: nullable(Type.String({ description: 'What ran, as `earlier-deployments` names it.' })),
    restorable: Type.Boolean({
      description: 'Whether it can be restored: all of it is in the store, was read back from there, and was not found damaged since.',
    }),
    automated: Type.Boolean(),
    is_damaged: Type.Boolean({ description: 'Whether what is stored of it was found damaged, so that it cannot be restored.' }),
  }),
  address: ({ id, project_id, environment }: Backup) => ({ projectId: project_id, environmentId: environment, backupId: id }),
  scope: (backup) => scopeOf(backup),
  view: 'environment:view',
  load: ({ projectId, environmentId, backupId }, { db }) => backupById(db, projectId, environmentId, backupId),
});

const guardedFirst = ['production', 'staging', 'development'] as const satisfies EnvironmentType[];

/** The more guarded of the environment's types then and now: whoever may not see one of them may not see what is in the backup. */
function scopeOf({ project_id, organization_id, environment_type, environment_type_now }: Backup): Scope {
  const types = new Set([environment_type, environment_type_now]);
  const environmentType = guardedFirst.find((type) => types.has(type)) ?? 'production';
  return { project: project_id, organization: organization_id, environmentType };
}
