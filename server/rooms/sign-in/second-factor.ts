/**
 * The second factor of a person: a device that shows passcodes, and recovery codes for when it is lost. The secret is sealed, recovery codes
 * are kept as hashes, and each code works once: the database decides between two who use it at the same moment.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { fingerprint, type Secrets } from '../../kernel/secrets.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { base32, bytesOfBase32, stepOf } from './totp.ts';

const recoveryCodesNumber = 10;
const recoveryCodeBytes = 10;

/** Returns the recovery codes, which cannot be read again; undefined when the user already has a second factor. */
export async function addSecondFactor(tx: Tx, secrets: Secrets, added: { userId: string; secret: string; stepUsed: number }) {
  const { userId, secret, stepUsed } = added;
  const enrolled = await tx
    .insertInto('passcodes')
    .values({ user_id: userId, sealed: secrets.seal(purposeOf(userId), secret), step_used: stepUsed })
    .onConflict((conflict) => conflict.doNothing())
    .returning('user_id')
    .executeTakeFirst();
  if (!enrolled) return undefined;
  await setEnabled(tx, userId, true);
  return writeRecoveryCodes(tx, userId);
}

/** Removes the second factor of a user; false when there was none. */
export async function removeSecondFactor(tx: Tx, userId: string): Promise<boolean> {
  const removed = await tx.deleteFrom('passcodes').where('user_id', '=', userId).returning('user_id').executeTakeFirst();
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
  await setEnabled(tx, userId, false);
  return removed !== undefined;
}

/** New recovery codes in place of all others; undefined when there is no second factor. */
export function replaceRecoveryCodes(db: Db, userId: string) {
  return db.transaction().execute(async (tx) => {
    const enrolled = await tx.selectFrom('passcodes').select('user_id').where('user_id', '=', userId).forUpdate().executeTakeFirst();
    return enrolled && writeRecoveryCodes(tx, userId);
  });
}

/** Whether the typed text proves the second factor, as a current passcode or as a recovery code. A code that does is used up. */
export async function useSecondFactor(db: Db, secrets: Secrets, userId: string, typed: string): Promise<boolean> {
  const text = plainCode(typed);
  return isPasscode(text) ? usePasscode(db, secrets, userId, text) : useRecoveryCode(db, userId, text);
}

/** Whether the typed text is a passcode, which can be guessed; anything else is taken for a recovery code, which cannot. */
export const isPasscode = (typed: string) => /^\d{6}$/.test(plainCode(typed));

const plainCode = (typed: string) => typed.replaceAll(/[\s-]/g, '').toLowerCase();

async function usePasscode(db: Db, secrets: Secrets, userId: string, passcode: string) {
  const device = await db.selectFrom('passcodes').select('sealed').where('user_id', '=', userId).executeTakeFirst();
  const step = device && stepOf(passcode, bytesOfBase32(secrets.open(purposeOf(userId), device.sealed)));
  if (step === undefined) return false;
  const used = await db
    .updateTable('passcodes')
    .set({ step_used: step })
    .where('user_id', '=', userId)
    .where('sealed', '=', device?.sealed ?? '')
    .where('step_used', '<', step)
    .returning('user_id')
    .executeTakeFirst();
  return used !== undefined;
}

async function useRecoveryCode(db: Db, userId: string, code: string) {
  const used = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('fingerprint', '=', fingerprint(code))
    .returning('user_id')
    .executeTakeFirst();
  return used !== undefined;
}

async function writeRecoveryCodes(tx: Tx, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodesNumber }, () => base32(randomBytes(recoveryCodeBytes)).toLowerCase());
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
  await tx
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ user_id: userId, fingerprint: fingerprint(code) })))
    .execute();
  return codes.map((code) => (code.match(/.{4}/g) ?? []).join('-'));
}

const setEnabled = (tx: Tx, userId: string, mfa_enabled: boolean) =>
  tx
    .updateTable('users')
    .set({ mfa_enabled, updated_at: sql<string>`now()` })
    .where('id', '=', userId)
    .execute();

const purposeOf = (userId: string) => `passcodes ${userId}`;
