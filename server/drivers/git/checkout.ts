/**
 * The files of a tree, in a folder, as Git itself writes them: names that no tree may have are refused, and no link of the tree is followed.
 * Bytes are those that were stored: attributes in the tree (line ends, encodings, filters, export-ignore) have no say, because those of a scratch
 * repository, which borrows the project's objects, come before them.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { GitFailed, tryGit } from './command.ts';
import { refuseLarge } from './tree-size.ts';

const checkoutSecondsMax = 600;
const asStored = '* -text !eol !crlf -ident !filter !working-tree-encoding\n';

export async function checkout(gitDir: string, scratchFolder: string, tree: string, folder: string, signal?: AbortSignal): Promise<void> {
  const scratch = join(scratchFolder, `checkout-${randomBytes(8).toString('hex')}.git`);
  const env = { GIT_OBJECT_DIRECTORY: join(gitDir, 'objects'), GIT_INDEX_FILE: join(scratch, 'index') };
  const run = async (...args: string[]) => {
    const outcome = await tryGit(scratch, args, { workTree: folder, env, secondsMax: checkoutSecondsMax, ...(signal && { signal }) });
    if (outcome.code !== 0) throw refusal(args, outcome);
  };
  await refuseLarge('The commit', gitDir, tree, signal && { signal });
  try {
    for (const part of ['refs', 'info']) await mkdir(join(scratch, part), { recursive: true, mode: 0o700 });
    await writeFile(join(scratch, 'HEAD'), 'ref: refs/heads/none\n');
    await writeFile(join(scratch, 'info', 'attributes'), asStored);
    await run('read-tree', tree);
    await run('checkout-index', '--all', '--quiet');
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What went wrong, in words, where it is the commit's own fault. */
export function refusal(args: readonly string[], outcome: GitFailed['outcome']): Error {
  if (/No space left|quota exceeded/i.test(outcome.stderr))
    return new Problem('too-large', 'The files of the commit are larger than what there is room for.', { internal: outcome.stderr });
  const [, path] = /invalid path '(.*)'/.exec(outcome.stderr) ?? [];
  if (path !== undefined)
    return new Problem('invalid-request', `The commit has a file that no commit may have: ${path}.`, { internal: outcome.stderr });
  return new GitFailed(args, outcome);
}
