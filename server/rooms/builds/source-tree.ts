/**
 * The files of a commit, with those of its submodules, read from Git's objects as they are asked for. Folders are remembered; a commit never
 * changes. Submodules have to be here already: `fetchSubmodules` sees to that.
 */
import type { Git, TreeEntry } from '../../drivers/git/git.ts';
import { Problem } from '../../kernel/problem.ts';
import type { SourceTree } from './config/source-tree.ts';

const foldersMax = 1000;
const kinds: Record<string, 'file' | 'folder'> = { '100644': 'file', '100755': 'file', '100664': 'file', '040000': 'folder' };

export interface CommitTree extends SourceTree {
  /** The repository that holds the commit's trees: the project's, or the one with the submodules that were fetched for it. */
  repository: string;
  /** The id of the tree of a folder; undefined where there is no such folder. */
  treeOf(folder: string): Promise<string | undefined>;
}

type Repositories = Pick<Git, 'commit' | 'tree' | 'blob' | 'withSubmodules'>;

export async function openSourceTree(git: Repositories, projectId: string, commit: string): Promise<CommitTree> {
  const found = await treeOfCommit(git, projectId, commit);
  const whole = (found.hasSubmodules ? await git.withSubmodules(projectId, found.tree) : undefined) ?? {
    repository: projectId,
    tree: found.tree,
  };
  const { repository } = whole;
  const folders = new Map<string, Promise<TreeEntry[]>>();

  const entriesOf = (tree: string): Promise<TreeEntry[]> => {
    const known = folders.get(tree);
    if (known) return known;
    if (folders.size >= foldersMax) folders.clear();
    const entries = git.tree(repository, tree).then((read) => read ?? []);
    folders.set(tree, entries);
    return entries;
  };
  const entryAt = async (path: string): Promise<Pick<TreeEntry, 'sha' | 'mode'> | undefined> => {
    let at: Pick<TreeEntry, 'sha' | 'mode'> = { sha: whole.tree, mode: '040000' };
    for (const part of path.split('/').filter((name) => name !== '')) {
      const next = kinds[at.mode] === 'folder' ? (await entriesOf(at.sha)).find((entry) => entry.path === part) : undefined;
      if (!next) return undefined;
      at = next;
    }
    return at;
  };
  const treeOf = async (folder: string) => {
    const entry = await entryAt(folder);
    return entry && kinds[entry.mode] === 'folder' ? entry.sha : undefined;
  };

  return {
    repository,
    treeOf,
    async list(folder) {
      const tree = await treeOf(folder);
      const entries = tree === undefined ? [] : await entriesOf(tree);
      return entries.map(({ path, mode }) => ({ path: folder === '' ? path : `${folder}/${path}`, kind: kinds[mode] ?? 'other' }));
    },
    async read(path) {
      const entry = await entryAt(path);
      return entry && kinds[entry.mode] === 'file' ? git.blob(repository, entry.sha) : undefined;
    },
  };
}

/** The tree of a commit, and whether it declares submodules. Whether those have been fetched is not checked here. */
export async function treeOfCommit(
  git: Repositories,
  projectId: string,
  commit: string,
): Promise<{ tree: string; hasSubmodules: boolean }> {
  const found = await git.commit(projectId, commit);
  if (!found) throw new Problem('not-found', `There is no commit ${commit}.`);
  const root = (await git.tree(projectId, found.tree)) ?? [];
  return { tree: found.tree, hasSubmodules: root.some(({ path }) => path === '.gitmodules') };
}
