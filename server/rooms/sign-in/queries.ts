import { CompiledQuery, sql } from 'kysely';
import type { User } from '../../identity.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { Membership } from '../../permissions.ts';
import type { Suspension } from '../../suspension.ts';
import { isViaGrant } from './access-token.ts';
import { consoleClientId } from './clients.ts';

export type Holder = User & {
  asked: string;
  memberships: Membership[];
  /** The suspended ones among the person's organizations; for operators, among all. */
  suspended: Suspension[];
  project: string;
  project_permissions: string[] | null;
};

/**
 * Finds a credential that is still honoured, its owner, the owner's memberships, which organizations are suspended, and their access to one project: their own
 * and that of their teams, merged. This query runs for every request to the API, so it is compiled once.
 */
const holdersQuery = (credentials: string) =>
  CompiledQuery.raw(`
  select asked.key as asked, asked.project, users.*,
    coalesce((
      select json_agg(json_build_object('id', organizations.id, 'permissions', organization_members.permissions,
        'owner', organizations.owner_id = users.id, 'enforce_mfa', organizations.enforce_mfa))
      from organization_members join organizations on organizations.id = organization_members.organization_id
      where organization_members.user_id = users.id and organizations.status <> 'deleted'), '[]') as memberships,
    coalesce((
      select json_agg(json_build_object('id', organizations.id, 'label', organizations.label, 'reason', organizations.suspension_reason))
      from organizations where organizations.status = 'suspended' and (users.is_operator or exists (
        select from organization_members where organization_members.organization_id = organizations.id
          and organization_members.user_id = users.id))), '[]') as suspended,
    case when asked.project <> '' then array(
      select unnest(user_access.permissions) from user_access
      where user_access.project_id = asked.project and user_access.user_id = users.id
      union
      select unnest(teams.project_permissions) from team_access
      join team_members on team_members.team_id = team_access.team_id and team_members.user_id = users.id
      join teams on teams.id = team_access.team_id
      where team_access.project_id = asked.project) end as project_permissions
  from ${credentials}`);

/**
 * The arrays stand in subqueries so that PostgreSQL plans this query once on each connection. If it could see how long the arrays are, it would prefer
 * a plan for just that length to the one it has, and plan every time, which takes several times as long as running the query.
 */
const tokenHoldersQuery = holdersQuery(`
  unnest((select $1::text[]), (select $2::uuid[]), (select $3::text[]), (select $4::text[])) as asked (key, api_token, grant_hash, project)
  left join api_tokens on api_tokens.id = asked.api_token
  left join oauth_records on oauth_records.model = 'Grant' and oauth_records.id_hash = asked.grant_hash and oauth_records.expires_at > now()
  join users on users.id = coalesce(api_tokens.user_id, oauth_records.user_id)`);

const keyHoldersQuery = holdersQuery(`
  (select $1::text, $2::integer, $3::text) as asked (key, key_id, project)
  join ssh_keys on ssh_keys.key_id = asked.key_id
  join users on users.id = ssh_keys.user_id`);

const separator = ' ';

/** The key of one lookup: a credential, and the project that the request is about, if any. */
export const askedFor = (credential: string, project: string) => `${credential}${separator}${project}`;

/** The owners of credentials that are still honoured. */
export async function holdersOf(db: Db, asked: readonly string[]): Promise<Holder[]> {
  const credentials = asked.map((key) => key.slice(0, key.indexOf(separator)));
  const parameters = [
    asked,
    credentials.map((credential) => (isViaGrant(credential) ? null : credential)),
    credentials.map((credential) => (isViaGrant(credential) ? credential : null)),
    asked.map((key) => key.slice(key.indexOf(separator) + 1)),
  ];
  return (await db.executeQuery<Holder>({ ...tokenHoldersQuery, parameters })).rows;
}

/** The owner of an SSH key; undefined when the key was deleted. */
export async function holderOfKey(db: Db, keyId: number, project: string): Promise<Holder | undefined> {
  return (await db.executeQuery<Holder>({ ...keyHoldersQuery, parameters: [String(keyId), keyId, project] })).rows[0];
}

export const apiTokenBy = (db: Db, tokenFingerprint: string) =>
  db.selectFrom('api_tokens').select('id').where('fingerprint', '=', tokenFingerprint).executeTakeFirst();

/** Finds the owner of an API token and notes its use, in one statement; undefined when the token is wrong or its owner is deactivated. */
export async function useApiToken(db: Db, tokenFingerprint: string) {
  const { rows } = await sql<{ api_token_id: string; mfa_on_creation: boolean; user_id: string; token_generation: number }>`
    update api_tokens set last_used_at = now() from users
    where api_tokens.fingerprint = ${tokenFingerprint} and users.id = api_tokens.user_id and not users.deactivated
    returning api_tokens.id as api_token_id, api_tokens.mfa_on_creation, users.id as user_id, users.token_generation`.execute(db);
  return rows[0];
}

export const activeUser = (db: Db, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', id).where('deactivated', '=', false).executeTakeFirst();

/** Finds a user by e-mail address or username, which cannot be confused: a username has no `@`. */
export const userByLogin = (db: Db, login: string): Promise<User | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where(login.includes('@') ? sql<string>`email` : sql<string>`lower(username)`, '=', login.toLowerCase())
    .executeTakeFirst();

/** Deletes a grant with everything that was issued under it. */
export const endGrant = (db: Db, grantHash: string) =>
  db
    .deleteFrom('oauth_records')
    .where(({ or, and, eb }) => or([and([eb('model', '=', 'Grant'), eb('id_hash', '=', grantHash)]), eb('grant_id', '=', grantHash)]))
    .execute();

/** Ends every browser session and every access and refresh token of a person. API tokens stay, and can be exchanged anew. */
export async function signOutEverywhere(tx: Tx, userId: string): Promise<void> {
  await sql`update users set token_generation = token_generation + 1 where id = ${userId}`.execute(tx);
  await tx.deleteFrom('oauth_records').where('user_id', '=', userId).execute();
}

/**
 * Signs a person out everywhere but in one grant. Its access tokens are refused, too, but its client can refresh them; the console only as long as its browser has its
 * session, so that stays.
 */
export async function signOutElsewhere(tx: Tx, userId: string, grantHash: string): Promise<void> {
  await sql`update users set token_generation = token_generation + 1 where id = ${userId}`.execute(tx);
  await sql`delete from oauth_records where user_id = ${userId}
    and grant_id is distinct from ${grantHash} and not (model = 'Grant' and id_hash = ${grantHash})
    and not (model = 'Session' and uid in (select session_hash from sign_ins where grant_hash = ${grantHash} and client_id = ${consoleClientId}))`.execute(
    tx,
  );
}
