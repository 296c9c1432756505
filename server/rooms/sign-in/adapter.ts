/**
 * Where the OAuth2 library keeps sessions, grants, codes and refresh tokens. A row is found by the hash of its secret and its content is
 * sealed, so whoever reads the table can sign in as nobody. Expired rows are never found, and are removed in passing.
 */
import { sql } from 'kysely';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { fingerprint, type Secrets } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';

/** A client that lost the answer sends the same refresh token again. Within this time that counts as a retry, afterwards as theft. */
const refreshRetrySeconds = 30;
const sweepEvery = 100;
const sweptMax = 1000;

export const openAdapter = (db: Db, secrets: Secrets) => {
  let saved = 0;
  return (model: string): Adapter => {
    const graceSeconds = model === 'RefreshToken' ? refreshRetrySeconds : 0;
    const live = (column: 'id_hash' | 'uid', value: string) =>
      db
        .selectFrom('oauth_records')
        .select(['id_hash', 'sealed'])
        .select(sql<boolean>`coalesce(consumed_at <= now() - make_interval(secs => ${graceSeconds}), false)`.as('consumed'))
        .where('model', '=', model)
        .where(column, '=', fingerprint(value))
        .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<string>`now()`)]))
        .executeTakeFirst();
    const opened = (row: Awaited<ReturnType<typeof live>>): AdapterPayload | undefined =>
      row && {
        ...(JSON.parse(secrets.open(purposeOf(model, row.id_hash), row.sealed)) as AdapterPayload),
        ...(row.consumed && { consumed: true }),
      };

    return {
      async upsert(id, payload, expiresIn) {
        const id_hash = fingerprint(id);
        const content = {
          sealed: secrets.seal(purposeOf(model, id_hash), JSON.stringify(payload)),
          uid: payload.uid === undefined ? null : fingerprint(payload.uid),
          grant_id: payload.grantId === undefined || model === 'Interaction' ? null : fingerprint(payload.grantId),
          user_id: payload.accountId ?? payload.session?.accountId ?? signedInSoFar(payload),
          expires_at: expiresIn ? sql<string>`now() + make_interval(secs => ${expiresIn})` : null,
        };
        await db
          .insertInto('oauth_records')
          .values({ model, id_hash, ...content })
          .onConflict((conflict) => conflict.columns(['model', 'id_hash']).doUpdateSet(content))
          .execute();
        saved += 1;
        if (saved % sweepEvery === 0) await removeExpiredRecords(db);
      },
      find: async (id) => opened(await live('id_hash', id)),
      findByUid: async (uid) => opened(await live('uid', uid)),
      findByUserCode: () => Promise.resolve(undefined),
      async consume(id) {
        const first = await db
          .updateTable('oauth_records')
          .set({ consumed_at: sql`now()` })
          .where('model', '=', model)
          .where('id_hash', '=', fingerprint(id))
          .where('consumed_at', 'is', null)
          .returning('id_hash')
          .executeTakeFirst();
        if (!first && graceSeconds === 0) throw new errors.InvalidGrant('used by another request at the same moment');
      },
      async destroy(id) {
        await db.deleteFrom('oauth_records').where('model', '=', model).where('id_hash', '=', fingerprint(id)).execute();
      },
      async revokeByGrantId(grantId) {
        await db.deleteFrom('oauth_records').where('model', '=', model).where('grant_id', '=', fingerprint(grantId)).execute();
      },
    };
  };
};

/** The user whose password was accepted in a sign-in that is still under way, so that it ends with the user's others when the password changes. */
const signedInSoFar = ({ result }: AdapterPayload): string | null => {
  const { accountId } = (result?.login ?? {}) as { accountId?: string };
  return accountId ?? null;
};

const purposeOf = (model: string, idHash: string) => `oauth_records ${model} ${idHash}`;

const removeExpiredRecords = (db: Db) =>
  sql`delete from oauth_records where (model, id_hash) in
    (select model, id_hash from oauth_records where expires_at <= now() limit ${sweptMax})`.execute(db);
