import type { User } from '../../identity.ts';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint, randomSecret } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { apiTokensOf, insertApiToken, type ApiToken } from './queries.ts';

const apiTokensMax = 100;

interface NewApiToken {
  name: string;
  secret?: string;
  /** Whether the person who creates the token has shown a second factor; whoever uses the token then counts as having shown it, too. */
  mfa?: boolean;
}

/** Creates a token and returns it with its secret, which cannot be read again. */
export async function createApiToken(
  db: Db | Tx,
  owner: User,
  { name, secret = randomSecret(), mfa = false }: NewApiToken,
): Promise<ApiToken> {
  if ((await apiTokensOf(db, owner.id)).length >= apiTokensMax) {
    throw new Problem('conflict', `A user can have ${apiTokensMax} API tokens; delete one that is no longer used.`);
  }
  const token = await insertApiToken(db, { user_id: owner.id, name, fingerprint: fingerprint(secret), mfa_on_creation: mfa });
  return { ...token, token: secret };
}
