/** Where people are signed in: with which program or browser, from where, and when it was last heard of. Ending one is felt by the next request. */
import { sql, type Selectable } from 'kysely';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { Type } from 'typebox';
import type { Database } from '../../database.ts';
import { entity } from '../../kernel/operation.ts';
import { paged, type ListRequest, type Page } from '../../kernel/paging.ts';
import { Time, Uuid } from '../../kernel/schema.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';
import { viaGrant } from './access-token.ts';
import { clientName, consoleClientId } from './clients.ts';
import { endGrant } from './queries.ts';

export type SignIn = Selectable<Database['sign_ins']> & { program: string; is_current: boolean };

export const SignInEntity = entity({
  name: 'sign-in',
  path: '/users/{user_id}/sign-ins/{sign_in_id}',
  params: { user_id: Uuid, sign_in_id: Uuid },
  schema: Type.Object({
    id: Uuid,
    user_id: Uuid,
    program: Type.String({ description: 'The console, or a program that was allowed to act for the person.' }),
    user_agent: Type.String({ description: 'What the browser or program calls itself.' }),
    address: Type.String({ description: 'The network address that it was last heard from.' }),
    is_current: Type.Boolean({ description: 'Whether this very request comes by it.' }),
    created_at: Time,
    last_used_at: Type.Unsafe<string>({
      ...Time,
      description: 'When a token was last asked for: while it is used, every quarter of an hour.',
    }),
  }),
  address: ({ id, user_id }: SignIn) => ({ user_id, sign_in_id: id }),
  scope: ({ user_id }) => ({ user: user_id }),
  view: 'sign-in:view',
  references: { users: ({ user_id }) => user_id },
  async load({ user_id, sign_in_id }, { db }) {
    return (await signInsOf(db, user_id, '')).find(({ id }) => id === sign_in_id);
  },
});

const openSignIns = (db: Db) =>
  db
    .selectFrom('sign_ins')
    .innerJoin('oauth_records', (join) =>
      join.on('oauth_records.model', '=', 'Grant').onRef('oauth_records.id_hash', '=', 'sign_ins.grant_hash'),
    )
    .selectAll('sign_ins')
    .where('oauth_records.expires_at', '>', sql<string>`now()`);

/** `via` is the credential of whoever asks. */
const presented = (row: Selectable<Database['sign_ins']>, via: string): SignIn => ({
  ...row,
  program: clientName(row.client_id) ?? 'A program',
  is_current: row.grant_hash === via,
});

export async function signInsOf(db: Db, userId: string, via: string): Promise<SignIn[]> {
  const rows = await openSignIns(db).where('sign_ins.user_id', '=', userId).orderBy('last_used_at', 'desc').execute();
  return rows.map((row) => presented(row, via));
}

/** Everybody's, for operators. */
export async function allSignIns(db: Db, list: ListRequest, via: string): Promise<Page<SignIn>> {
  const page = await paged(db.selectFrom(openSignIns(db).as('sign_ins')).selectAll(), list);
  return { ...page, rows: page.rows.map((row) => presented(row, via)) };
}

/** The console comes back by itself as long as the browser has its session, so that ends too. */
export async function endSignIn(db: Db, { grant_hash, session_hash, client_id }: SignIn): Promise<void> {
  if (client_id === consoleClientId && session_hash !== null)
    await db.deleteFrom('oauth_records').where('model', '=', 'Session').where('uid', '=', session_hash).execute();
  await endGrant(db, grant_hash);
}

const userAgentCharactersMax = 300;

/** Called after tokens were given out for a browser sign-in, at its beginning and whenever they are renewed. */
export async function noteSignIn(db: Db, ctx: KoaContextWithOIDC): Promise<void> {
  const { AuthorizationCode, RefreshToken, Client, Account } = ctx.oidc.entities;
  const { grantId, sessionUid } = AuthorizationCode ?? RefreshToken ?? {};
  if (ctx.status !== 200 || grantId === undefined || !Client || !Account) return;
  const seen = { user_agent: ctx.get('user-agent').slice(0, userAgentCharactersMax), address: ctx.ip };
  const grant_hash = viaGrant(grantId);
  const session_hash = sessionUid === undefined ? null : fingerprint(sessionUid);
  // The grant may be ended at this very moment; then there is nothing to note.
  await sql`insert into sign_ins (user_id, grant_hash, session_hash, client_id, user_agent, address)
    select ${Account.accountId}, id_hash, ${session_hash}, ${Client.clientId}, ${seen.user_agent}, ${seen.address} from oauth_records
    where model = 'Grant' and id_hash = ${grant_hash} for key share
    on conflict (grant_model, grant_hash) do update
    set user_agent = excluded.user_agent, address = excluded.address, last_used_at = now()`.execute(db);
}

/** All sign-ins of a person but the one that asks (`via`), with the sessions of their browsers. */
export const endOtherSignIns = (db: Db, userId: string, via: string) =>
  sql`delete from oauth_records where user_id = ${userId}
    and grant_id is distinct from ${via} and not (model = 'Grant' and id_hash = ${via})
    and not (model = 'Session' and uid in (select session_hash from sign_ins where grant_hash = ${via}))`.execute(db);
