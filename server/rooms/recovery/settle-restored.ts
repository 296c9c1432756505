/**
 * An installation that came back from its backup, on a machine that may have nothing of what its environments kept, or all of it. What was under way then is
 * over. Backups that were made later are found in the store, and those that are not there are not offered.
 *
 * Volumes that survived are at least as new as any backup, so they are used as they are, and none is ever removed. An environment without its volumes is not
 * started empty: it gets the data of its newest backup back, and then runs, sleeps or is paused as it was; or else it rests, inactive, until somebody decides.
 */
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import { activitiesThat, activityLife } from '../../kernel/activity-life-cycle.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { backupsThat } from '../backups/life-cycle.ts';
import { newestBackup, type NewestBackup } from '../backups/public.ts';
import { adoptBackups, startRecovery, type Adopted } from '../backups/work.ts';
import { currentlyDeployed, stackOfVolume } from '../deployments/public.ts';
import { adoptHosts, changeState, forgetStack, partsOfStack, releaseHosts, type Rest } from '../deployments/work.ts';
import { isBeingMade } from '../environments/public.ts';
import { startRebuild } from '../environments/work.ts';
import { deploymentLife } from '../deployments/life-cycle.ts';
import { environmentLife } from '../environments/life-cycle.ts';

export interface Restored {
  db: Db;
  secrets: Secrets;
  blobs: Blobs;
  config: Pick<Config, 'domain' | 'url' | 'host'>;
  /** The names of all volumes that the machine still has. */
  volumes: ReadonlySet<string>;
  say(line: string): void;
}

/** What there is of an environment decides what becomes of it. */
export type Outcome =
  /** All of its volumes are here. */
  | 'kept'
  /** All of its data is here, or it has none; what was built is not here, and is built anew. */
  | 'rebuilding'
  /** All of its data is here, or it has none; but it is paused, so it is built only when somebody redeploys it. */
  | 'unbuilt'
  /** Some volumes are here, and some that hold data are not: it is paused until somebody decides. */
  | 'incomplete'
  | 'restoring'
  /** There is nothing left of it and no backup: it becomes inactive. */
  | 'empty';

export interface Settled {
  project_id: string;
  environment_id: string;
  outcome: Outcome;
  /** How the environment rested, and is to rest again; null where it is to serve. */
  rest: Rest | null;
  backup: NewestBackup | undefined;
  /** The names of the volumes that hold data and are missing. */
  missing: string[];
}

export async function settleRestored(restored: Restored): Promise<Settled[]> {
  const { db, say } = restored;
  await endActivities(db);
  // Backups from before hosts had owners: each environment gets its hosts now, so that nobody else takes them while it is restored.
  await adoptHosts(db, restored.config);
  for (const project of await projectsOf(db)) tell(say, project, await adoptBackups(restored, project));
  await noteLastBackups(db);
  const settled: Settled[] = [];
  for (const environment of await deployedEnvironments(db)) settled.push(await settle(restored, environment));
  const unclaimed = await leaveUnclaimed(restored);
  if (unclaimed.length > 0)
    say(`These volumes belong to no environment as the platform knew them, and are left alone, whatever they are: ${unclaimed.join(', ')}`);
  return settled;
}

function tell(say: Restored['say'], project: string, { found, damaged, unfit, missing, away }: Adopted) {
  if (found.length > 0) say(`${project}: found backups that were made later: ${found.join(', ')}`);
  if (damaged.length > 0) say(`${project}: these backups are not whole in the store, and are left alone: ${damaged.join(', ')}`);
  if (unfit.length > 0) say(`${project}: left alone: ${unfit.join(' ')}`);
  if (missing.length > 0)
    say(
      `${project}: these backups are not in the places of OFFSHOOT_BACKUPS: ${missing.join(', ')}. ./offshoot backup verify offers them again once they are.`,
    );
  if (away.length > 0)
    say(
      `${project}: none of its backups is in the places of OFFSHOOT_BACKUPS; set it to where they are before you start: ${away.join(', ')}`,
    );
}

/** Activities that were under way have lost their runners, and so they fail. Only the store knows what came of backups that were being made. */
async function endActivities(db: Db): Promise<void> {
  await sql`with ended as (
      update activities set state = ${activityLife.sqlAfter('state', 'lose')}, result = 'failure', failure_reason = 'error', completion_percent = 100, staged_in = null,
        failure = coalesce(failure, ${JSON.stringify({ sentence: 'E: The platform was restored from a backup of itself meanwhile.' })}),
        completed_at = clock_timestamp(), updated_at = clock_timestamp(), runner = null, lease_until = null, is_undoing = false
      where ${activitiesThat('lose')} returning id)
    update activity_lanes set is_open = false from ended where activity_id = ended.id`.execute(db);
  await sql`update deployments set status = ${deploymentLife.sqlAfter('status', 'fail')}, updated_at = clock_timestamp()
    where ${deploymentLife.sqlPossible('status', 'fail')}`.execute(db);
  await sql`delete from backups where ${isBeingMade}`.execute(db);
}

