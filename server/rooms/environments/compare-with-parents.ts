/** How far branches are from their parents' is kept with the environments, and measured again when one of the two moves. */
import type { Platform } from '../../platform.ts';
import { updateEnvironment } from './queries.ts';

/** Compares the environments named, and their children. */
export async function compareWithParents({ db, git }: Platform, projectId: string, ids: readonly string[]): Promise<void> {
  const branches = await git.branches(projectId);
  const related = await db
    .selectFrom('environments')
    .select(['id', 'parent'])
    .where('project_id', '=', projectId)
    .where(({ or, eb }) => or([eb('id', 'in', [...ids]), eb('parent', 'in', [...ids])]))
    .execute();
  for (const { id, parent } of related) {
    const [own, other] = [branches.get(id), parent === null ? undefined : branches.get(parent)];
    const distance = own !== undefined && other !== undefined ? await git.distance(projectId, own, other) : undefined;
    const unknown = parent === null ? 0 : null;
    await updateEnvironment(db, projectId, id, { commits_ahead: distance?.ahead ?? unknown, commits_behind: distance?.behind ?? unknown });
  }
}
