/**
 * Backups that were found damaged: nobody is offered one of them, and nothing relies on it; whoever wants may delete it, and it goes by itself after a while. It may be
 * found whole again before that: an operator has put files back, or a later backup stored the same data anew.
 */
import { sql } from 'kysely';
import type { Blobs, Copy, Stored } from '../../drivers/blobs/blobs.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { backupsThat, becoming } from './life-cycle.ts';
import { orphanDays } from './retention-queries.ts';

const damagedDays = 14;

/** The verdict on a backup from all its copies: one whole copy is enough to restore it. */
export function verdictOn(copies: readonly Copy[]): Copy['state'] {
  if (copies.some(({ state }) => state === 'whole')) return 'whole';
  return copies.length > 0 && copies.every(({ state }) => state === 'damaged') ? 'damaged' : 'unknown';
}

/** Notes the verdict, and answers whether it is news. A backup that could not be looked at stays as it was. */
export async function noteVerdict(db: Db, id: string, verdict: Copy['state']): Promise<boolean> {
  if (verdict === 'unknown') return false;
  return db.transaction().execute((tx) => (verdict === 'damaged' ? markDamaged(tx, id) : markWhole(tx, id)));
}

interface Marked {
  project_id: string;
  environment_id: string;
}

async function markDamaged(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql<Marked>`
    update backups set ${becoming('findDamaged')},
      expires_at = least(case when orphaned_at is not null then expires_at end, now() + make_interval(days => ${damagedDays}::integer))
    where id = ${id} and ${backupsThat('findDamaged')} returning project_id, environment_id`.execute(tx);
  return tellNewest(tx, rows);
}

/** From now on the retention policy, or the end of the environment, decides again how long the backup stays. */
async function markWhole(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql<Marked>`
    update backups set ${becoming('findWhole')},
      expires_at = orphaned_at + make_interval(days => ${orphanDays}::integer)
    where id = ${id} and ${backupsThat('findWhole')} returning project_id, environment_id`.execute(tx);
  return tellNewest(tx, rows);
}

/** An environment that sleeps is not backed up again as long as there is a backup of how it fell asleep. */
async function tellNewest(tx: Tx, [marked]: readonly Marked[]): Promise<boolean> {
  if (!marked) return false;
  const { project_id, environment_id } = marked;
  await sql`update environments set last_backup_at = (select max(created_at) from backups
      where project_id = ${project_id} and environment_id = ${environment_id} and ${backupsThat('restore')})
    where project_id = ${project_id} and id = ${environment_id}`.execute(tx);
  return true;
}

/** A backup that should be in the store. */
export interface KnownBackup {
  id: string;
  environment_id: string;
  stored: Stored;
  is_damaged: boolean;
}

export const knownBackups = async (db: Db, projectId: string): Promise<KnownBackup[]> => {
  const { rows } = await sql<KnownBackup>`
    select id, environment_id, stored, ${backupsThat('review')} as is_damaged from backups
    where project_id = ${projectId} and ${backupsThat('keep')} order by id`.execute(db);
  return rows;
};

/** Projects for which something was stored since their damaged backups were last looked at: it may be what those lack. */
export const projectsToReview = async (db: Db): Promise<string[]> => {
  const { rows } = await sql<{ project_id: string }>`
    select distinct damaged.project_id from backups as damaged join backups as stored on stored.project_id = damaged.project_id
    where ${backupsThat('review', 'damaged')} and ${backupsThat('restore', 'stored')}
      and stored.updated_at > damaged.updated_at`.execute(db);
  return rows.map(({ project_id }) => project_id);
};

export const noteReviewed = (db: Db, ids: readonly string[]) =>
  sql`update backups set updated_at = clock_timestamp() where id = any(${ids}) and ${backupsThat('review')}`.execute(db);

/** For a backup that could not be restored: it is read once more, as something else may have failed. */
export async function noteUnrestorable(
  { db, blobs }: { db: Db; blobs: Blobs },
  projectId: string,
  stored: Stored,
  signal: AbortSignal | undefined,
): Promise<void> {
  await noteVerdict(db, stored.backup, verdictOn(await blobs.inspect(projectId, stored, signal)));
}
