/** Git and the database tell the same story about branches, whatever was killed between the two. */
import { sql } from 'kysely';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { Problem } from '../../kernel/problem.ts';
import { actorById } from '../activities/public.ts';
import { projectById } from '../projects/public.ts';
import { deleteEnvironment, lockTree, unmadeEnvironments } from './queries.ts';
import { recordPush, recordUpdate, type RecordedUpdate } from './record-push.ts';

/** The time between the two halves of a push is milliseconds; a push that is this old was cut off. */
const pushSecondsMax = 15;
const pushesAtOnceMax = 100;

export const finishPushes: Reconciler = {
  name: 'finish pushes',
  everySeconds: 10,
  run: async (platform) => {
    const { rows } = await sql<{ id: string }>`
      select id from pushes where created_at < now() - make_interval(secs => ${pushSecondsMax}) order by id limit ${pushesAtOnceMax}`.execute(
      platform.db,
    );
    for (const { id } of rows) await finishPush(platform, id);
  },
};

/** A push that cannot be recorded must not hold up the others: its note is removed, and `adoptBranches` deals with its branches. */
async function finishPush(platform: Platform, id: string) {
  try {
    await recordPush(platform, id);
  } catch (error) {
    platform.log.error({ error, push: id }, 'a push that was cut off could not be recorded');
    if (error instanceof Problem) await platform.db.deleteFrom('pushes').where('id', '=', id).execute();
  }
}

/** Adopts branches that moved without a record, because the repository was restored or changed by hand. */
export const adoptBranches: Reconciler = {
  name: 'adopt branches',
  everySeconds: 600,
  run: async (platform, signal) => {
    const { rows } = await sql<{ id: string }>`select id from projects where status = 'active' order by id`.execute(platform.db);
    for (const { id } of rows) {
      if (signal.aborted) return;
      await adoptBranchesOf(platform, id).catch((error: unknown) =>
        platform.log.error({ error, project: id }, 'branches could not be compared with environments'),
      );
    }
  },
};

export async function adoptBranchesOf(platform: Platform, projectId: string): Promise<void> {
  const { db, git } = platform;
  if (!(await git.exists(projectId))) return;
  const branches = await git.branches(projectId);
  const { rows } = await sql<{ id: string; head_commit: string | null; is_busy: boolean }>`
    select id, head_commit, exists (select from activity_lanes
      where activity_lanes.project_id = environments.project_id and lane = environments.id and is_open and not is_shared) as is_busy
    from environments where project_id = ${projectId}`.execute(db);
  const known = new Map(rows.map((row) => [row.id, row]));
  const differing: RecordedUpdate[] = [...new Set([...branches.keys(), ...known.keys()])]
    .filter((branch) => !known.get(branch)?.is_busy)
    .map((branch) => ({ branch, from: known.get(branch)?.head_commit ?? null, to: branches.get(branch) ?? null }))
    .filter(({ from, to }) => from !== to);
  if (differing.length > 0) await adopt(platform, projectId, differing);
}

/** Does nothing while a push is under way, because the push explains the difference and will be recorded. */
async function adopt(platform: Platform, projectId: string, updates: readonly RecordedUpdate[]) {
  await platform.db.transaction().execute(async (tx) => {
    const project = await projectById(tx, projectId);
    const { rows } = await sql`select from pushes where project_id = ${projectId} limit 1`.execute(tx);
    if (!project || rows.length > 0) return;
    const actor = await actorById(tx, null);
    for (const update of updates) await recordUpdate(tx, platform, { project, update, actor, options: {} });
  });
}

/** Deletes environments whose activity was cancelled before it made them, so that their names are free again. */
export const forgetUnmade: Reconciler = {
  name: 'forget environments that were never made',
  everySeconds: 10,
  run: async ({ db }) => {
    for (const { project_id, id } of await unmadeEnvironments(db))
      await db.transaction().execute(async (tx) => {
        await lockTree(tx, project_id);
        const isStill = (await unmadeEnvironments(tx)).some((unmade) => unmade.project_id === project_id && unmade.id === id);
        if (isStill) await deleteEnvironment(tx, project_id, id);
      });
  },
};
