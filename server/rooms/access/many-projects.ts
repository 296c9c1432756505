/** Requests about several projects, where the path names none: what the caller was granted in each is read in one query. */
import type { Page } from '../../kernel/paging.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Caller } from '../../platform.ts';
import { effectivePermissions } from '../projects/public.ts';
import { refuseProjects } from './grant-access.ts';

/** The answer is the same for projects that do not exist, that the caller cannot see, and whose access the caller does not manage. */
export async function mustManageAll(db: Db, caller: Caller, projectIds: readonly string[]) {
  const projects = await effectivePermissions(db, caller.id, projectIds);
  caller.learn(projects);
  const managed = new Map(
    projects
      .map(({ id, organization_id }) => ({ project: id, organization: organization_id }))
      .filter((scope) => caller.can('access:manage', scope))
      .map((scope) => [scope.project, scope]),
  );
  const others = projectIds.flatMap((id, n) => (managed.has(id) ? [] : [n]));
  if (others.length > 0) throw refuseProjects(others);
  for (const scope of managed.values()) {
    const hindrance = caller.hindrance(scope) ?? caller.suspension(scope);
    if (hindrance) throw hindrance;
  }
}

/** The links of each row depend on what the caller may do in its project. */
export async function withGrants<Row extends { project_id: string }>(db: Db, caller: Caller, page: Page<Row>): Promise<Page<Row>> {
  caller.learn(
    await effectivePermissions(
      db,
      caller.id,
      page.rows.map(({ project_id }) => project_id),
    ),
  );
  return page;
}
