/** Backups of environments, and what is restored from them. */
import type { Room } from '../../kernel/room.ts';
import { deleteBackupActivity } from './delete-backup.ts';
import { startDueBackups } from './due.ts';
import { backupActivity } from './make-backup.ts';
import * as operations from './operations.ts';
import { restoreActivity } from './restore-backup.ts';
import * as restoreOperations from './restore-operation.ts';
import { tidyBackups } from './tidy.ts';

export { BackupEntity } from './backup.ts';
export { noteVerdict, verdictOn } from './damage.ts';
export { allBackups, type ListedBackup } from './listed.ts';
export { manifestPart, type Manifest } from './manifest.ts';
export { adoptBackups, insertFound, newestBackup, startRecovery, type Adopted, type NewestBackup } from './recover-environments.ts';
export { BackupPart } from './parts.ts';
export { broughtBackLine, repairedLine, repairStore } from './repair-store.ts';
export {
  backupById,
  backupContent,
  backupsOf,
  insertBackup,
  makeRestorable,
  fitStack,
  sealedStack,
  type Backup,
  type BackupContent,
} from './queries.ts';

export { Unfit } from './unfit.ts';

export const backups: Room = {
  name: 'Backups',
  about: 'All that environments were at one moment, kept elsewhere, and brought back.',
  operations: { ...operations, ...restoreOperations },
  activities: { backupActivity, deleteBackupActivity, restoreActivity },
  reconcilers: [startDueBackups, tidyBackups],
};
