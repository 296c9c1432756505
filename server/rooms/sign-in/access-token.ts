/**
 * Access tokens: JWTs that live 900 seconds. They say who (`sub`), which credential they came from (`via`: an API token, or the grant of a
 * browser sign-in) and the owner's `generation` of tokens, so that each of the three can be taken away before the token expires.
 * Verifying one twice costs no cryptography: what was verified is remembered, and only its expiry is checked anew.
 */
import { createLocalJWKSet, jwtVerify, type JWK } from 'jose';
import type { Keys, Proof } from '../../identity.ts';
import { fingerprint } from '../../kernel/secrets.ts';

export const accessTokenSeconds = 900;
const accessTokenType = 'at+jwt';

export interface Claims extends Proof {
  client_id: string;
  exp: number;
}

/** How a token names the grant it came via: by the hash under which the grant is stored. API tokens have UUIDs, which are shorter. */
export const viaGrant = (grantId: string) => fingerprint(grantId);
export const isViaGrant = (via: string) => via.length > 36;

const tokenCharactersMax = 4096;
const rememberedMax = 2000;

/** Returns a function that gives the claims of a valid token, and undefined for any other. */
export function openAccessTokens(
  { accessTokens }: Keys,
  issuer: string,
): (token: string) => Claims | undefined | Promise<Claims | undefined> {
  const publicKeys = createLocalJWKSet({ keys: accessTokens.map(publicKeyOf) });
  const expected = {
    issuer,
    audience: issuer,
    algorithms: ['ES256'],
    typ: accessTokenType,
    requiredClaims: ['sub', 'via', 'generation', 'exp'],
  };
  /** The cache has two generations instead of a list ordered by use: a hit moves nothing, and forgetting the older half is one assignment. */
  let recent = new Map<string, Claims>();
  let older = recent;

  const remember = (token: string, claims: Claims) => {
    if (recent.size >= rememberedMax / 2) {
      older = recent;
      recent = new Map();
    }
    recent.set(token, claims);
    return claims;
  };

  const verify = async (token: string) => {
    if (token.length > tokenCharactersMax) return undefined;
    try {
      const { payload } = await jwtVerify<Claims>(token, publicKeys, expected);
      return remember(token, payload);
    } catch {
      return undefined;
    }
  };

  return (token) => {
    const known = recent.get(token);
    if (known) return isCurrent(known) ? known : undefined;
    const before = older.get(token);
    if (before) return isCurrent(before) ? remember(token, before) : undefined;
    return verify(token);
  };
}

const isCurrent = ({ exp }: Claims) => exp * 1000 > Date.now();

const publicKeyOf = ({ d: _private, ...key }: JWK): JWK => key;
