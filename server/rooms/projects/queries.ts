import { sql, type Insertable, type Selectable, type Updateable } from 'kysely';
import type { Database } from '../../database.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';

export type Project = Selectable<Database['projects']>;

export const projectById = (db: Db | Tx, id: string): Promise<Project | undefined> =>
  db
    .selectFrom('projects')
    .selectAll()
    .select(environmentsAllowed.as('environments_max'))
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .executeTakeFirst();

/** How many environments a project may have: the number in its contract, or less where a quota of the project, of its organization or the default is lower. */
export const environmentsAllowed = sql<number>`least(projects.environments_max, (
  select min(quotas.environments) from quotas
  where quotas.project_id = projects.id or quotas.organization_id = projects.organization_id or (num_nonnulls(quotas.organization_id, quotas.project_id) = 0
    and not exists (select from quotas as own where own.organization_id = projects.organization_id))))`;

/** On whose behalf a project uses what is shared, from the outside in: the owner of its organization, then the organization. */
export const partiesOf = async (db: Db | Tx, id: string): Promise<string[]> => {
  const { rows } = await sql<{ outer_party: string; party: string }>`
    select outer_party, party from parties where project_id = ${id}`.execute(db);
  return rows.flatMap(({ outer_party, party }) => [outer_party, party]);
};

export const insertProject = (db: Db | Tx, project: Insertable<Database['projects']>): Promise<Project> =>
  db.insertInto('projects').values(project).returningAll().executeTakeFirstOrThrow();

/** Take this lock before deciding whether a project ends. */
export async function lockProject(tx: Tx, id: string): Promise<Project> {
  const project = await tx
    .selectFrom('projects')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!project) throw projectGone();
  return project;
}

const projectGone = () => new Problem('not-found', 'No such project.');

/** Changes a project, and returns it as it is afterwards. */
export async function changeProject(db: Db | Tx, id: string, changes: Updateable<Database['projects']>): Promise<Project> {
  const project = await db
    .updateTable('projects')
    .set({ ...changes, updated_at: sql<string>`now()` })
    .where('id', '=', id)
    .where('status', '<>', 'deleted')
    .returningAll()
    .executeTakeFirst();
  if (!project) throw projectGone();
  return project;
}

/** The projects among these that exist, each with what a person was granted in it: their own and their teams' grants, merged. */
export async function effectivePermissions(db: Db | Tx, userId: string, projectIds: readonly string[]) {
  const { rows } = await sql<{ id: string; organization_id: string; permissions: string[] }>`
    select projects.id, projects.organization_id, array(
      select unnest(user_access.permissions) from user_access
      where user_access.project_id = projects.id and user_access.user_id = ${userId}
      union
      select unnest(teams.project_permissions) from team_access
      join team_members on team_members.team_id = team_access.team_id and team_members.user_id = ${userId}
      join teams on teams.id = team_access.team_id
      where team_access.project_id = projects.id) as permissions
    from projects where projects.id = any(${projectIds}) and projects.status <> 'deleted'`.execute(db);
  return rows;
}
