import { sql } from 'kysely';
import type { Stored } from '../../drivers/blobs/blobs.ts';
import type { Db } from '../../kernel/sql.ts';
import { backupsThat } from './life-cycle.ts';
import type { BackupPart } from './parts.ts';

export interface RestorableContent {
  stack_sealed: string;
  stored: Stored;
  parts: BackupPart[];
  created_at: string;
}

/** Undefined where the backup cannot be restored, or not any more. */
export async function restorableContent(db: Db, projectId: string, id: string): Promise<RestorableContent | undefined> {
  const { rows } = await sql<RestorableContent>`
    select stack_sealed, stored, parts, created_at from backups
    where project_id = ${projectId} and id = ${id} and ${backupsThat('restore')}`.execute(db);
  return rows[0];
}
