import { sql, type Selectable } from 'kysely';
import type { Database } from '../../database.ts';
import { orConflict, type Db, type Tx } from '../../kernel/sql.ts';

export type SecondFactor = Omit<Selectable<Database['passcodes']>, 'sealed' | 'step_used'>;
export type Connection = Selectable<Database['connections']>;
export type PhoneVerification = Selectable<Database['phone_verifications']>;

export const secondFactorOf = (db: Db, userId: string): Promise<SecondFactor | undefined> =>
  db.selectFrom('passcodes').select(['user_id', 'created_at']).where('user_id', '=', userId).executeTakeFirst();

export const connectionsOf = (db: Db, userId: string): Promise<Connection[]> =>
  db.selectFrom('connections').selectAll().where('user_id', '=', userId).orderBy('provider').execute();

export const connectionOf = (db: Db, userId: string, provider: string): Promise<Connection | undefined> =>
  db.selectFrom('connections').selectAll().where('user_id', '=', userId).where('provider', '=', provider).executeTakeFirst();

export const deleteConnection = (db: Db, { user_id, provider }: Connection) =>
  db
    .deleteFrom('connections')
    .where('user_id', '=', user_id)
    .where('provider', '=', provider)
    .where('is_mandatory', '=', false)
    .returning('provider')
    .executeTakeFirst();

export const ownerOfNumber = (db: Db, phoneNumber: string) =>
  db.selectFrom('users').select('id').where('phone_number', '=', phoneNumber).executeTakeFirst();

/** Stores a verification in place of an earlier one of the same person. */
export function putPhoneVerification(db: Db, verification: Omit<PhoneVerification, 'attempts' | 'expires_at'>, minutes: number) {
  const row = { ...verification, attempts: 0, expires_at: sql<string>`now() + make_interval(mins => ${minutes})` };
  return db
    .insertInto('phone_verifications')
    .values(row)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
    .execute();
}

export const phoneVerificationOf = (db: Db, userId: string, sid: string): Promise<PhoneVerification | undefined> =>
  db
    .selectFrom('phone_verifications')
    .selectAll()
    .where('user_id', '=', userId)
    .where('sid', '=', sid)
    .where('expires_at', '>', sql<string>`now()`)
    .executeTakeFirst();

/** Counts an attempt before its code is checked, and tells whether an attempt was left. */
export const takePhoneAttempt = (db: Db, sid: string, attemptsMax: number) =>
  db
    .updateTable('phone_verifications')
    .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
    .where('sid', '=', sid)
    .where('attempts', '<', attemptsMax)
    .returning('sid')
    .executeTakeFirst();

/** Makes the phone number the user's; false when the verification was finished or replaced meanwhile. */
export async function finishPhoneVerification(tx: Tx, { sid, user_id, phone_number }: PhoneVerification): Promise<boolean> {
  const finished = await tx.deleteFrom('phone_verifications').where('sid', '=', sid).returning('sid').executeTakeFirst();
  if (!finished) return false;
  await orConflict(
    tx
      .updateTable('users')
      .set({ phone_number, phone_number_verified: true, updated_at: sql<string>`now()` })
      .where('id', '=', user_id)
      .execute(),
    { users_phone_number: 'Another user has verified this phone number; use a different one.' },
  );
  return true;
}
