import { sql, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { invitationLife } from '../invitations/life-cycle.ts';

export type UserAccess = Selectable<Database['user_access']> & { project_title: string };
export type TeamAccess = Selectable<Database['team_access']> & { project_title: string };

const userAccess = (db: Db | Tx) =>
  db
    .selectFrom('user_access')
    .innerJoin('projects', 'projects.id', 'user_access.project_id')
    .where('projects.status', '<>', 'deleted')
    .selectAll('user_access')
    .select('projects.title as project_title');

export const userAccessOf = (db: Db | Tx, projectId: string, userId: string): Promise<UserAccess | undefined> =>
  userAccess(db).where('user_access.project_id', '=', projectId).where('user_access.user_id', '=', userId).executeTakeFirst();

export const usersIn = (db: Db | Tx, projectId: string, list: ListRequest): Promise<Page<UserAccess>> =>
  paged(db.selectFrom(userAccess(db).where('user_access.project_id', '=', projectId).as('access')).selectAll(), list, 'user_id');

export const projectsOfUser = (db: Db | Tx, userId: string, list: ListRequest): Promise<Page<UserAccess>> =>
  paged(db.selectFrom(userAccess(db).where('user_access.user_id', '=', userId).as('access')).selectAll(), list, 'project_id');

export interface PersonInProject {
  id: string;
  email: string;
  username: string;
  display_name: string;
  permissions: string[];
}

const peopleMax = 1000;

/** The people who were let into a project by name, those with the oldest access first. */
export const peopleIn = async (db: Db | Tx, projectId: string): Promise<PersonInProject[]> => {
  const { rows } = await sql<PersonInProject>`
    select users.id, users.email, users.username, coalesce(nullif(trim(users.first_name || ' ' || users.last_name), ''), users.username) as display_name,
      user_access.permissions
    from user_access join users on users.id = user_access.user_id
    where user_access.project_id = ${projectId} order by user_access.granted_at, users.id limit ${peopleMax}`.execute(db);
  return rows;
};

/** Returns undefined when the access has ended meanwhile. */
export const updateUserAccess = (db: Db | Tx, projectId: string, userId: string, permissions: string[]) =>
  db
    .updateTable('user_access')
    .set({ permissions, updated_at: sql<string>`now()` })
    .where('project_id', '=', projectId)
    .where('user_id', '=', userId)
    .returning('user_id')
    .executeTakeFirst();

/** Ends the access, and revokes the person's pending invitations to the project, because they could come back by one. */
export const deleteUserAccess = (db: Db, projectId: string, userId: string) =>
  db.transaction().execute(async (tx) => {
    await tx.deleteFrom('user_access').where('project_id', '=', projectId).where('user_id', '=', userId).execute();
    await sql`update invitations set state = ${invitationLife.sqlAfter('invitations.state', 'revoke')}, finished_at = now(), updated_at = now() from users
      where users.id = ${userId} and invitations.email = users.email and project_id = ${projectId} and ${invitationLife.sqlPossible('invitations.state', 'revoke')}`.execute(
      tx,
    );
  });

const teamAccess = (db: Db | Tx) =>
  db
    .selectFrom('team_access')
    .innerJoin('projects', 'projects.id', 'team_access.project_id')
    .where('projects.status', '<>', 'deleted')
    .selectAll('team_access')
    .select('projects.title as project_title');

export const teamAccessOf = (db: Db | Tx, projectId: string, teamId: string): Promise<TeamAccess | undefined> =>
  teamAccess(db).where('team_access.project_id', '=', projectId).where('team_access.team_id', '=', teamId).executeTakeFirst();

export const teamsInProject = (db: Db | Tx, projectId: string, list: ListRequest): Promise<Page<TeamAccess>> =>
  paged(db.selectFrom(teamAccess(db).where('team_access.project_id', '=', projectId).as('access')).selectAll(), list, 'team_id');

export const projectsOfTeam = (db: Db | Tx, teamId: string, list: ListRequest): Promise<Page<TeamAccess>> =>
  paged(db.selectFrom(teamAccess(db).where('team_access.team_id', '=', teamId).as('access')).selectAll(), list, 'project_id');

/** The projects of a team, as far as the person is in them, too. */
export const projectsOfTeamShownTo = (db: Db | Tx, userId: string, teamId: string, list: ListRequest): Promise<Page<TeamAccess>> =>
  paged(
    db
      .selectFrom(
        teamAccess(db)
          .where('team_access.team_id', '=', teamId)
          .where(
            sql<boolean>`(
              exists (select from user_access where user_access.project_id = projects.id and user_access.user_id = ${userId})
              or exists (
                select from team_access as own
                join team_members on team_members.team_id = own.team_id and team_members.user_id = ${userId}
                join teams on teams.id = own.team_id and teams.project_permissions <> '{}'
                where own.project_id = projects.id))`,
          )
          .as('access'),
      )
      .selectAll(),
    list,
    'project_id',
  );

export const deleteTeamAccess = (db: Db | Tx, projectId: string, teamId: string) =>
  db.deleteFrom('team_access').where('project_id', '=', projectId).where('team_id', '=', teamId).execute();

export interface ExtendedAccess {
  user_id: string;
  resource_id: string;
  resource_type: 'project' | 'organization';
  organization_id: string;
  permissions: string[];
  granted_at: string;
  updated_at: string;
}

/** All that a person may do anywhere: in projects by their own grants, their teams' and by owning the organization; and in organizations. */
const extendedAccess = (db: Db | Tx, userId: string) =>
  db
    .selectFrom(
      sql<ExtendedAccess>`(
        select ${userId}::uuid as user_id, projects.id as resource_id, 'project' as resource_type, projects.organization_id,
          array_agg(distinct permission) as permissions, min(granted.granted_at) as granted_at, max(granted.updated_at) as updated_at
        from (
          select project_id, permissions, granted_at, updated_at from user_access where user_id = ${userId}
          union all
          select team_access.project_id, teams.project_permissions, greatest(team_access.granted_at, team_members.created_at),
            greatest(team_access.updated_at, team_members.updated_at, teams.updated_at)
          from team_members join teams on teams.id = team_members.team_id join team_access on team_access.team_id = team_members.team_id
          where team_members.user_id = ${userId}
          union all
          select projects.id, array['admin'], projects.created_at, projects.created_at
          from organizations join projects on projects.organization_id = organizations.id
          where organizations.owner_id = ${userId} and organizations.status <> 'deleted'
        ) as granted
        join projects on projects.id = granted.project_id and projects.status <> 'deleted'
        cross join unnest(granted.permissions) as permission
        group by projects.id
        union all
        select organization_members.user_id, organizations.id, 'organization', organizations.id,
          case when organizations.owner_id = organization_members.user_id then array['admin'] else organization_members.permissions end,
          organization_members.created_at, organization_members.updated_at
        from organization_members join organizations on organizations.id = organization_members.organization_id
        where organization_members.user_id = ${userId} and organizations.status <> 'deleted'
      )`.as('access'),
    )
    .selectAll();

export const extendedAccessOf = (db: Db | Tx, userId: string, list: ListRequest): Promise<Page<ExtendedAccess>> =>
  paged(extendedAccess(db, userId), list, 'resource_id');

/** The ids of a person's projects; if there are more than `rowsMax`, those with the newest access. */
export const projectIdsOf = async (db: Db | Tx, userId: string, rowsMax: number): Promise<string[]> => {
  const rows = await extendedAccess(db, userId)
    .where('resource_type', '=', 'project')
    .orderBy('granted_at', 'desc')
    .orderBy('resource_id')
    .limit(rowsMax)
    .execute();
  return rows.map(({ resource_id }) => resource_id);
};

/** A person's access, the newest first, at most `rowsMax` rows. */
export const newestAccessOf = (db: Db | Tx, userId: string, rowsMax: number): Promise<ExtendedAccess[]> =>
  extendedAccess(db, userId).orderBy('granted_at', 'desc').orderBy('resource_id').limit(rowsMax).execute();
