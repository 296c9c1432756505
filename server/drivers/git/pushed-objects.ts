/**
 * What a push is made of. Git accepts a new ref to anything that the repository has, whoever may see it; for those who may not see everything, each
 * object behind what they push must have come with the push, which is what quarantine holds, or be part of what they are shown.
 */
import { Problem } from '../../kernel/problem.ts';
import { fairLimit, withReserve } from '../../kernel/fair-limit.ts';
import { GitFailed, runGit, TooMuchOutput } from './command.ts';

const idBytes = 41;
const objectsMax = 1_000_000;
const checksOfOneMax = 4;
const checkSecondsMax = 120;

/** These checks may take long: other commands still have places, and so have other people. */
const checks = fairLimit(withReserve(checksOfOneMax));

export interface Repository {
  gitDir: string;
  /** Whose the repository is, from the outside in. */
  parties: readonly string[];
}

/** `tips` and `shown` are ids; `quarantine` is where Git has put what came. Throws a Problem when it cannot be found out. */
export const isOwnOrShown = (
  { gitDir, parties }: Repository,
  quarantine: string,
  tips: readonly string[],
  shown: readonly string[],
): Promise<boolean> => checks.within({ parties, part: gitDir }, () => check({ gitDir, parties }, quarantine, tips, shown));

async function check(repository: Repository, quarantine: string, tips: readonly string[], shown: readonly string[]): Promise<boolean> {
  const { gitDir, parties } = repository;
  const both = withQuarantine(gitDir, quarantine);
  const alone = quarantineAlone(quarantine);
  const brought = await objectsBehind(repository, tips, shown, both);
  const unsent = await missing(repository, brought, alone);
  if (unsent.length === 0) return true;
  /** What is left out as shown is exact for commits, but not for the files of older ones, which a client need not send either. */
  const types = await runGit(gitDir, ['cat-file', '--batch-check=%(objecttype)'], { input: lines(unsent), env: both, parties });
  if (/^(commit|tag)$/m.test(types.toString('latin1'))) return false;
  const all = new Set(await objectsBehind(repository, shown, [], {}));
  return unsent.every((sha) => all.has(sha));
}

async function objectsBehind(
  { gitDir, parties }: Repository,
  tips: readonly string[],
  without: readonly string[],
  env: Record<string, string>,
) {
  const input = lines([...tips, ...without.map((sha) => `^${sha}`)]);
  const args = ['rev-list', '--objects', '--no-object-names', '--stdin'];
  try {
    const listed = await runGit(gitDir, args, { input, env, parties, bytesMax: objectsMax * idBytes, secondsMax: checkSecondsMax });
    return idsIn(listed);
  } catch (error) {
    if (!(error instanceof TooMuchOutput) && !(error instanceof GitFailed && error.outcome.wasKilled)) throw error;
    throw new Problem(
      'too-large',
      'Too much is pushed at once for somebody who does not see all branches; ask an administrator to push it.',
    );
  }
}

/** The ids that this one object folder does not have. */
async function missing({ gitDir, parties }: Repository, ids: readonly string[], env: Record<string, string>): Promise<string[]> {
  const bytesMax = ids.length * 2 * idBytes + 1;
  const answers = await runGit(gitDir, ['cat-file', '--batch-check=%(objectname)'], { input: lines(ids), env, parties, bytesMax });
  return answers
    .toString('latin1')
    .split('\n')
    .filter((line) => line.endsWith(' missing'))
    .map((line) => line.slice(0, idBytes - 1));
}

/** Shows Git what came with the push, and nothing else. */
export const quarantineAlone = (quarantine: string) => ({ GIT_OBJECT_DIRECTORY: quarantine, GIT_ALTERNATE_OBJECT_DIRECTORIES: '' });

/** Shows Git what the repository has, and what came with the push. */
export const withQuarantine = (gitDir: string, quarantine: string) => ({
  GIT_OBJECT_DIRECTORY: quarantine,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(`${gitDir}/objects`),
});

/** Quoted, because a colon would otherwise end the path. */
const quoted = (path: string) => `"${path.replaceAll(/["\\]/g, '\\$&')}"`;

const lines = (texts: readonly string[]) => texts.map((text) => `${text}\n`).join('');

const idsIn = (output: Buffer) =>
  output
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '');
