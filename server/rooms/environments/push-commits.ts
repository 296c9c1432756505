/**
 * Commits that an activity made on top of a branch, pushed to it and deployed by the same activity. As after a push of people they stay, whatever
 * becomes of their deployment. Killed anywhere, they are pushed once or not at all: a branch that moved without this being written down moves back.
 */
import { sql } from 'kysely';
import { StaleBranch } from '../../drivers/git/git.ts';
import type { Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { compareWithParents } from './compare-with-parents.ts';
import { deployBranch } from './deploy-branch.ts';
import { unlessStale } from './make-branch.ts';
import { logNewCommits } from './log-new-commits.ts';

/** `from` is the head that the environment had, and `to` is a descendant of it. Call this as the last step of an activity that has the environment to itself. */
export async function pushCommits(
  work: Work<unknown>,
  platform: Platform,
  environment: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const { activity, step, record, log } = work;
  const { git } = platform;
  const { project_id } = activity;
  let isWrittenDown = false;
  await step(
    'move branch',
    () => moveUnlessPushed(platform, project_id, environment, { from, to }),
    async () => {
      if (!isWrittenDown) await unlessStale(git.moveBranch(project_id, environment, to, from));
    },
  );
  await record('remember commit', async (tx) => {
    /** Somebody may have just pushed on top of the commits. */
    await sql`update environments set head_commit = ${to}, updated_at = clock_timestamp()
      where project_id = ${project_id} and id = ${environment} and head_commit = ${from}`.execute(tx);
  });
  isWrittenDown = true;
  await logNewCommits(work, platform, from, to);
  log(`Pushed to ${environment} (${to.slice(0, shortIdCharacters)})`);
  await step('compare', () => compareWithParents(platform, project_id, [environment]));
  await deployBranch(work, platform, environment, { occasion: 'code' });
}

const shortIdCharacters = 7;

/** When this is repeated after a kill, others may have pushed commits on top of its own. */
async function moveUnlessPushed({ git }: Platform, projectId: string, branch: string, { from, to }: { from: string; to: string }) {
  try {
    await git.moveBranch(projectId, branch, from, to);
  } catch (error) {
    if (!(error instanceof StaleBranch)) throw error;
    const now = await git.branch(projectId, branch);
    if (now !== undefined && (await git.isAncestor(projectId, to, now))) return;
    throw new Problem('conflict', `Somebody pushed to ${branch} meanwhile, so nothing of this was pushed; try again.`, { cause: error });
  }
}
