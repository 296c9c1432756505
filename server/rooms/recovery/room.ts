/** What brings an installation back after its machine is gone. */
import type { Room } from '../../kernel/room.ts';
import { backUpDaily } from './daily.ts';

export { loadDatabase } from './load-database.ts';
export { backUpPlatform, databasePart, folderParts, platformBackups, platformRepository, scratchFolder } from './platform-backup.ts';
export { settleRestored, type Settled } from './settle-restored.ts';

export const recovery: Room = {
  name: 'Recovery',
  about: 'Backups of the installation itself, and its return from them.',
  operations: {},
  reconcilers: [backUpDaily],
};
