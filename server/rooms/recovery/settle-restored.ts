/**
 * An installation that came back from its backup, on a machine that may have nothing of what its environments kept. What was under way then is over. Backups that
 * were made later are found in the store, and those that are gone from there are forgotten. An environment without its volumes is not started empty: it is
 * restored from its newest backup if it ran, or else rests, inactive, until somebody decides.
 */
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { adoptBackups, newestBackup, startRecovery, type Adopted } from '../backups/room.ts';
import { currentlyDeployed, forgetStack, partsOfStack } from '../deployments/room.ts';

export interface Restored {
  db: Db;
  secrets: Secrets;
  blobs: Blobs;
  config: Config;
  /** The names of all volumes that the machine still has. */
  volumes: ReadonlySet<string>;
  say(line: string): void;
}

export interface Settled {
  project_id: string;
  environment_id: string;
  /** `kept`: its volumes are here; `empty`: there is no backup, or nobody needs it now. */
  outcome: 'kept' | 'restoring' | 'empty';
  /** What it is restored from, or could be. */
  backup: string | undefined;
}

export async function settleRestored(restored: Restored): Promise<Settled[]> {
  const { db, say } = restored;
  await endActivities(db);
  for (const project of await projectsOf(db)) tell(say, project, await adoptBackups(restored, project));
  const settled: Settled[] = [];
  for (const environment of await deployedEnvironments(db)) settled.push(await settle(restored, environment));
  return settled;
}

function tell(say: Restored['say'], project: string, { found, damaged, missing }: Adopted) {
  if (found.length > 0) say(`${project}: found backups that were made later: ${found.join(', ')}`);
  if (damaged.length > 0) say(`${project}: left alone what is not whole in the store: ${damaged.join(', ')}`);
  if (missing.length > 0) say(`${project}: these backups are not in the store any more: ${missing.join(', ')}`);
}

/** Their runners, and what they were at work on, are no more. */
async function endActivities(db: Db): Promise<void> {
  await sql`with ended as (
      update activities set state = 'complete', result = 'failure', failure_reason = 'error', completion_percent = 100, staged_in = null,
        failure = coalesce(failure, ${JSON.stringify({ sentence: 'E: The platform was restored from a backup of itself meanwhile.' })}),
        completed_at = clock_timestamp(), updated_at = clock_timestamp(), runner = null, lease_until = null, is_undoing = false
      where state in ('pending', 'in_progress', 'scheduled', 'staged') returning id)
    update activity_lanes set is_open = false from ended where activity_id = ended.id`.execute(db);
  await sql`update deployments set status = 'failed', updated_at = clock_timestamp() where status = 'preparing'`.execute(db);
}

async function projectsOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from projects where status <> 'deleted' order by id`.execute(db);
  return rows.map(({ id }) => id);
}

interface Environment {
  project_id: string;
  id: string;
  status: string;
}

async function deployedEnvironments(db: Db): Promise<Environment[]> {
  const { rows } = await sql<Environment>`
    select project_id, id, status from environments where stack_id is not null and status in ('active', 'paused') order by project_id, id`.execute(
    db,
  );
  return rows;
}

async function settle({ db, secrets, config, volumes }: Restored, { project_id, id, status }: Environment): Promise<Settled> {
  const backup = await newestBackup(db, project_id, id);
  const deployed = await currentlyDeployed(db, secrets, project_id, id);
  const kept = deployed ? partsOfStack(deployed.stack) : [];
  const isHere = kept.length > 0 && kept.every(({ volume }) => volumes.has(volume));
  // With some of them here, whoever knows why decides; nothing of it runs, or is removed.
  const isPartlyHere = kept.some(({ kind, volume }) => kind !== 'slug' && volumes.has(volume));
  if (isHere || isPartlyHere) return { project_id, environment_id: id, outcome: 'kept', backup };
  const isRestored = status === 'active' && backup !== undefined;
  await db.transaction().execute(async (tx: Tx) => {
    await forgetStack(tx, project_id, id);
    if (isRestored) await startRecovery(tx, config.domain, project_id, id, backup);
  });
  return { project_id, environment_id: id, outcome: isRestored ? 'restoring' : 'empty', backup };
}
