/** What commands may use of recovery: backups of the installation, and its return from them. */
export { dumpDatabase } from './dump-database.ts';
export { dumpedMigrations, loadDatabase } from './load-database.ts';
export {
  backUpPlatform,
  databasePart,
  folderParts,
  forgetOldPlatformBackups,
  platformBackups,
  platformRepository,
  repairPlatformBackups,
  settleRepositories,
  storedPlatform,
} from './platform-backup.ts';
export { beginRestoring, endRestoring, stateOfDatabase } from './restoring-database.ts';
export { inScratch, noteStoring, removeLeftScratch, scratchFolder } from './scratch.ts';
export { settleRestored, type Outcome, type Settled } from './settle-restored.ts';
