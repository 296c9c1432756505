/** Who people are to the platform, how they prove it, and the keys that proofs are made with: what rooms, platform and doors all speak of. */
import type { KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { Selectable } from 'kysely';
import type { Database } from './database.ts';

/** A person: the row as the database keeps it, password hash included; the schema of `rooms/users` decides what leaves. */
export type User = Selectable<Database['users']>;

/** What an access token says, and an SSH certificate too. */
export interface Proof {
  /** The person. */
  sub: string;
  /** The credential that the proof came from. */
  via: string;
  generation: number;
  /** How the person proved who they are: `pwd`, and `mfa` with a second factor. */
  amr?: readonly string[];
}

/** Ways other than an access token to prove who one is. Each was verified, except for whether it is still honoured. */
export type Credential = { certified: Proof } | { sshKey: number } | { apiToken: string };

export interface Keys {
  /** Private keys for ES256, each with its `kid`. */
  accessTokens: JWK[];
  cookies: string[];
  /** Ed25519: the authority that SSH certificates are trusted by. */
  sshAuthority: KeyObject;
}
