/**
 * Who is asking: from an access token to a person and what they may do. The person and the credential are read afresh for every request
 * (requests at the same moment share the query), so a revoked token, a deactivated person or a changed password shows on the next request.
 */
import { batched } from '../../kernel/sql.ts';
import { permissions, rolesIn, type Scope } from '../../permissions.ts';
import type { Caller, Platform } from '../../platform.ts';
import type { User } from '../users/room.ts';
import { openAccessTokens } from './access-token.ts';
import { holdersOf } from './queries.ts';

export function createCallerOf({ db, keys, config }: Pick<Platform, 'db' | 'keys' | 'config'>): Platform['callerOf'] {
  const claimsOf = openAccessTokens(keys, config.url);
  const holderOf = batched(
    (credentials) => holdersOf(db, credentials),
    ({ credential }) => credential,
  );
  return async (accessToken) => {
    const claims = await claimsOf(accessToken);
    if (!claims) return undefined;
    const user = await holderOf(claims.via);
    const honoured = user?.id === claims.sub && !user.deactivated && user.token_generation === claims.generation;
    return honoured ? callerFor(user) : undefined;
  };
}

function callerFor(user: User): Caller {
  /** The links of a row are all asked for with the one scope of that row. */
  let scopeBefore: Scope | undefined;
  let roles: ReturnType<typeof rolesIn> = [];
  return {
    id: user.id,
    user,
    can(permission, scope) {
      if (scope !== scopeBefore) {
        roles = rolesIn(user, scope);
        scopeBefore = scope;
      }
      const holders = permissions[permission];
      for (const role of roles) if (holders.includes(role)) return true;
      return false;
    },
  };
}
