/**
 * Whose account an identity leads to. Once connected, it is the issuer's subject that counts, whatever addresses become. Before that, an account is connected only where both sides have
 * verified the same e-mail address: otherwise whoever types somebody's address at the provider, or has typed it here, would get what is theirs.
 */
import type { User } from '../../../identity.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { recordMail } from '../../deliveries/public.ts';
import { userByEmail } from '../../users/public.ts';
import type { Identity, IdentityProvider } from './open-identity-provider.ts';

/** Why nobody is signed in: a word for addresses, and a sentence for people. */
export const refusals = {
  unverified: (name: string) => `${name} does not say that your e-mail address is verified. Verify it there, then try again.`,
  unknown: (name: string) => `Nobody here has the e-mail address that ${name} knows you by. Ask somebody who works here to invite it.`,
  unconfirmed: () => 'Your e-mail address is not confirmed here yet. Sign in with your password, or set a new one by mail, first.',
  deactivated: () => 'Your account is deactivated.',
  failed: (name: string) => `${name} did not sign you in. Try again, or sign in with your password.`,
  unreachable: (name: string) => `${name} cannot be reached now. Try again later, or sign in with your password.`,
} as const satisfies Record<string, (name: string) => string>;

export type Refusal = keyof typeof refusals;

export async function connectedUser(platform: Platform, provider: IdentityProvider, identity: Identity): Promise<User | Refusal> {
  const known = await userConnectedTo(platform.db, identity);
  if (known) return known.deactivated ? 'deactivated' : known;
  if (identity.verifiedEmail === undefined) return 'unverified';
  const user = await userByEmail(platform.db, identity.verifiedEmail);
  if (!user) return 'unknown';
  if (!user.email_verified) return 'unconfirmed';
  if (user.deactivated) return 'deactivated';
  await connect(platform, provider, identity, user);
  return user;
}

const userConnectedTo = (db: Db, { issuer, subject }: Identity): Promise<User | undefined> =>
  db
    .selectFrom('connections')
    .innerJoin('users', 'users.id', 'connections.user_id')
    .selectAll('users')
    .where('connections.issuer', '=', issuer)
    .where('connections.subject', '=', subject)
    .executeTakeFirst();

/** The person is told, as with every new way into an account. One who has another identity of the same provider has the new one from now on. */
const connect = ({ db, config, secrets }: Platform, { id, name }: IdentityProvider, { issuer, subject }: Identity, user: User) =>
  db.transaction().execute(async (tx) => {
    const row = { issuer, subject, email_address: user.email };
    await tx
      .insertInto('connections')
      .values({ ...row, user_id: user.id, provider: id, provider_type: 'oidc' })
      .onConflict((conflict) => conflict.columns(['user_id', 'provider']).doUpdateSet(row))
      .execute();
    await recordMail(tx, { secrets }, { to: user.email, ...connectedLetter(name, config.url) });
  });

const connectedLetter = (name: string, url: string) => ({
  subject: `You can sign in with ${name}`,
  text: [
    'Hello,',
    `your Offshoot account at ${url} was connected to ${name}, which knows the same e-mail address as yours. From now on you can sign in with either.`,
    'If that was not you, tell the operator of this installation; you can remove the connection in your account settings.',
    '-- \nOffshoot\n',
  ].join('\n\n'),
});
