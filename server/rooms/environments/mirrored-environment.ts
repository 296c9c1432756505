/** What only a code host does to environments. */
import type { Tx } from '../../kernel/sql.ts';
import { isBelow, lockTree, updateEnvironment } from './queries.ts';
import type { MirroredOptions } from './record-push.ts';

/** Gives an environment another parent. Answers whether that was possible: nothing comes below itself. */
export async function moveBelow(tx: Tx, projectId: string, id: string, parent: string): Promise<boolean> {
  await lockTree(tx, projectId);
  if (await isBelow(tx, projectId, parent, id)) return false;
  await updateEnvironment(tx, projectId, id, { parent });
  return true;
}

/** Makes an environment that of a pull request. */
export const markPullRequest = (
  tx: Tx,
  projectId: string,
  id: string,
  { is_from_fork = false, clone_parent_on_create = true }: MirroredOptions,
) => updateEnvironment(tx, projectId, id, { is_pr: true, is_from_fork, clone_parent_on_create });
