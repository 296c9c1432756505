/** Starts a backup: asked for by somebody, or because it is time. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import { ulid } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import { environment as named, person, sentence, type Actor } from '../activities/public.ts';
import {
  areMet,
  environmentById,
  environmentSummary,
  hasDeployment,
  hindrance,
  isNotBeingBackedUp,
  lockTree,
  type Environment,
} from '../environments/public.ts';
import { backupActivity } from './make-backup.ts';
import { environmentLife } from '../environments/life-cycle.ts';

/**
 * An environment that sleeps is woken for its backup, and one to which something is happening is backed up afterwards. One that is paused has to be resumed first.
 * Backups of an environment are made one at a time, because each takes room on the pool until it is stored.
 */
export const mayBackUp = (target: Environment) => environmentLife.possible(target.status, 'backUp') && areMet(needed, target);
export const noBackup = (target: Environment) => hindrance(target, 'backUp', needed);
const needed = [hasDeployment, isNotBeingBackedUp];

interface Asked {
  safe: boolean;
  /** When an automated backup was due; null where somebody asked for the backup. */
  slot: string | null;
}

export async function startBackup(
  tx: Tx,
  domain: string,
  { project_id, id }: { project_id: string; id: string },
  { safe, slot }: Asked,
  actor: Actor,
): Promise<{ target: Environment; activity: Activity }> {
  await lockTree(tx, project_id);
  const target = await environmentById(tx, domain, project_id, id);
  if (!target) throw new Problem('not-found', `There is no environment ${id} any more.`);
  // An automated backup can wait until nothing else happens to the environment.
  if (!mayBackUp(target) || (slot !== null && target.is_dirty)) throw new Problem('conflict', noBackup(target));
  const backup = ulid();
  const activity = await startActivity(tx, backupActivity, {
    project_id,
    environments: [target],
    isOwed: slot !== null,
    input: { environment: id, backup, safe, slot },
    parameters: { user: actor.id, environment: id, safe },
    payload: { user: actor, environment: environmentSummary(target), backup_name: backup },
    sentence: sentence`${person(actor)} created a backup of ${named(target)}`,
  });
  return { target, activity };
}
