/** Commits made by the platform: merges, rebases, and new trees. Objects are only added; which branch shows them is for others to say. */
import { Problem } from '../../kernel/problem.ts';
import { gitText, GitFailed, runGit, tryGit } from './command.ts';
import { MergeConflict, type Signature } from './git.ts';
import type { Objects } from './objects.ts';
import { parseCommit } from './parse-object.ts';

const rebasedCommitsMax = 1000;
const commitBytesMax = 1024 * 1024;

export const isAncestor = async (gitDir: string, commit: string, of: string): Promise<boolean> => {
  const args = ['merge-base', '--is-ancestor', commit, of];
  const outcome = await tryGit(gitDir, args);
  if (outcome.code > 1) throw new GitFailed(args, outcome);
  return outcome.code === 0;
};

export async function merge(gitDir: string, ours: string, theirs: string, message: string, by: Signature): Promise<string> {
  if (await isAncestor(gitDir, ours, theirs)) return theirs;
  if (await isAncestor(gitDir, theirs, ours)) return ours;
  return writeCommit(gitDir, {
    tree: await mergedTree(gitDir, ours, theirs),
    parents: [ours, theirs],
    message,
    author: signatureLine(by),
    by,
  });
}

async function mergedTree(gitDir: string, ours: string, theirs: string): Promise<string> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs];
  const outcome = await tryGit(gitDir, args);
  const [tree = '', ...files] = outcome.stdout.toString('utf8').split('\0');
  if (outcome.code === 0) return tree.trim();
  if (outcome.code === 1) throw new MergeConflict([...new Set(files.filter((file) => file !== ''))]);
  if (outcome.stderr.includes('unrelated histories'))
    throw new Problem('conflict', 'The two branches have no commit in common; they cannot be merged.');
  throw new GitFailed(args, outcome);
}

/**
 * Without a working tree: each commit is merged onto the new head as if that were a child of the commit's own parent, so that what the two have in
 * common is that parent. A commit that changes nothing there any more is left out.
 */
export async function rebase(
  gitDir: string,
  objects: (sha: string) => ReturnType<Objects['read']>,
  commit: string,
  onto: string,
  by: Signature,
): Promise<string> {
  const args = ['rev-list', '--reverse', '--topo-order', '--no-merges', `--max-count=${rebasedCommitsMax + 1}`, commit, `^${onto}`, '--'];
  const commits = (await gitText(gitDir, args)).split('\n').filter((line) => line !== '');
  if (commits.length > rebasedCommitsMax)
    throw new Problem('too-large', `More than ${rebasedCommitsMax} commits cannot be rebased; merge instead.`);
  let head = onto;
  for (const sha of commits) head = await putOnTop(gitDir, objects, sha, head, by);
  return head;
}

async function putOnTop(
  gitDir: string,
  objects: (sha: string) => ReturnType<Objects['read']>,
  sha: string,
  head: string,
  by: Signature,
): Promise<string> {
  const raw = (await objects(sha))?.content;
  const on = (await objects(head))?.content;
  if (!raw || !on) throw new Error(`Commit ${sha} or ${head} cannot be read`);
  const { parents } = parseCommit(sha, raw);
  if (parents[0] === head) return sha;
  const headTree = parseCommit(head, on).tree;
  const stand = await writeCommit(gitDir, { tree: headTree, parents: parents.slice(0, 1), message: '', author: signatureLine(by), by });
  const tree = await mergedTree(gitDir, stand, sha).catch((error: unknown) => {
    throw parents.length === 0 && error instanceof Problem ? new MergeConflict([]) : error;
  });
  return tree === headTree ? head : writeRaw(gitDir, rewritten(raw, { tree, parent: head, by }));
}

/** Author, message and encoding stay byte for byte; a signature would no longer be true. */
function rewritten(raw: Buffer, { tree, parent, by }: { tree: string; parent: string; by: Signature }): Buffer {
  const text = raw.toString('latin1');
  const end = text.indexOf('\n\n');
  const kept = text
    .slice(0, end)
    .replaceAll(/\n /g, '\0')
    .split('\n')
    .filter((line) => /^(author|encoding) /.test(line));
  const [author = '', ...others] = kept;
  const committer = Buffer.from(`committer ${signatureLine(by)}`).toString('latin1');
  const headers = [`tree ${tree}`, `parent ${parent}`, author, committer, ...others];
  return Buffer.from(`${headers.join('\n')}${text.slice(end)}`, 'latin1');
}

export interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  author: string;
  by: Signature;
}

export const writeCommit = (gitDir: string, { tree, parents, message, author, by }: NewCommit): Promise<string> =>
  writeRaw(
    gitDir,
    Buffer.from(
      [
        `tree ${tree}`,
        ...parents.map((parent) => `parent ${parent}`),
        `author ${author}`,
        `committer ${signatureLine(by)}`,
        '',
        `${message}\n`,
      ].join('\n'),
    ),
  );

const writeRaw = async (gitDir: string, commit: Buffer): Promise<string> => {
  if (commit.length > commitBytesMax) throw new Problem('too-large', 'A commit of this size cannot be rewritten; merge instead.');
  return (await runGit(gitDir, ['hash-object', '-t', 'commit', '-w', '--stdin'], { input: commit })).toString('latin1').trim();
};

/** Names are people's own; what would break the line is left out. */
export const signatureLine = ({ name, email }: Signature) =>
  `${plain(name) || 'unknown'} <${plain(email)}> ${Math.floor(Date.now() / 1000)} +0000`;

// oxlint-disable-next-line no-control-regex -- control characters are what is left out
const plain = (text: string) => text.replaceAll(/[\u0000-\u001f\u007f<>]/g, '').trim();
