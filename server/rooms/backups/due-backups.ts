/** Automated backups are made when they are due. They never hold a request. Of an environment that is busy they are made in a later round. */
import { Problem } from '../../kernel/problem.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { actorById } from '../activities/public.ts';
import { retentionFor } from '../projects/public.ts';
import { calendarOf, slotAt } from './schedule.ts';
import { candidates, claimSlot, type Candidate } from './slots.ts';
import { startBackup } from './start-backup.ts';

export const startDueBackups: Reconciler = {
  name: 'start due backups',
  everySeconds: 60,
  run: async (platform, signal) => {
    for (const candidate of await candidates(platform.db)) if (!signal.aborted) await startIfDue(platform, candidate, Date.now());
  },
};

/** The slot that is due, if there is one. */
export function dueSlot({ project_id, environment_id, type, timezone, data_retention, since, slot_at, is_over }: Candidate, now: number) {
  const { schedule } = retentionFor(data_retention, type);
  const slot = slotAt(schedule, calendarOf(timezone, project_id, environment_id), now);
  if (slot === undefined) return undefined;
  const last = slot_at === null ? undefined : Date.parse(slot_at);
  const isDue = last === undefined ? slot > Date.parse(since) : slot > last || (slot === last && !is_over);
  return isDue ? new Date(slot).toISOString() : undefined;
}

export async function startIfDue(platform: Platform, candidate: Candidate, now: number): Promise<boolean> {
  const { db, config, log } = platform;
  const { project_id, environment_id } = candidate;
  const slot = dueSlot(candidate, now);
  if (slot === undefined) return false;
  try {
    return await db.transaction().execute(async (tx) => {
      if (!(await claimSlot(tx, project_id, environment_id, slot))) return false;
      await startBackup(tx, config.domain, { project_id, id: environment_id }, { safe: false, slot }, await actorById(tx, null));
      return true;
    });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The environment has become busy since, or is gone.
    log.debug({ project: project_id, environment: environment_id }, 'a backup is due, and waits for the next round');
    return false;
  }
}
