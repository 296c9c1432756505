import { Type } from 'typebox';
import { array, deleted, one, operation, updated } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import { actorOf, changed } from '../activities/public.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { BackupEntity } from './backup.ts';
import { mayDelete, noDeletion, startDeletion } from './delete-backup.ts';
import { backupLife, statusOf } from './life-cycle.ts';
import { backupsOf } from './queries.ts';
import { mayBackUp, noBackup, startBackup } from './start-backup.ts';

export const backupEnvironment = operation({
  summary: 'Back up an environment: its data, what runs, and how, at one moment',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/backup',
  on: EnvironmentEntity,
  rel: '#backup',
  permission: 'environment:admin',
  allowedWhen: mayBackUp,
  otherwise: noBackup,
  body: closed({
    safe: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Whether requests wait while the copies are taken, so that none is half done in the backup. With `false`, nothing waits.',
      }),
    ),
  }),
  example: { safe: true },
  returns: updated(EnvironmentEntity),
  handle: async ({ target: found, body: { safe = true }, caller }, { db, config }) => {
    const start = db.transaction().execute((tx) => startBackup(tx, config.domain, found, { safe, slot: null }, actorOf(caller.user)));
    const { target, activity } = await start;
    return changed({ ...target, is_dirty: true }, target.organization_id, activity);
  },
});

export const listProjectsEnvironmentsBackups = operation({
  summary: 'List the backups of an environment, the newest first',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/backups',
  on: EnvironmentEntity,
  rel: 'backups',
  permission: 'environment:view',
  returns: array(BackupEntity),
  handle: async ({ target: { project_id, id }, caller }, { db }) =>
    (await backupsOf(db, project_id, id)).filter((backup) => caller.can('environment:view', BackupEntity.scope(backup))),
});

export const getProjectsEnvironmentsBackups = operation({
  summary: 'Get a backup of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/backups/{backupId}',
  on: BackupEntity,
  permission: 'environment:view',
  returns: one(BackupEntity),
  handle: async ({ target }) => target,
});

export const deleteProjectsEnvironmentsBackups = operation({
  summary: 'Delete a backup of an environment',
  endpoint: 'DELETE /projects/{projectId}/environments/{environmentId}/backups/{backupId}',
  on: BackupEntity,
  rel: '#delete',
  permission: 'environment:admin',
  allowedWhen: mayDelete,
  otherwise: noDeletion,
  returns: deleted,
  handle: async ({ target, caller }, platform) => {
    const activity = await startDeletion(platform, target, actorOf(caller.user));
    const state = backupLife.after(target.state, 'delete') ?? target.state;
    return changed({ ...target, state, status: statusOf(state), is_being_deleted: true }, target.organization_id, activity);
  },
});
