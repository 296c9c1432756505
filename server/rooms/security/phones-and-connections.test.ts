import { beforeEach, describe, expect, test } from 'vitest';
import { codeSentTo, identitySamples } from '../../testing/identity.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';

const home = await openTestPlatform();
const { person, platform, phoneMessages } = home;
const { db } = platform;

beforeEach(() => db.deleteFrom('attempts').execute());

let numbers = 0;
const freshNumber = () => `+4930${String((numbers += 1)).padStart(7, '0')}`;
const start = (someone: Person, phone_number: string, channel = 'sms') =>
  someone.send('POST', `/users/${someone.user.id}/phonenumber`, { channel, phone_number });
const finish = (someone: Person, sid: string, code: string, of = someone) =>
  someone.send('POST', `/users/${of.user.id}/phonenumber/${sid}`, { code });
const isVerified = async (someone: Person) => (await someone.send('GET', '/users/me')).json.phone_number_verified as boolean;
const wrong = (code: string) => (code === '123456' ? '654321' : '123456');

describe('a phone number', () => {
  test.for(['sms', 'whatsapp', 'call'])('is verified by the code that was sent to it (%s)', async (channel) => {
    const ada = await person();
    const number = freshNumber();
    const { status, json } = await start(ada, number, channel);
    expect({ status, json }).toEqual({ status: 200, json: { sid: expect.any(String) } });
    expect((await phoneMessages()).at(-1)).toContain(`${channel} to ${number}`);
    expect(await isVerified(ada)).toBe(false);

    const reply = await finish(ada, json.sid, await codeSentTo(ada, number));
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: '' });
    expect(await isVerified(ada)).toBe(true);
    expect((await finish(ada, json.sid, await codeSentTo(ada, number))).status).toBe(404);
  });

  test('bears five attempts', async () => {
    const ada = await person();
    const number = freshNumber();
    const { sid } = (await start(ada, number)).json;
    const code = await codeSentTo(ada, number);
    for (let n = 0; n < 5; n += 1)
      expect(await finish(ada, sid, wrong(code))).toMatchObject({
        status: 400,
        json: { error: 'code is wrong.', detail: { code: 'is wrong' } },
      });
    expect(await finish(ada, sid, code)).toMatchObject({ status: 400, json: { detail: { code: expect.stringContaining('too often') } } });
    expect(await isVerified(ada)).toBe(false);
  });

  test('bears no more attempts when they come at the same moment', async () => {
    const ada = await person();
    const number = freshNumber();
    const { sid } = (await start(ada, number)).json;
    const code = await codeSentTo(ada, number);
    const answers = await Promise.all(Array.from({ length: 30 }, () => finish(ada, sid, wrong(code))));
    expect(answers.filter(({ json }) => json.detail.code === 'is wrong')).toHaveLength(5);
  });

  test('is not verified by a code that has expired, was replaced, or was sent to another', async () => {
    const [ada, bob] = [await person(), await person()];
    const [first, second] = [freshNumber(), freshNumber()];
    const old = (await start(ada, first)).json.sid;
    const current = (await start(ada, second)).json.sid;
    expect((await finish(ada, old, await codeSentTo(ada, first))).status).toBe(404);
    expect((await finish(bob, current, await codeSentTo(ada, second), ada)).status).toBe(404);
    expect((await finish(bob, current, await codeSentTo(ada, second))).status).toBe(404);
    await db.updateTable('phone_verifications').set({ expires_at: '2020-01-01' }).where('user_id', '=', ada.user.id).execute();
    expect((await finish(ada, current, await codeSentTo(ada, second))).status).toBe(404);
    expect(await isVerified(ada)).toBe(false);
  });

  test('is one person’s: refused when asked for, and when two verify it at once', async () => {
    const [ada, bob, eve] = [await person(), await person(), await person()];
    const number = freshNumber();
    const adas = (await start(ada, number)).json.sid;
    const adasCode = await codeSentTo(ada, number);
    const bobs = (await start(bob, number)).json.sid;
    const bobsCode =
      (await phoneMessages())
        .filter((text) => text.includes(number))
        .map((text) => /\b\d{6}\b/.exec(text)?.[0] ?? '')
        .find((code) => code !== adasCode) ?? adasCode;
    const answers = await Promise.all([finish(ada, adas, adasCode), finish(bob, bobs, bobsCode)]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
    expect((await start(eve, number)).status).toBe(409);
    const owner = (await isVerified(ada)) ? ada : bob;
    expect((await start(owner, number)).status).toBe(200);
  });

  test.for(['', '0612345678', '+0123456789', '+31', '+3161234567890123', '+316 1234 5678', '+31612345678\nx', 'tel:+31612345678', 5])(
    'is refused when it is %j',
    async (number) => {
      const ada = await person();
      expect(await start(ada, number as string)).toMatchObject({ status: 400, json: { detail: { phone_number: expect.any(String) } } });
    },
  );

  test('is sent a few messages and no more, whoever asks', async () => {
    const number = freshNumber();
    const answers: number[] = [];
    for (let n = 0; n < 6; n += 1) answers.push((await start(await person(), number)).status);
    expect(answers).toEqual([200, 200, 200, 200, 200, 429]);
    const ada = await person();
    const ofOne: number[] = [];
    for (let n = 0; n < 6; n += 1) ofOne.push((await start(ada, freshNumber())).status);
    expect(ofOne).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('and its code are in no log, and the code is not to be had from the database', async () => {
    const ada = await person();
    const number = freshNumber();
    await start(ada, number);
    const code = await codeSentTo(ada, number);
    const rows = await db.selectFrom('phone_verifications').selectAll().where('user_id', '=', ada.user.id).execute();
    expect(rows.map(({ code_fingerprint }) => code_fingerprint.length)).toEqual([43]);
    expect(home.logLines.join('')).not.toContain(` ${code}.`);
  });
});

test('clients that ask what has to be verified are told: nothing', async () => {
  const ada = await person();
  expect((await ada.send('POST', '/me/phone')).json).toEqual({ verify_phone: false });
  expect((await ada.send('POST', '/me/verification?force_refresh=1')).json).toEqual({ state: false, type: '' });
});

describe('connections', () => {
  const connectionsOf = ({ user }: Person) => `/users/${user.id}/connections`;

  test('are listed as they are, and can be removed', async () => {
    const ada = await person();
    expect((await ada.send('GET', connectionsOf(ada))).json).toEqual([]);
    const { provider = '' } = (await identitySamples['connection']?.(ada)) ?? {};
    const [listed] = (await ada.send('GET', connectionsOf(ada))).json;
    expect(listed).toMatchObject({
      provider,
      provider_type: 'oidc',
      is_mandatory: false,
      subject: ada.user.id,
      email_address: ada.user.email,
    });
    const { _links, ...shown } = (await ada.send('GET', `${connectionsOf(ada)}/${provider}`)).json;
    expect(listed).toMatchObject(shown);
    expect((await ada.send('DELETE', _links.delete.href)).status).toBe(204);
    expect((await ada.send('DELETE', _links.delete.href)).status).toBe(404);
    expect((await ada.send('GET', connectionsOf(ada))).json).toEqual([]);
  });

  test('that are mandatory stay', async () => {
    const ada = await person();
    const { provider = '' } = (await identitySamples['connection']?.(ada)) ?? {};
    await db.updateTable('connections').set({ is_mandatory: true }).where('user_id', '=', ada.user.id).execute();
    const path = `${connectionsOf(ada)}/${provider}`;
    expect((await ada.send('GET', path)).json._links.delete).toBeUndefined();
    expect((await ada.send('DELETE', path)).status).toBe(409);
  });
});

test('nothing here was a bug', () => {
  expect(home.logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});
