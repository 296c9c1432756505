/**
 * Sign-ins that a browser has left for: what was asked of which provider, in which sign-in of ours. Each is sealed, is found by a hash of its state, lives ten minutes, and is answered
 * once: the database decides between two answers.
 */
import { sql } from 'kysely';
import { fingerprint, randomSecret } from '../../../kernel/secrets.ts';
import type { Platform } from '../../../platform.ts';
import type { Asked } from './open-identity-provider.ts';

const model = 'SignInElsewhere';
const answeredWithinSeconds = 600;

interface SignInElsewhere extends Asked {
  provider: string;
  /** The sign-in of ours that goes on with it. */
  uid: string;
}

/** The state begins with the sign-in that it belongs to, so that the return, which every provider has one of, leads to it. */
export async function leaveFor({ db, secrets }: Platform, provider: string, uid: string): Promise<Asked> {
  const asked = { state: `${uid}.${randomSecret()}`, nonce: randomSecret(), verifier: randomSecret() };
  const id_hash = fingerprint(asked.state);
  const kept: SignInElsewhere = { ...asked, provider, uid };
  await db
    .insertInto('oauth_records')
    .values({
      model,
      id_hash,
      sealed: secrets.seal(purposeOf(id_hash), JSON.stringify(kept)),
      expires_at: sql<string>`now() + make_interval(secs => ${answeredWithinSeconds})`,
    })
    .execute();
  return asked;
}

/** What was asked, if this provider was asked it in this sign-in, and it was not answered yet. Whatever the answer is, there is no second one. */
export async function comeBack({ db, secrets }: Platform, provider: string, uid: string, state: string): Promise<Asked | undefined> {
  const id_hash = fingerprint(state);
  const row = await db
    .deleteFrom('oauth_records')
    .where('model', '=', model)
    .where('id_hash', '=', id_hash)
    .where('expires_at', '>', sql<string>`now()`)
    .returning('sealed')
    .executeTakeFirst();
  if (!row) return undefined;
  const kept = JSON.parse(secrets.open(purposeOf(id_hash), row.sealed)) as SignInElsewhere;
  return kept.provider === provider && kept.uid === uid ? kept : undefined;
}

export const uidOf = (state: string): string | undefined => /^([\w-]{10,100})\.[\w-]+$/.exec(state)?.[1];

const purposeOf = (idHash: string) => `oauth_records ${model} ${idHash}`;
