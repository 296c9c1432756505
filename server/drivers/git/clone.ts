/**
 * A repository of its own for whoever is not to see more of a project: one branch with its history, checked out in a folder, ready for commits. No
 * remote, no tag, no hook, and no object that the branch has not.
 */
import { join } from 'node:path';
import { refusal } from './checkout.ts';
import { tryGit, type Call } from './command.ts';
import type { Cloning } from './git.ts';
import { withQuarantine } from './pushed-objects.ts';
import { refuseLarge } from './tree-size.ts';

const cloneSecondsMax = 600;

/** `receive` judges what comes back from the clone. Throws a Problem when there is no room. */
export async function clone(gitDir: string, { branch, commit, folder, by, signal }: Cloning): Promise<void> {
  const own = join(folder, '.git');
  const run = async (args: readonly string[], call: Pick<Call, 'input' | 'env'> = {}) => {
    const outcome = await tryGit(own, args, { workTree: folder, secondsMax: cloneSecondsMax, signal, ...call });
    if (outcome.code !== 0) throw refusal(args, outcome);
  };
  await refuseLarge('The commit', gitDir, commit, { signal });
  await run(['init', '--quiet', `--initial-branch=${branch}`]);
  /** The pack is written where it will stay: the folder may be on another disk. */
  const packed = { input: `${commit}\n`, env: withQuarantine(gitDir, join(own, 'objects')) };
  await run(['pack-objects', '--revs', '--quiet', '--delta-base-offset', join(own, 'objects', 'pack', 'pack')], packed);
  await run(['update-ref', `refs/heads/${branch}`, commit]);
  await run(['config', 'user.name', by.name]);
  await run(['config', 'user.email', by.email]);
  await run(['reset', '--hard', '--quiet']);
}
