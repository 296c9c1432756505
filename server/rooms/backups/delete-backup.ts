/**
 * The end of a backup that somebody does not want any more. Once it has begun it is not taken back: where the store does not answer, what is left is tried
 * again until it is gone (remove-old-backups.ts).
 */
import { Type } from 'typebox';
import { repairingOnce } from '../../drivers/blobs/repairing-once.ts';
import { activity, startActivity, type Activity } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { environment as named, person, sentence, strong, type Actor } from '../activities/public.ts';
import { environmentById, lockTree, environmentSummary } from '../environments/public.ts';
import { backupLife } from './life-cycle.ts';
import { markDeleting, noteDeletion, removeRows, type Backup } from './queries.ts';
import { repairStore } from './repair-store.ts';

const keptDays = 30;

export const deleteBackupActivity = activity({
  type: 'environment.backup.delete',
  queue: 'backup',
  usesMachine: true,
  cancellable: false,
  keptDays,
  input: Type.Object({ backup: Type.String() }),
  run: async ({ activity: self, input: { backup }, step, record, log }, { db, blobs }) => {
    log(`Deleting backup ${backup}`);
    await step('forget', (signal) =>
      repairingOnce(
        () => blobs.forget(self.project_id, [backup], signal),
        async ({ message }) => {
          log(`  W: ${message} The store is repaired first`);
          await repairStore({ db, blobs }, self.project_id, log, signal);
        },
      ),
    );
    await record('remove', (tx) => removeRows(tx, [backup]));
    log('Its place in the store is free');
  },
});

/** While it is made, deleted or restored it cannot be deleted; where deleting it failed, it is tried again. */
export const mayDelete = ({ state, is_being_deleted, is_being_restored }: Backup) =>
  backupLife.possible(state, 'delete') && !is_being_deleted && !is_being_restored;
export const noDeletion = ({ state }: Backup) => backupLife.otherwise(state, 'delete');

export const startDeletion = ({ db, config }: Pick<Platform, 'db' | 'config'>, backup: Backup, actor: Actor): Promise<Activity> =>
  db.transaction().execute(async (tx) => {
    const { id, project_id, environment } = backup;
    await lockTree(tx, project_id);
    const owner = await environmentById(tx, config.domain, project_id, environment);
    if (!owner || !(await markDeleting(tx, project_id, id))) throw new Problem('conflict', noDeletion(backup));
    const deletion = await startActivity(tx, deleteBackupActivity, {
      project_id,
      environments: [owner],
      beside: 'backup deletion',
      isOwed: true,
      input: { backup: id },
      parameters: { user: actor.id, environment, backup: id },
      payload: { user: actor, environment: environmentSummary(owner), backup_name: id },
      sentence: sentence`${person(actor)} deleted backup ${strong(id)} of ${named(owner)}`,
    });
    await noteDeletion(tx, id, deletion.id);
    return deletion;
  });
