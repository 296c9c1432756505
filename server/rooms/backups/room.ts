/** Backups of environments, and what is restored from them. */
import type { Room } from '../../kernel/room.ts';
import { deleteBackupActivity } from './delete-backup.ts';
import { startDueBackups } from './due-backups.ts';
import { backupActivity } from './make-backup.ts';
import * as operations from './operations.ts';
import { restoreActivity } from './restore-backup.ts';
import * as restoreOperations from './restore-operation.ts';
import { removeOldBackups } from './remove-old-backups.ts';

export const backups: Room = {
  name: 'Backups',
  about: 'All that environments were at one moment, kept elsewhere, and brought back.',
  operations: { ...operations, ...restoreOperations },
  activities: { backupActivity, deleteBackupActivity, restoreActivity },
  reconcilers: [startDueBackups, removeOldBackups],
};
