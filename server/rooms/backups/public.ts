/** What other rooms may know of backups: the entity, lookups, and what a stored backup consists of. */
export { BackupEntity } from './backup.ts';
export { allBackups, type ListedBackup } from './listed-backups.ts';
export { manifestPart, type Manifest } from './manifest.ts';
export { newestBackup, type NewestBackup } from './recover-environments.ts';
export { BackupPart } from './parts.ts';
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
export { UnreadableBackup } from './unreadable-backup.ts';
