import { CompiledQuery, sql } from 'kysely';
import type { Db, Tx } from '../../kernel/sql.ts';
import type { User } from '../users/room.ts';
import { isViaGrant } from './access-token.ts';

export type Holder = User & { credential: string };

/** Runs for every request to the API, so it is compiled once. */
const holdersQuery = CompiledQuery.raw(`
  select users.*, api_tokens.id::text as credential
  from api_tokens join users on users.id = api_tokens.user_id
  where api_tokens.id = any($1::uuid[])
  union all
  select users.*, oauth_records.id_hash
  from oauth_records join users on users.id = oauth_records.user_id
  where oauth_records.model = 'Grant' and oauth_records.id_hash = any($2::text[]) and oauth_records.expires_at > now()`);

/** The owners of credentials that are still honoured. */
export async function holdersOf(db: Db, credentials: readonly string[]): Promise<Holder[]> {
  const apiTokens: string[] = [];
  const grants: string[] = [];
  for (const credential of credentials) (isViaGrant(credential) ? grants : apiTokens).push(credential);
  return (await db.executeQuery<Holder>({ ...holdersQuery, parameters: [apiTokens, grants] })).rows;
}

/** Finds the owner of an API token and notes its use, in one statement; undefined when it is wrong or its owner is deactivated. */
export async function useApiToken(db: Db, tokenFingerprint: string) {
  const { rows } = await sql<{ api_token_id: string; user_id: string; token_generation: number }>`
    update api_tokens set last_used_at = now() from users
    where api_tokens.fingerprint = ${tokenFingerprint} and users.id = api_tokens.user_id and not users.deactivated
    returning api_tokens.id as api_token_id, users.id as user_id, users.token_generation`.execute(db);
  return rows[0];
}

export const activeUser = (db: Db, id: string) =>
  db.selectFrom('users').selectAll().where('id', '=', id).where('deactivated', '=', false).executeTakeFirst();

/** By e-mail address or username; a username has no `@`. */
export const userByLogin = (db: Db, login: string): Promise<User | undefined> =>
  db
    .selectFrom('users')
    .selectAll()
    .where(login.includes('@') ? sql<string>`email` : sql<string>`lower(username)`, '=', login.toLowerCase())
    .executeTakeFirst();

/** A grant with everything issued under it. */
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
