/**
 * Keeps no backup longer than anybody wants it, and nothing of one that is gone: neither on the pool nor in the store. What was begun and killed, or failed
 * because the store did not answer, is finished here, again and again until it is.
 *
 * Backups outlive their environment, and their project, for two weeks: whoever deletes one by mistake has that long to notice. So do those that were found
 * damaged.
 */
import { repairingOnce } from '../../drivers/blobs/repairing-once.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { backupsWithSnapshots, removeSnapshots } from '../deployments/work.ts';
import { applyRetention } from './apply-retention.ts';
import { projectsToReview } from './damage.ts';
import {
  beingMade,
  expiringBackups,
  hasBackups,
  letExpire,
  noteOrphans,
  settleForgotten,
  type ExpiringBackups,
} from './retention-queries.ts';
import { removeRows } from './queries.ts';
import { repairStore, reviewDamaged } from './repair-store.ts';

export const removeOldBackups: Reconciler = {
  name: 'tidy backups',
  everySeconds: 300,
  usesMachine: true,
  isSlow: true,
  run: async (platform, signal) => {
    const { db } = platform;
    if (!(await hasBackups(db))) return;
    await noteOrphans(db);
    await letExpire(db);
    await settleForgotten(db);
    await applyRetention(db);
    await removeCopies(platform);
    for (const project of await projectsToReview(db)) if (!signal.aborted) await review(platform, project, signal);
    for (const expiring of await expiringBackups(db)) {
      if (signal.aborted) return;
      await forget(platform, expiring, signal);
    }
  },
};

/** Removes copies on the pool. The pool is listed before the database is asked: whatever is made later has a row by then. */
async function removeCopies(platform: Platform) {
  const machine = await platform.machine();
  const found = await backupsWithSnapshots(machine);
  if (found.size === 0) return;
  const needed = await beingMade(platform.db);
  for (const backup of found) if (!needed.has(backup)) await removeSnapshots(machine, backup);
}

/** What was stored since may be what damaged backups lack, so they are looked at again. */
async function review({ db, blobs, log }: Platform, project: string, signal: AbortSignal) {
  try {
    await reviewDamaged({ db, blobs }, project, (line) => log.info({ project }, line), signal);
  } catch (error) {
    if (!signal.aborted) log.warn({ project, error }, 'damaged backups could not be looked at; it is tried again');
  }
}

/** Removes backups from the store; a store that does not answer is asked again next time. */
async function forget({ db, blobs, log }: Platform, { project_id, ids, is_last_of_deleted }: ExpiringBackups, signal: AbortSignal) {
  try {
    if (is_last_of_deleted) await blobs.removeRepository(project_id);
    else
      await repairingOnce(
        () => blobs.forget(project_id, ids, signal),
        () => repairStore({ db, blobs }, project_id, (line) => log.warn({ project: project_id }, line.trim()), signal),
      );
    await removeRows(db, ids);
    log.info({ project: project_id, backups: ids }, 'backups that nobody needs any more are gone');
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ project: project_id, backups: ids, error }, 'backups could not be removed from the store; it is tried again');
  }
}
