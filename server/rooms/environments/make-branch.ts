/** The branch of an environment that was just made: in the repository, at the head of another. Without it the environment goes again. */
import { StaleBranch } from '../../drivers/git/git.ts';
import type { Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Platform } from '../../platform.ts';
import { deleteEnvironment, updateEnvironment } from './queries.ts';

/** Makes the branch, and returns the commit that it is at. */
export async function makeBranch(
  { activity, step, record, log }: Work<unknown>,
  platform: Platform,
  environment: string,
  parent: string,
): Promise<string> {
  const { db, git } = platform;
  const { project_id } = activity;
  const commit = await step(
    'choose commit',
    () => headOf(platform, project_id, parent),
    () => db.transaction().execute((tx) => deleteEnvironment(tx, project_id, environment)),
  );
  log(`Creating branch ${environment} from ${parent} (${commit.slice(0, 7)})`);
  await step(
    'create branch',
    () =>
      orStale(
        git.moveBranch(project_id, environment, undefined, commit),
        `There is already a branch ${environment} in the repository; choose another name.`,
      ),
    () => unlessStale(git.moveBranch(project_id, environment, commit, undefined)),
  );
  await record('remember commit', async (tx) => {
    await updateEnvironment(tx, project_id, environment, { head_commit: commit, commits_ahead: 0, commits_behind: 0 });
  });
  return commit;
}

/** The commit that the branch is at in the repository. */
export async function headOf({ git }: Platform, projectId: string, branch: string): Promise<string> {
  const commit = await git.branch(projectId, branch);
  if (commit === undefined) throw new Problem('conflict', `There are no commits in ${branch} yet; push some first.`);
  return commit;
}

export async function orStale(moving: Promise<void>, words: string): Promise<void> {
  try {
    await moving;
  } catch (error) {
    throw error instanceof StaleBranch ? new Problem('conflict', words, { cause: error }) : error;
  }
}

/** For undoing a move of a branch: does nothing where somebody has pushed on top of it. */
export async function unlessStale(moving: Promise<void>): Promise<void> {
  await moving.catch((error: unknown) => {
    if (!(error instanceof StaleBranch)) throw error;
  });
}
