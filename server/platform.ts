/**
 * All that a handler may touch, built once in main.ts, and the product's words that the kernel's types speak of.
 */
import type { Config } from './config.ts';
import type { Secrets } from './kernel/secrets.ts';
import type { Log } from './kernel/log.ts';
import type { Db } from './kernel/sql.ts';
import type { Permission, Scope } from './permissions.ts';
import { createCallerOf, openKeys, type Keys } from './rooms/sign-in/room.ts';
import type { User } from './rooms/users/room.ts';

export type { Permission, Scope } from './permissions.ts';

export interface Platform {
  config: Config;
  db: Db;
  log: Log;
  secrets: Secrets;
  keys: Keys;
  /** The bearer of an access token, or undefined when the token is wrong, expired or no longer honoured. At most one query. */
  callerOf(accessToken: string): Promise<Caller | undefined>;
}

/** Who is asking. `user` is read afresh for every request, so what was taken away is gone on the next one. */
export interface Caller {
  readonly id: string;
  readonly user: User;
  can(permission: Permission, scope: Scope): boolean;
}

export async function openPlatform(parts: Pick<Platform, 'config' | 'db' | 'log' | 'secrets'>): Promise<Platform> {
  const keys = await openKeys(parts.db, parts.secrets);
  return { ...parts, keys, callerOf: createCallerOf({ ...parts, keys }) };
}
