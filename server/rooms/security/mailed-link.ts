/**
 * Links that are mailed and prove that their holder reads the mail of an address. A link works once and for a while, is kept as a hash, and
 * is replaced by a newer one for the same purpose. Opening it changes nothing: mail programs open links, too.
 */
import { sql } from 'kysely';
import { recordDeed } from '../../kernel/audit.ts';
import { fingerprint, randomSecret } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';

const purposes = {
  'change-email': { path: '/change-email-address', hours: 24 },
  'reset-password': { path: '/reset-password', hours: 1 },
} as const;

/** Short enough for a mailed link to fit on a line. */
const tokenBytes = 16;

export type Purpose = keyof typeof purposes;

export const pathOf = (purpose: Purpose) => purposes[purpose].path;
export const hoursOf = (purpose: Purpose) => purposes[purpose].hours;

/** Returns the address of the page that the link opens. `email` is the address that the link will be mailed to. */
export async function issueLink(db: Db | Tx, url: string, link: { userId: string; purpose: Purpose; email: string }): Promise<string> {
  const { userId, purpose, email } = link;
  const token = randomSecret(tokenBytes);
  const fresh = {
    token_fingerprint: fingerprint(token),
    email,
    expires_at: sql<string>`now() + make_interval(hours => ${hoursOf(purpose)})`,
  };
  await db
    .insertInto('mailed_links')
    .values({ user_id: userId, purpose, ...fresh })
    .onConflict((conflict) => conflict.columns(['user_id', 'purpose']).doUpdateSet(fresh))
    .execute();
  return `${url}${pathOf(purpose)}?token=${token}`;
}

/** The link with the user it is for; undefined when it no longer works. */
export const linkOf = (db: Db, purpose: Purpose, token: string) =>
  db
    .selectFrom('mailed_links')
    .innerJoin('users', 'users.id', 'mailed_links.user_id')
    .select(['mailed_links.email as mailed_to', 'mailed_links.token_fingerprint'])
    .selectAll('users')
    .where('token_fingerprint', '=', fingerprint(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<string>`now()`)
    .where('deactivated', '=', false)
    .executeTakeFirst();

/** Uses the link up, with every other link of that person; false when the link was already used. */
export async function useLink(tx: Tx, link: { token_fingerprint: string; id: string }): Promise<boolean> {
  const used = await tx
    .deleteFrom('mailed_links')
    .where('token_fingerprint', '=', link.token_fingerprint)
    .where('expires_at', '>', sql<string>`now()`)
    .returning('user_id')
    .executeTakeFirst();
  if (used) await tx.deleteFrom('mailed_links').where('user_id', '=', link.id).execute();
  return used !== undefined;
}

/** What people do to their accounts by such a link is recorded as what they do by the API is. */
export const recordOnPage = (tx: Tx, userId: string, operation: string, summary: string): Promise<void> =>
  recordDeed(tx, { user_id: userId, operation, kind: 'user', summary, target: `/users/${userId}`, scope: { user: userId } });
