/** Production moves with the default branch: the old one becomes an ordinary environment. */
import { sql } from 'kysely';
import { invalidField } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import { lockTree, hasDedicated, updateEnvironment } from './queries.ts';
import { allowedTypes } from './types.ts';
import { environmentLife } from './life-cycle.ts';

export async function changeDefaultBranch(tx: Tx, project: { id: string; default_branch: string }, branch: string): Promise<void> {
  if (branch === project.default_branch) return;
  await lockTree(tx, project.id);
  const wanted = await tx
    .selectFrom('environments')
    .select(['id', 'parent', 'is_dedicated'])
    .where('project_id', '=', project.id)
    .where('id', '=', branch)
    .where('status', 'in', environmentLife.statesThat('edit'))
    .executeTakeFirst();
  if (!wanted) throw invalidField('default_branch', 'must be the name of an environment of this project');
  if (wanted.parent !== null) throw invalidField('default_branch', 'must be an environment without a parent; set its parent to null first');
  await refuseWithDomains(tx, project.id);
  const projectIsDedicated = await hasDedicated(tx, project.id);
  const typeOf = (isDefaultBranch: boolean, isDedicated: boolean) => allowedTypes({ isDefaultBranch, isDedicated, projectIsDedicated })[0];
  await tx
    .updateTable('projects')
    .set({ default_branch: branch, updated_at: sql<string>`now()` })
    .where('id', '=', project.id)
    .execute();
  if (projectIsDedicated) return;
  await updateEnvironment(tx, project.id, project.default_branch, { type: typeOf(false, false) });
  await updateEnvironment(tx, project.id, branch, { type: typeOf(true, wanted.is_dedicated) });
}

/** Domains that take the place of others would be production’s own then. */
async function refuseWithDomains(tx: Tx, projectId: string) {
  const domain = await tx.selectFrom('domains').select('name').where('project_id', '=', projectId).limit(1).executeTakeFirst();
  if (domain)
    throw invalidField(
      'default_branch',
      'cannot be changed: the default domain must be a valid project domain, so delete the domains first',
    );
}
