/** An access token that is good for a while, had anew shortly before it ends. Whoever asks meanwhile waits for the same one. */
import type { Clock } from './host-connection.ts';

export interface PassingToken {
  token(): Promise<string>;
  /** Forgets a token that was refused. False where the token is fresh from the host, so that another would be refused alike. */
  renew(): boolean;
  secrets(): readonly string[];
}

interface Had {
  token: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** A fetch that begins with a token should end before the token does. */
const spareMilliseconds = 5 * 60_000;
/** A token that is refused so soon was not revoked; the host accepts none at all. */
const freshMilliseconds = 10_000;

export type GetToken = () => Promise<Had>;

export function openPassingToken(clock: Clock, get: GetToken): PassingToken {
  let had: Had | undefined;
  let hadAt = 0;
  let getting: Promise<Had> | undefined;
  const secrets: string[] = [];

  async function getOnce(): Promise<Had> {
    try {
      had = await get();
      hadAt = clock.now();
      // Those before it are void, and one of them may still be under way.
      secrets.splice(0, secrets.length - 1);
      secrets.push(had.token);
      return had;
    } finally {
      getting = undefined;
    }
  }

  return {
    async token() {
      if (had && had.expiresAt - spareMilliseconds > clock.now()) return had.token;
      getting ??= getOnce();
      return (await getting).token;
    },
    renew() {
      if (!had || clock.now() - hadAt < freshMilliseconds) return false;
      had = undefined;
      return true;
    },
    secrets: () => secrets,
  };
}
