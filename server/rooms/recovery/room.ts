/** What brings an installation back after its machine is gone. */
import type { Room } from '../../kernel/room.ts';
import { backUpDaily } from './daily.ts';
import { lookAtPlaces } from './look-at-places.ts';

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
export { settleRestored, type Outcome, type Settled, type State } from './settle-restored.ts';

export const recovery: Room = {
  name: 'Recovery',
  about: 'Backups of the installation itself, and its return from them.',
  operations: {},
  reconcilers: [backUpDaily, lookAtPlaces],
};
