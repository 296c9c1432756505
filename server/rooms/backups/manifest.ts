/** What is in the store beside the parts, so that a backup can be understood without the database that it was made with. */
import { sql } from 'kysely';
import type { Db } from '../../kernel/sql.ts';
import { backupSnapshot } from '../deployments/room.ts';
import type { BackupPart } from './queries.ts';

export const manifestPart = {
  name: 'manifest',
  file: 'manifest.json',
  volume: (backup: string) => backupSnapshot(backup, 'manifest'),
};

const manifestVersion = 1;

export interface Manifest {
  version: number;
  backup: string;
  project: string;
  environment: string;
  environment_type: string;
  commit_id: string;
  deployment: string | null;
  safe: boolean;
  automated: boolean;
  created_at: string;
  /** With variables and passwords, for whoever has the installation's key. */
  stack_sealed: string;
  parts: readonly BackupPart[];
  /** Of one that was made elsewhere, and brought here as a file. */
  origin?: Origin;
}

export interface Origin {
  backup: string;
  project: string;
  environment: string;
  imported_at: string;
}

export async function manifestOf(db: Db, backup: string, parts: readonly BackupPart[]): Promise<Manifest> {
  const { rows } = await sql<Omit<Manifest, 'version' | 'parts'>>`
    select id as backup, project_id as project, environment_id as environment, environment_type, commit_id, deployment, safe, automated,
      created_at, stack_sealed
    from backups where id = ${backup}`.execute(db);
  const [row] = rows;
  if (!row) throw new Error(`There is no row of backup ${backup}`);
  return { version: manifestVersion, ...row, parts };
}
