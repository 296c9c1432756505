import { sql, type Insertable, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import { orConflict, type Db, type Tx } from '../../kernel/sql.ts';

export type Team = Selectable<Database['teams']> & { counts: Counts };
export type TeamMember = Selectable<Database['team_members']>;

interface Counts {
  member_count: number;
  project_count: number;
}

/** The counts stand in the select list, so that they are made only for the rows of a page, however long the list is. */
const counts = sql<Counts>`json_build_object(
  'member_count', (select count(*) from team_members where team_members.team_id = teams.id),
  'project_count', (select count(*) from team_access join projects on projects.id = team_access.project_id
    where team_access.team_id = teams.id and projects.status <> 'deleted'))`.as('counts');

const teams = (db: Db | Tx) => db.selectFrom('teams').selectAll('teams').select(counts);

export const teamById = (db: Db | Tx, id: string): Promise<Team | undefined> => teams(db).where('teams.id', '=', id).executeTakeFirst();

export const teamsById = (db: Db | Tx, ids: readonly string[]): Promise<Team[]> =>
  teams(db)
    .where(sql<boolean>`teams.id = any(${ids})`)
    .execute();

export const allTeams = (db: Db | Tx, list: ListRequest): Promise<Page<Team>> => paged(teams(db), list);

/** A single organization is compared with `=`, so that the index gives the order, too. */
export const teamsIn = (db: Db | Tx, organizationIds: readonly string[], list: ListRequest): Promise<Page<Team>> => {
  const [first, ...others] = organizationIds;
  const within =
    first !== undefined && others.length === 0
      ? sql<boolean>`organization_id = ${first}`
      : sql<boolean>`organization_id = any(${organizationIds})`;
  return paged(teams(db).where(within), list);
};

export const teamsOf = (db: Db | Tx, userId: string, list: ListRequest): Promise<Page<Team>> =>
  paged(teams(db).where('teams.id', 'in', db.selectFrom('team_members').select('team_id').where('user_id', '=', userId)), list);

/** Returns undefined when there is no such organization, or it was deleted meanwhile. */
export const insertTeam = (db: Db | Tx, { id, organization_id, label, project_permissions }: Insertable<Database['teams']>) =>
  refusingTaken(
    db
      .insertInto('teams')
      .columns(['id', 'organization_id', 'label', 'project_permissions'])
      .expression((eb) =>
        eb
          .selectFrom('organizations')
          .select([
            sql<string>`${id}`.as('id'),
            'organizations.id as organization_id',
            sql<string>`${label}`.as('label'),
            sql<string[]>`${project_permissions ?? []}::text[]`.as('project_permissions'),
          ])
          .where('organizations.id', '=', organization_id)
          .where('organizations.status', '<>', 'deleted')
          .forKeyShare(),
      )
      .returningAll()
      .returning(counts)
      .executeTakeFirst(),
  );

/** Keeps the team, its members and its access to projects as they are until the transaction ends. */
export const lockTeam = (tx: Tx, id: string) => tx.selectFrom('teams').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();

export const updateTeam = (
  db: Db | Tx,
  id: string,
  changes: { label?: string; project_permissions?: string[] },
): Promise<Team | undefined> =>
  refusingTaken(
    db
      .updateTable('teams')
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where('id', '=', id)
      .returningAll()
      .returning(counts)
      .executeTakeFirst(),
  );

const refusingTaken = <T>(work: Promise<T>) =>
  orConflict(work, { teams_label: 'The organization already has a team with this label; choose another.' });

export const deleteTeam = (db: Db | Tx, id: string) => db.deleteFrom('teams').where('id', '=', id).execute();

/** Whether the team is let into a project that the person does not administer themselves. */
export async function opensMoreThan(tx: Tx, teamId: string, userId: string): Promise<boolean> {
  const { rows } = await sql`
    select from team_access where team_id = ${teamId}
    and not exists (
      select from user_access
      where user_access.project_id = team_access.project_id and user_access.user_id = ${userId} and 'admin' = any(user_access.permissions))
    and not exists (
      select from team_access as own
      join team_members on team_members.team_id = own.team_id and team_members.user_id = ${userId}
      join teams on teams.id = own.team_id and 'admin' = any(teams.project_permissions)
      where own.project_id = team_access.project_id)
    limit 1`.execute(tx);
  return rows.length > 0;
}

export const teamMembers = (db: Db | Tx, teamId: string, list: ListRequest): Promise<Page<TeamMember>> =>
  paged(db.selectFrom('team_members').selectAll().where('team_id', '=', teamId), list, 'user_id');

export const teamMemberOf = (db: Db | Tx, teamId: string, userId: string): Promise<TeamMember | undefined> =>
  db.selectFrom('team_members').selectAll().where('team_id', '=', teamId).where('user_id', '=', userId).executeTakeFirst();

/** Returns undefined when the person does not belong to the team's organization, or left it at this moment. */
export const insertTeamMember = (db: Db | Tx, teamId: string, userId: string): Promise<TeamMember | undefined> =>
  orConflict(
    db
      .insertInto('team_members')
      .columns(['team_id', 'user_id', 'organization_id'])
      .expression((eb) =>
        eb
          .selectFrom('teams')
          .innerJoin('organization_members', 'organization_members.organization_id', 'teams.organization_id')
          .select(['teams.id', 'organization_members.user_id', 'teams.organization_id'])
          .where('teams.id', '=', teamId)
          .where('organization_members.user_id', '=', userId)
          .forKeyShare(),
      )
      .returningAll()
      .executeTakeFirst(),
    { team_members_pkey: 'This user is already in the team.' },
  );

export const deleteTeamMember = (db: Db | Tx, teamId: string, userId: string) =>
  db.deleteFrom('team_members').where('team_id', '=', teamId).where('user_id', '=', userId).execute();
