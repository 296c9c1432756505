/** What tests need of a person's account: an authenticator app, a phone, a picture. */
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import type { Person } from './platform.ts';

type Address = Record<string, string>;

/** What an app shows, worked out here anew: that the platform agrees with itself would prove little. */
export function passcodeOf(secret: string, stepsAhead = 0) {
  const bits = Array.from(secret, (character) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(character).toString(2).padStart(5, '0')).join(
    '',
  );
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeUInt32BE(Math.floor(Date.now() / 30_000) + stepsAhead, 4);
  const digest = createHmac('sha1', key).update(step).digest();
  return String((digest.readUInt32BE((digest[19] ?? 0) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** Turns two-factor authentication on; answers the secret in the app, and the recovery codes. */
export async function enrol(person: Person): Promise<{ secret: string; recoveryCodes: string[] }> {
  const path = `/users/${person.user.id}/totp`;
  const { secret } = (await person.send('GET', path)).json;
  /** One step back, so that the passcode of now is still good to sign in with; twice, as the step may end in between. */
  const confirm = () => person.send('POST', path, { secret, passcode: passcodeOf(secret, -1) });
  const first = await confirm();
  const { json, status } = first.status === 400 ? await confirm() : first;
  if (status !== 200) throw new Error(JSON.stringify(json));
  return { secret, recoveryCodes: json.recovery_codes };
}

const phoneNumberOf = ({ user }: Person) => `+316${String(user.uid).padStart(8, '0')}`;

/** The code that was sent last to this number. */
export async function codeSentTo(person: Person, phoneNumber = phoneNumberOf(person)) {
  const message = (await person.home.phoneMessages()).findLast((text) => text.includes(phoneNumber)) ?? '';
  return /\b\d{6}\b/.exec(message)?.[0] ?? '';
}

export const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const identitySamples: Record<string, (owner: Person) => Promise<Address>> = {
  profile: async ({ user }) => ({ userId: user.id }),
  address: async ({ user }) => ({ userId: user.id }),
  picture: async ({ user }) => ({ uuid: user.id }),
  'second factor': async (owner) => {
    const { json } = await owner.send('GET', '/users/me');
    if (!json.mfa_enabled) await enrol(owner);
    return { user_id: owner.user.id };
  },
  'phone verification': async (owner) => {
    const body = { channel: 'sms', phone_number: phoneNumberOf(owner) };
    const { json } = await owner.send('POST', `/users/${owner.user.id}/phonenumber`, body);
    return { user_id: owner.user.id, sid: json.sid };
  },
  'sign-in': async ({ user, home: { platform } }) => {
    const grant_hash = `${crypto.randomUUID()}-of-a-grant`;
    const grant = { model: 'Grant', id_hash: grant_hash, sealed: '', user_id: user.id, expires_at: sql<string>`now() + interval '1 hour'` };
    await platform.db.insertInto('oauth_records').values(grant).execute();
    const row = { user_id: user.id, grant_hash, client_id: 'upsun-cli', user_agent: 'A program', address: '192.0.2.1' };
    const { id } = await platform.db.insertInto('sign_ins').values(row).returning('id').executeTakeFirstOrThrow();
    return { user_id: user.id, sign_in_id: id };
  },
  connection: async ({ user, home }) => {
    const provider = `provider-${crypto.randomUUID()}`;
    const row = { user_id: user.id, provider, provider_type: 'oidc', issuer: provider, subject: user.id, email_address: user.email };
    await home.platform.db.insertInto('connections').values(row).execute();
    return { user_id: user.id, provider };
  },
};

export const identityBodies: Record<string, (owner: Person) => Promise<unknown>> = {
  'POST /users/{user_id}/totp': async (owner) => {
    const { json } = await owner.send('GET', `/users/${owner.user.id}/totp`);
    const secret: string = json.secret ?? 'A'.repeat(32);
    return { secret, passcode: passcodeOf(secret) };
  },
  'POST /users/{user_id}/phonenumber/{sid}': async (owner) => ({ code: await codeSentTo(owner) }),
  'POST /profile/{uuid}/picture': async () => ({ file: tinyPng }),
};
