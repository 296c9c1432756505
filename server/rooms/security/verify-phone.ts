/**
 * A phone number counts once its holder has typed a code that was sent to it. A code lives ten minutes and bears five attempts; a new one
 * replaces it. What is kept of it is a signature: six digits would be found from a hash in no time.
 */
import { randomInt } from 'node:crypto';
import type { User } from '../../identity.ts';
import { invalidField, Problem } from '../../kernel/problem.ts';
import type { PhoneChannel } from '../../drivers/phone/phone.ts';
import { randomSecret } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import { countAttempts } from '../sign-in/public.ts';
import { finishPhoneVerification, ownerOfNumber, putPhoneVerification, takePhoneAttempt, type PhoneVerification } from './queries.ts';

const minutes = 10;
const attemptsMax = 5;
const codeDigits = 6;
const sidBytes = 16;

const taken = 'Another user has verified this phone number; use a different one.';

/** Sends a code, and returns the id of the verification that the code belongs to. */
export async function startPhoneVerification(platform: Platform, user: User, asked: { channel: PhoneChannel; phone_number: string }) {
  const { db, phone, secrets } = platform;
  const { channel, phone_number } = asked;
  await countAttempts(db, [
    { limit: 'phone message for account', of: user.id },
    { limit: 'phone message to number', of: phone_number },
  ]);
  const owner = await ownerOfNumber(db, phone_number);
  if (owner && owner.id !== user.id) throw new Problem('conflict', taken);
  const sid = randomSecret(sidBytes);
  const code = String(randomInt(10 ** codeDigits)).padStart(codeDigits, '0');
  await putPhoneVerification(db, { sid, user_id: user.id, phone_number, code_fingerprint: secrets.sign(signed(sid, code)) }, minutes);
  await phone.send({ channel, to: phone_number, text: `Your Offshoot code is ${code}. It works for ${minutes} minutes.` });
  return sid;
}

export async function finishVerification({ db, secrets }: Platform, verification: PhoneVerification, code: string): Promise<void> {
  const { sid, code_fingerprint } = verification;
  if (!(await takePhoneAttempt(db, sid, attemptsMax))) throw invalidField('code', 'was entered wrongly too often; ask for a new one');
  if (!secrets.isSigned(signed(sid, code), code_fingerprint)) throw invalidField('code', 'is wrong');
  const finished = await db.transaction().execute((tx) => finishPhoneVerification(tx, verification));
  if (!finished)
    throw new Problem(
      'conflict',
      'This verification was finished or replaced at the same moment; start a new one if the number is not verified.',
    );
}

const signed = (sid: string, code: string) => `phone verification ${sid} ${code}`;