const noteLastBackups = (db: Db) =>
  sql`update environments set last_backup_at = newest.created_at
    from (select project_id, environment_id, max(created_at) as created_at from backups
      where ${backupsThat('restore')} and origin is null group by project_id, environment_id) as newest
    where environments.project_id = newest.project_id and environments.id = newest.environment_id`.execute(db);

async function projectsOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from projects where status <> 'deleted' order by id`.execute(db);
  return rows.map(({ id }) => id);
}

interface Environment {
  project_id: string;
  id: string;
  stack_id: string;
  rest: Rest | null;
}

async function deployedEnvironments(db: Db): Promise<Environment[]> {
  const { rows } = await sql<Environment>`
    select project_id, id, stack_id,
      case when ${environmentLife.sqlPossible('status', 'resume')} then 'paused'
        when ${environmentLife.sqlPossible('status', 'sleep')} and sleeping_since is not null and type <> 'production' then 'asleep' end as rest
    from environments where stack_id is not null and ${environmentLife.sqlPossible('status', 'holdData')} order by project_id, id`.execute(
    db,
  );
  return rows;
}

async function settle(restored: Restored, environment: Environment): Promise<Settled> {
  const { db } = restored;
  const { project_id, id, rest } = environment;
  const backup = await newestBackup(db, project_id, id);
  const { outcome, missing } = await lookAt(restored, environment, backup);
  await db.transaction().execute((tx) => makeSo[outcome](tx, environment, { domain: restored.config.domain, backup }));
  return { project_id, environment_id: id, outcome, rest, backup, missing };
}

async function lookAt({ db, secrets, volumes }: Restored, { project_id, id, stack_id, rest }: Environment, backup?: NewestBackup) {
  const deployed = await currentlyDeployed(db, secrets, project_id, id);
  const parts = deployed ? partsOfStack(deployed.stack) : [];
  const [data, slugs] = [parts.filter(({ kind }) => kind !== 'slug'), parts.filter(({ kind }) => kind === 'slug')];
  const missingOf = (some: typeof parts) => some.map(({ volume }) => volume).filter((volume) => !volumes.has(volume));
  const missing = missingOf(data);
  // A volume that this deployment does not use is data as well.
  const isLeft = [...volumes].some((volume) => stackOfVolume(volume) === stack_id);
  const outcome = (): Outcome => {
    if (parts.length > 0 && missingOf(parts).length === 0) return 'kept';
    if (isLeft && missing.length > 0) return 'incomplete';
    const hasNoData = slugs.length > 0 && data.length === 0;
    // What has no data is built anew from the repository rather than restored; but what does not run is not built.
    if (!isLeft && backup && !(hasNoData && rest === null)) return 'restoring';
    if (isLeft || hasNoData) return rest === 'paused' ? 'unbuilt' : 'rebuilding';
    return 'empty';
  };
  return { outcome: outcome(), missing };
}

interface With {
  domain: string;
  backup: NewestBackup | undefined;
}

const makeSo: Record<Outcome, (tx: Tx, environment: Environment, given: With) => Promise<void>> = {
  kept: async () => {},
  unbuilt: async () => {},
  rebuilding: (tx, { project_id, id }, { domain }) => startRebuild(tx, domain, project_id, id),
  incomplete: (tx, { project_id, id }) => changeState(tx, project_id, id, 'pause'),
  // The environment keeps its hosts while it is restored.
  restoring: async (tx, { project_id, id, rest }, { domain, backup }) => {
    await forgetStack(tx, project_id, id);
    if (backup) await startRecovery(tx, domain, { project_id, environment_id: id, backup, rest });
  },
  empty: async (tx, { project_id, id }) => {
    await forgetStack(tx, project_id, id);
    await releaseHosts(tx, project_id, id);
  },
};

/**
 * Volumes of stacks that no environment has. The database may know such a stack from a deployment that was under way when it was backed up, and whose outcome it
 * cannot know. The stack is forgotten, because volumes that the database does not know are never removed.
 */
async function leaveUnclaimed({ db, volumes }: Restored): Promise<string[]> {
  const { rows } = await sql<{ stack_id: string }>`select stack_id from environments where stack_id is not null`.execute(db);
  const claimed = new Set(rows.map(({ stack_id }) => stack_id));
  const unclaimed = [...volumes].flatMap((volume) => {
    const stack = stackOfVolume(volume);
    return stack === undefined || claimed.has(stack) ? [] : [{ volume, stack }];
  });
  const stacks = [...new Set(unclaimed.map(({ stack }) => stack))];
  await sql`delete from deployments where stack_id = any(${stacks}) and ${deploymentLife.sqlPossible('status', 'discard')}`.execute(db);
  return unclaimed.map(({ volume }) => volume).toSorted();
}
