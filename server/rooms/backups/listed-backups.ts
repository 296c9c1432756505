import { sql } from 'kysely';
import type { Stored } from '../../drivers/blobs/blobs.ts';
import type { Db } from '../../kernel/sql.ts';
import { backupState, backupsThat, type BackupState } from './life-cycle.ts';

/** A backup as the operator sees it: of whatever project, also of one that is gone. */
export interface ListedBackup {
  id: string;
  project_id: string;
  environment_id: string;
  created_at: string;
  state: BackupState;
  /** Since when it is known to be damaged, wherever it is stored. */
  damaged_at: string | null;
  automated: boolean;
  safe: boolean;
  /** In MB. */
  size_used: number | null;
  stored: Stored | null;
  /** The names of the places. */
  places: string[];
}

const backupsMax = 100_000;

/** All backups, or those of one project, newest last. */
export async function allBackups(db: Db, projectId?: string): Promise<ListedBackup[]> {
  const { rows } = await sql<Omit<ListedBackup, 'places'>>`
    select id, project_id, environment_id, created_at, ${backupState} as state, damaged_at, automated, safe, size_used, stored from backups
    where ${backupsThat('list')} and (${projectId ?? null}::text is null or project_id = ${projectId ?? null})
    order by created_at, id limit ${backupsMax}`.execute(db);
  return rows.map((row) => ({ ...row, places: Object.keys(row.stored?.places ?? {}) }));
}
