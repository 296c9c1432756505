import type { CommitSummary } from '../../drivers/git/git.ts';
import type { Work } from '../../kernel/activity.ts';
import type { Platform } from '../../platform.ts';

const commitsToldMax = 100;
const messageCharactersMax = 1000;
const nameCharactersMax = 200;
const parentsToldMax = 16;

/** Says in the log how many commits are new on a branch, and lists them in the payload of the activity. */
export async function logNewCommits(
  { activity, step, log, tell }: Work<unknown>,
  { git }: Platform,
  since: string | undefined,
  until: string,
): Promise<void> {
  const found = await step('parse commits', async () => {
    const { commits, count } = await git.commitsBetween(activity.project_id, since, until, commitsToldMax);
    log(count === 1 ? 'Found 1 new commit' : `Found ${count} new commits`);
    return { commits: commits.map(inShort), count };
  });
  tell({ commits: found.commits, commits_count: found.count });
}

/** Commit messages are shortened: one can be megabytes long, and everybody who lists activities gets a hundred of them. */
const inShort = ({ sha, parents, author, message }: CommitSummary) => ({
  sha,
  parents: parents.slice(0, parentsToldMax),
  author: { ...author, name: author.name.slice(0, nameCharactersMax), email: author.email.slice(0, nameCharactersMax) },
  message: message.slice(0, messageCharactersMax).toWellFormed(),
});
