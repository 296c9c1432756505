/** What differs between an earlier deployment of an environment and the one that runs: what a rollback would bring back, or what came since. */
import { Type, type Static } from 'typebox';
import type { CommitSummary } from '../../drivers/git/git.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed, nullable, Time } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import type { EarlierDeployment } from './earlier-deployments.ts';
import { currentlyDeployed, deployedById } from './queries.ts';
import { changes, containerKinds, differencesOf } from './stack/differences.ts';

const commitsToldMax = 50;
const messageCharactersMax = 200;
/** The last second of the year 9999, for commits that claim to be later. */
const lastSecond = 253_402_300_799;

const Change = Type.Unsafe<(typeof changes)[number]>({ type: 'string', enum: [...changes] });
const Difference = closed({ path: Type.String(), earlier: nullable(Type.String()), current: nullable(Type.String()) });
const Changed = { name: Type.String(), change: Change, differences: Type.Array(Difference) };

const Commits = closed({
  count: Type.Integer(),
  newest: Type.Array(closed({ sha: Type.String(), message: Type.String(), author: Type.String(), date: Time })),
});

/** What was added is only in what runs. */
export const Differences = closed({
  earlier: closed({ number: Type.Integer(), commit: Type.String() }),
  current: closed({ number: Type.Integer(), commit: Type.String() }),
  commits: nullable(closed({ added: Commits, removed: Commits })),
  containers: Type.Array(closed({ kind: Type.String({ enum: [...containerKinds] }), ...Changed })),
  routes: Type.Array(closed(Changed)),
  variables: Type.Array(closed({ name: Type.String(), change: Change })),
  builds: Type.Array(Type.String({ description: 'Apps that were built from other code, or otherwise.' })),
});

export async function differencesFromCurrent(
  platform: Pick<Platform, 'db' | 'secrets' | 'git'>,
  { id, project_id, environment_id }: EarlierDeployment,
): Promise<Static<typeof Differences>> {
  const { db, secrets } = platform;
  const [earlier, current] = [await deployedById(db, secrets, id), await currentlyDeployed(db, secrets, project_id, environment_id)];
  if (!earlier) throw new Problem('not-found', 'No such earlier deployment.');
  if (!current)
    throw new Problem('conflict', 'Nothing is deployed in this environment, so there is nothing to compare with; activate it first.');
  const told = ({ stack }: typeof current) => ({ number: stack.deployment.number, commit: stack.commit_id });
  return {
    earlier: told(earlier),
    current: told(current),
    commits: await commitsBetween(platform, project_id, earlier.stack.commit_id, current.stack.commit_id),
    ...differencesOf(earlier.stack, current.stack),
  };
}

/** Null: the repository does not have both any more. */
async function commitsBetween({ git }: Pick<Platform, 'git'>, projectId: string, earlier: string, current: string) {
  const areThere = (await git.exists(projectId)) && (await git.commit(projectId, earlier)) && (await git.commit(projectId, current));
  if (!areThere) return null;
  const [added, removed] = await Promise.all([
    git.commitsBetween(projectId, earlier, current, commitsToldMax),
    git.commitsBetween(projectId, current, earlier, commitsToldMax),
  ]);
  return { added: inShort(added), removed: inShort(removed) };
}

const inShort = ({ count, commits }: { count: number; commits: CommitSummary[] }) => ({
  count,
  newest: commits.map(({ sha, message, author }) => ({
    sha,
    message: (message.split('\n', 1)[0] ?? '').slice(0, messageCharactersMax).toWellFormed(),
    author: author.name.slice(0, messageCharactersMax).toWellFormed(),
    date: new Date(Math.min(author.date, lastSecond) * 1000).toISOString(),
  })),
});
