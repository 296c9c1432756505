import type { Db, Tx } from '../../kernel/sql.ts';

/** The branches of a project that are environments, with their types. */
export const branchTypes = (db: Db | Tx, projectId: string) =>
  db.selectFrom('environments').select(['id', 'type']).where('project_id', '=', projectId).execute();
