/**
 * The access tokens that hosts gave out for credentials: one for each credential, for whoever opens a host with it. They are in memory alone. A credential is known by a hash of all
 * of it, with its secret, so nobody gets a token without having what the token was given for.
 */
import { createHash } from 'node:crypto';
import type { Clock } from './host-connection.ts';
import { openPassingToken, type GetToken, type PassingToken } from './passing-token.ts';

export interface HostTokens {
  /** `credential`: all that the token depends on. */
  of(credential: readonly string[], clock: Clock, get: GetToken): PassingToken;
}

/** Tokens that were not used for longest are forgotten first, and had anew. */
const tokensMax = 1000;

interface Kept {
  token: PassingToken;
  get: GetToken;
}

function keep(clock: Clock, get: GetToken): Kept {
  const kept: Kept = { get, token: openPassingToken(clock, () => kept.get()) };
  return kept;
}

export function openHostTokens(): HostTokens {
  const kept = new Map<string, Kept>();
  return {
    of(credential, clock, get) {
      const key = createHash('sha256').update(JSON.stringify(credential)).digest('base64url');
      const found = kept.get(key) ?? keep(clock, get);
      // The way out of whoever came last is the one that is open.
      found.get = get;
      kept.delete(key);
      kept.set(key, found);
      const [oldest] = kept.keys();
      if (kept.size > tokensMax && oldest !== undefined) kept.delete(oldest);
      return found.token;
    },
  };
}
