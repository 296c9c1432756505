/**
 * Letting people and teams into projects, several at once: all or none. One statement inserts what holds at that moment (the project is
 * there, the person belongs to its organization) and keeps it so until the end of the transaction; whoever is missing from its answer is
 * then told why. Only those who administer a project grant access to it, and they hold all permissions there: nobody grants more than they have.
 * The owner of the organization administers all its projects, so a project cannot lose its last administrator.
 */
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { joinOrganization } from '../organizations/public.ts';
import { inOrder } from '../projects/public.ts';

export interface UserGrant {
  project_id: string;
  user_id: string;
  permissions: string[];
  auto_add_member?: boolean;
}

export interface TeamGrant {
  project_id: string;
  team_id: string;
}

/** The field of the request that differs from grant to grant, and the sentence for a grant that is impossible. */
export interface Words {
  field: string;
  outsider: string;
}

/** `tell` is called in the same transaction, once all are let in. */
export const grantUsers = (db: Db, grants: readonly UserGrant[], words: Words, tell?: (tx: Tx) => Promise<void>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await addMembers(tx, grants);
    const wanted = wantedUsers(grants);
    const { rows: made } = await sql<UserGrant>`
      insert into user_access (project_id, user_id, organization_id, permissions)
      select projects.id, organization_members.user_id, projects.organization_id, wanted.permissions
      from ${wanted} join projects on projects.id = wanted.project_id and projects.status <> 'deleted'
      join organization_members on organization_members.organization_id = projects.organization_id
        and organization_members.user_id = wanted.user_id
      order by projects.id, organization_members.user_id
      for key share of projects, organization_members
      on conflict do nothing returning project_id, user_id`.execute(tx);
    if (made.length === grants.length) return tell?.(tx);
    const { rows: present } = await sql<UserGrant>`
      select wanted.project_id, wanted.user_id from ${wanted}
      join user_access on user_access.project_id = wanted.project_id and user_access.user_id = wanted.user_id`.execute(tx);
    const key = ({ project_id, user_id }: Pick<UserGrant, 'project_id' | 'user_id'>) => `${project_id} ${user_id}`;
    throw refusal(grants.map(key), made.map(key), present.map(key), words);
  });

/** The person who creates a project administers it, unless they are an operator from outside the organization, who needs no access. */
export const grantMaker = (tx: Tx, project: { id: string; organization_id: string }, userId: string) =>
  sql`insert into user_access (project_id, user_id, organization_id, permissions)
    select ${project.id}, user_id, organization_id, array['admin'] from organization_members
    where organization_id = ${project.organization_id} and user_id = ${userId}`.execute(tx);

const wantedUsers = (grants: readonly UserGrant[]) => {
  const rows = grants.map((grant) => ({ ...grant, permissions: inOrder(grant.permissions) }));
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as wanted (project_id text, user_id uuid, permissions text[])`;
};

/** People who are let in with `auto_add_member` become members of the project's organization, without permissions there. */
async function addMembers(tx: Tx, grants: readonly UserGrant[]) {
  const asked = grants.filter(({ auto_add_member }) => auto_add_member);
  if (asked.length === 0) return;
  const { rows } = await sql<{ organization_id: string; user_id: string }>`
    select distinct projects.organization_id, users.id as user_id
    from ${wantedUsers(asked)} join projects on projects.id = wanted.project_id and projects.status <> 'deleted'
    join users on users.id = wanted.user_id and not users.deactivated
    where not exists (
      select from organization_members
      where organization_members.organization_id = projects.organization_id and organization_members.user_id = users.id)
    order by 1, 2`.execute(tx);
  for (const { organization_id, user_id } of rows) await joinOrganization(tx, organization_id, user_id);
}

export const grantTeams = (db: Db, grants: readonly TeamGrant[], words: Words): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const wanted = sql`jsonb_to_recordset(${JSON.stringify(grants)}::jsonb) as wanted (project_id text, team_id text)`;
    const { rows: made } = await sql<TeamGrant>`
      insert into team_access (team_id, project_id, organization_id)
      select teams.id, projects.id, projects.organization_id
      from ${wanted} join projects on projects.id = wanted.project_id and projects.status <> 'deleted'
      join teams on teams.id = wanted.team_id and teams.organization_id = projects.organization_id
      order by teams.id, projects.id
      for key share of projects, teams
      on conflict do nothing returning project_id, team_id`.execute(tx);
    if (made.length === grants.length) return;
    const { rows: present } = await sql<TeamGrant>`
      select wanted.project_id, wanted.team_id from ${wanted}
      join team_access on team_access.project_id = wanted.project_id and team_access.team_id = wanted.team_id`.execute(tx);
    const key = ({ project_id, team_id }: TeamGrant) => `${project_id} ${team_id}`;
    throw refusal(grants.map(key), made.map(key), present.map(key), words);
  });

/** Grants that are impossible are refused first (400), then those that exist already (409). */
function refusal(asked: string[], made: string[], present: string[], { field, outsider }: Words): Problem {
  const outside = asked.flatMap((key, n) => (present.includes(key) ? [] : [`${n}.${field}`]));
  if (outside.length > 0) return problemOf('invalid-request', outside, outsider);
  const already = asked.flatMap((key, n) => (made.includes(key) ? [] : [`${n}.${field}`]));
  return problemOf('conflict', already, 'already has access; change that access instead');
}

const problemOf = (kind: 'invalid-request' | 'conflict' | 'forbidden', names: string[], message: string) =>
  new Problem(kind, names.map((name) => `${name} ${message}.`).join(' '), {
    fields: Object.fromEntries(names.map((name) => [name, message])),
  });

/** Refuses a request that names the same thing twice. */
export function refuseRepeated(ids: readonly string[], field: string) {
  const repeated = ids.flatMap((id, n) => (ids.indexOf(id) < n ? [`${n}.${field}`] : []));
  if (repeated.length > 0) throw problemOf('invalid-request', repeated, 'is named twice');
}

export const refuseProjects = (indices: readonly number[]) =>
  problemOf(
    'forbidden',
    indices.map((n) => `${n}.project_id`),
    'is not a project whose access you manage',
  );
