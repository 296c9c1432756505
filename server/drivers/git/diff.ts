/** What differs between two commits, file by file, as patches. */
import { Problem } from '../../kernel/problem.ts';
import { readGit, TooMuchOutput } from './command.ts';
import type { FileDiff } from './git.ts';

const diffBytesMax = 8 * 1024 * 1024;
const nothing = '0'.repeat(40);

export async function diff(gitDir: string, base: string, target: string): Promise<FileDiff[]> {
  const args = [
    'diff-tree',
    '-r',
    '-M',
    '-z',
    '--patch-with-raw',
    '--full-index',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
    base,
    target,
    '--',
  ];
  try {
    return parseDiff(await readGit(gitDir, args, { bytesMax: diffBytesMax }));
  } catch (error) {
    if (!(error instanceof TooMuchOutput)) throw error;
    throw new Problem(
      'too-large',
      `The difference is larger than ${diffBytesMax / 1024 / 1024} MiB; fetch the repository and compare there.`,
    );
  }
}

/** First a record for each file, `:mode mode id id status NUL path NUL [path NUL]`, then an empty one, then the patches in the same order. */
function parseDiff(text: string): FileDiff[] {
  const files: Omit<FileDiff, 'diff'>[] = [];
  const patchesEach: number[] = [];
  let at = 0;
  const next = () => {
    const end = text.indexOf('\0', at);
    const field = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length : end + 1;
    return field;
  };
  while (text[at] === ':') {
    const [, , old_id = '', new_id = '', status = ''] = next().split(' ');
    const path = next();
    const renamed = /^[RC]/.test(status) ? next() : path;
    files.push({
      old_path: old_id === nothing ? null : path,
      old_id: old_id === nothing ? null : old_id,
      new_path: new_id === nothing ? null : renamed,
      new_id: new_id === nothing ? null : new_id,
    });
    /** A file that became a link is deleted in one patch and added in another. */
    patchesEach.push(status === 'T' ? 2 : 1);
  }
  const patches = text
    .slice(at)
    .replace(/^\0/, '')
    .split(/^(?=diff --git )/m);
  let taken = 0;
  return files.map((file, n) => {
    const count = patchesEach[n] ?? 1;
    taken += count;
    return { ...file, diff: patches.slice(taken - count, taken).join('') };
  });
}
