import { decodeJwt } from 'jose';
import sharp from 'sharp';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  answerOf,
  authorizeUrl,
  freshVerifier,
  openBrowser,
  openProgram,
  password,
  password_hash,
  type Browser,
} from '../../testing/browser.ts';
import { enrol, passcodeOf } from '../../testing/identity.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';
import { freshPublicKey } from '../../testing/samples.ts';

const home = await openTestPlatform();
const { person, platform, mail, send } = home;
const { db } = platform;
const program = openProgram(home);

beforeEach(() => db.deleteFrom('attempts').execute());

const totpOf = ({ user }: Person) => `/users/${user.id}/totp`;
const codesOf = ({ user }: Person) => `/users/${user.id}/codes`;
const withToken = (accessToken: string, url: string) => send({ url, headers: { authorization: `Bearer ${accessToken}` } });

/** As far as the step after the password. */
async function passwordTyped(someone: Person, asked: Record<string, string> = {}, browser = openBrowser(home)) {
  const verifier = freshVerifier();
  await browser.visit(authorizeUrl(verifier, asked));
  return { browser, verifier, page: await browser.signIn(someone.user.email, password) };
}

/** The first of them that no app shows by chance while the test lasts. */
const unlike = (secret: string, ...candidates: string[]) => {
  const shown = new Set([-2, -1, 0, 1, 2].map((steps) => passcodeOf(secret, steps)));
  return candidates.find((candidate) => !shown.has(candidate)) ?? '';
};
const typePasscode = (browser: Browser, passcode: string) => browser.submit({ answer: 'sign-in', passcode });

async function allowed(browser: Browser, verifier: string) {
  const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
  return (await program.codeExchange(code, verifier)).json as { access_token: string; refresh_token: string };
}

describe('turning two-factor authentication on', () => {
  test('begins with a proposal that is kept nowhere', async () => {
    const ada = await person({ strong: true });
    const { status, json } = await ada.send('GET', totpOf(ada));
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        issuer: platform.config.url,
        account_name: ada.user.email,
        secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
        qr_code: expect.stringMatching(/^data:image\/png;base64,/),
      },
    });
    expect(await sharp(Buffer.from(json.qr_code.split(',')[1], 'base64')).metadata()).toMatchObject({ format: 'png' });
    expect((await ada.send('GET', totpOf(ada))).json.secret).not.toBe(json.secret);
    expect(await db.selectFrom('passcodes').selectAll().where('user_id', '=', ada.user.id).execute()).toEqual([]);
  });

  test('needs a passcode of now, gives ten recovery codes, and is told by mail', async () => {
    const ada = await person({ strong: true });
    const { secret } = (await ada.send('GET', totpOf(ada))).json;
    for (const steps of [3, -3]) {
      const passcode = unlike(secret, passcodeOf(secret, steps), passcodeOf(secret, 2 * steps));
      expect(await ada.send('POST', totpOf(ada), { secret, passcode })).toMatchObject({
        status: 400,
        json: { detail: { passcode: expect.any(String) } },
      });
    }
    expect((await ada.send('GET', '/users/me')).json.mfa_enabled).toBe(false);

    const { status, json } = await ada.send('POST', totpOf(ada), { secret, passcode: passcodeOf(secret) });
    expect(status).toBe(200);
    expect(new Set(json.recovery_codes).size).toBe(10);
    for (const code of json.recovery_codes) expect(code).toMatch(/^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    expect((await ada.send('GET', '/users/me')).json.mfa_enabled).toBe(true);
    expect((await ada.send('GET', totpOf(ada))).status).toBe(409);
    expect((await ada.send('POST', totpOf(ada), { secret, passcode: passcodeOf(secret) })).status).toBe(409);
    await expect.poll(async () => (await mail(ada.user.email))[0]).toMatchObject({ subject: 'Two-factor authentication is on' });
  });

  test('is done once by two at the same moment', async () => {
    const ada = await person({ strong: true });
    const { secret } = (await ada.send('GET', totpOf(ada))).json;
    const answers = await Promise.all([1, 2, 3].map(() => ada.send('POST', totpOf(ada), { secret, passcode: passcodeOf(secret) })));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409]);
    expect(await db.selectFrom('recovery_codes').selectAll().where('user_id', '=', ada.user.id).execute()).toHaveLength(10);
  });

  test.for([
    { secret: 'ABC', passcode: '123456' },
    { secret: '1'.repeat(32), passcode: '123456' },
    { secret: 'A'.repeat(200), passcode: '123456' },
    { secret: 'A'.repeat(32), passcode: '12345' },
    { secret: 'A'.repeat(32), passcode: '１２３４５６' },
    { secret: 'A'.repeat(32) },
    {},
  ])('refuses %j', async (body) => {
    const ada = await person({ strong: true });
    expect((await ada.send('POST', totpOf(ada), body)).status).toBe(400);
  });

  test('is for oneself: operators see that it is on, and can neither read nor change it', async () => {
    const [ada, operator] = [await person(), await person({ is_operator: true })];
    for (const method of ['GET', 'POST', 'DELETE'])
      expect([403, 404]).toContain(
        (await operator.send(method, totpOf(ada), method === 'POST' ? { secret: 'A'.repeat(32), passcode: '123456' } : undefined)).status,
      );
  });

  test('leaves nothing in the database that could be read or used', async () => {
    const ada = await person({ strong: true });
    const { secret, recoveryCodes } = await enrol(ada);
    const stored = JSON.stringify([
      await db.selectFrom('passcodes').selectAll().execute(),
      await db.selectFrom('recovery_codes').selectAll().execute(),
    ]);
    for (const plain of [secret, ...recoveryCodes, ...recoveryCodes.map((code) => code.replaceAll('-', ''))])
      expect(stored).not.toContain(plain);
    expect(home.logLines.join('')).not.toContain(secret);
  });
});

describe('turning it off', () => {
  test('takes the device and the recovery codes away, and is told by mail; there is nothing to turn off twice', async () => {
    const ada = await person({ strong: true });
    expect((await ada.send('DELETE', totpOf(ada))).status).toBe(404);
    await enrol(ada);
    expect((await ada.send('DELETE', totpOf(ada))).status).toBe(204);
    expect((await ada.send('GET', '/users/me')).json.mfa_enabled).toBe(false);
    expect((await ada.send('DELETE', totpOf(ada))).status).toBe(404);
    expect(await db.selectFrom('recovery_codes').selectAll().where('user_id', '=', ada.user.id).execute()).toEqual([]);
    await expect.poll(async () => (await mail(ada.user.email)).map(({ subject }) => subject)).toContain('Two-factor authentication is off');
    await enrol(ada);
  });
});

describe('signing in with two factors', () => {
  test('asks for the passcode after the password, and the access token says so', async () => {
    const ada = await person({ password_hash });
    const { secret } = await enrol(ada);
    const { browser, verifier, page } = await passwordTyped(ada);
    for (const detail of ['<label for="passcode"', 'autocomplete="one-time-code"', 'lang="en"']) expect(page.text).toContain(detail);
    expect((await typePasscode(browser, unlike(secret, '000000', '111111'))).status).toBe(401);
    const consent = await typePasscode(browser, ` ${passcodeOf(secret).replace(/^.../, '$& ')} `);
    expect(consent.text).toContain('wants to act for you');
    const { access_token, refresh_token } = await allowed(browser, verifier);
    expect(decodeJwt(access_token)).toMatchObject({ amr: ['pwd', 'mfa'], auth_time: expect.any(Number) });
    expect(decodeJwt((await program.refresh(refresh_token)).json.access_token)).toMatchObject({ amr: ['pwd', 'mfa'] });
  });

  test('cannot be skipped: the session of somebody who typed only the password leads nowhere', async () => {
    const ada = await person({ password_hash });
    await enrol(ada);
    const { browser } = await passwordTyped(ada);
    expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('name="passcode"');
    expect((await browser.submit({ answer: 'allow' })).location).toContain('error=access_denied');
    const silently = await browser.visit(authorizeUrl(freshVerifier(), { prompt: 'none' }));
    expect(answerOf(silently)).toMatchObject({ error: 'interaction_required' });
  });

  test('takes each passcode once, also that of turning it on', async () => {
    const ada = await person({ password_hash });
    const { secret } = (await ada.send('GET', totpOf(ada))).json;
    const passcode = passcodeOf(secret);
    await ada.send('POST', totpOf(ada), { secret, passcode });
    const { browser } = await passwordTyped(ada);
    expect((await typePasscode(browser, passcode)).status).toBe(401);
    expect((await typePasscode(browser, passcodeOf(secret, 1))).text).toContain('wants to act for you');
  });

  test('takes a passcode once, also from two at the same moment', async () => {
    const ada = await person({ password_hash });
    const { secret } = await enrol(ada);
    const [first, second] = [await passwordTyped(ada), await passwordTyped(ada)];
    const passcode = passcodeOf(secret);
    const answers = await Promise.all([typePasscode(first.browser, passcode), typePasscode(second.browser, passcode)]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401]);
  });

  test('takes each recovery code once, and new ones replace the old', async () => {
    const ada = await person({ password_hash, strong: true });
    const { recoveryCodes } = await enrol(ada);
    const [first = '', second = ''] = recoveryCodes;
    const { browser } = await passwordTyped(ada);
    expect((await typePasscode(browser, first.toUpperCase())).text).toContain('wants to act for you');
    const again = await passwordTyped(ada);
    expect((await typePasscode(again.browser, first)).status).toBe(401);

    const renewed = await ada.send('POST', codesOf(ada));
    expect({ status: renewed.status, number: renewed.json.recovery_codes.length }).toEqual({ status: 201, number: 10 });
    expect((await typePasscode(again.browser, second)).status).toBe(401);
    expect((await typePasscode(again.browser, renewed.json.recovery_codes[0])).text).toContain('wants to act for you');
    expect((await (await person()).send('POST', codesOf(ada))).status).toBe(404);
    const without = await person();
    expect((await without.send('POST', codesOf(without))).status).toBe(404);
  });

  test('does not bear guessing', async () => {
    const ada = await person({ password_hash });
    const { secret } = await enrol(ada);
    const { browser } = await passwordTyped(ada);
    const wrong = unlike(secret, '123456', '654321');
    const answers: number[] = [];
    for (let n = 0; n < 7; n += 1) answers.push((await typePasscode(browser, wrong)).status);
    expect(answers).toEqual([401, 401, 401, 401, 401, 401, 429]);
    const elsewhere = await passwordTyped(ada);
    expect((await typePasscode(elsewhere.browser, passcodeOf(secret))).status).toBe(429);
  });

  test('shuts the owner out in no browser they have used before, nor with a recovery code, while somebody with the password guesses', async () => {
    const ada = await person({ password_hash });
    const { secret, recoveryCodes } = await enrol(ada);
    const { browser: own } = await passwordTyped(ada);
    expect(own.cookies.has('offshoot_browser')).toBe(false);
    await typePasscode(own, passcodeOf(secret));
    expect(own.cookies.has('offshoot_browser')).toBe(true);

    const { browser: thief } = await passwordTyped(ada);
    const wrong = unlike(secret, '123456', '654321');
    for (let n = 0; n < 7; n += 1) await typePasscode(thief, wrong);
    expect((await typePasscode(thief, wrong)).status).toBe(429);
    expect((await typePasscode(thief, 'abcd-efgh-abcd-efgh')).status).toBe(429);

    await passwordTyped(ada, { max_age: '0' }, own);
    expect((await typePasscode(own, passcodeOf(secret, 1))).text).toContain('wants to act for you');
    expect((await typePasscode(thief, passcodeOf(secret, 1))).status).toBe(429);
    const { browser: elsewhere } = await passwordTyped(ada);
    expect((await typePasscode(elsewhere, recoveryCodes[0] ?? '')).text).toContain('wants to act for you');
  });

  test.for(['', '\0', 'a'.repeat(5000), "' or 1=1 --", '12345', '１２３４５６'])('refuses %j', async (typed) => {
    const ada = await person({ password_hash });
    await enrol(ada);
    const { browser } = await passwordTyped(ada);
    expect((await typePasscode(browser, typed)).status).toBe(401);
  });

  test('is asked of a browser that signed in before it was turned on, without the password again', async () => {
    const ada = await person({ password_hash });
    const { browser } = await passwordTyped(ada);
    const { secret } = await enrol(ada);
    expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('name="passcode"');
    expect((await typePasscode(browser, passcodeOf(secret))).text).toContain('wants to act for you');
    expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('wants to act for you');
  });

  test('begins anew, with both factors, when the client asks for a recent sign-in', async () => {
    const ada = await person({ password_hash });
    const { secret, recoveryCodes } = await enrol(ada);
    const { browser } = await passwordTyped(ada);
    await typePasscode(browser, passcodeOf(secret));
    const { page, verifier } = await passwordTyped(ada, { amr: 'mfa', max_age: '0' }, browser);
    expect(page.text).toContain('name="passcode"');
    await typePasscode(browser, recoveryCodes[0] ?? '');
    expect(decodeJwt((await allowed(browser, verifier)).access_token)).toMatchObject({ amr: ['pwd', 'mfa'] });
  });

  test('is not needed twice by a client that asks for it', async () => {
    const ada = await person({ password_hash });
    const { secret } = await enrol(ada);
    const { browser } = await passwordTyped(ada);
    await typePasscode(browser, passcodeOf(secret));
    expect((await browser.visit(authorizeUrl(freshVerifier(), { amr: 'mfa' }))).text).toContain('wants to act for you');
  });

  test('cannot be asked of somebody without a device: the client is told', async () => {
    const ada = await person({ password_hash });
    const { browser, page } = await passwordTyped(ada, { amr: 'mfa' });
    expect(page.text).toContain('no device for passcodes yet');
    for (const answer of ['allow', 'sign-in']) {
      const { browser: other } = await passwordTyped(ada, { amr: 'mfa' });
      expect(answerOf(await other.submit({ answer, passcode: '123456' }))).toMatchObject({ error: 'unmet_authentication_requirements' });
    }
    expect(answerOf(await browser.submit({ answer: 'cancel' }))).toMatchObject({
      error: 'unmet_authentication_requirements',
      state: 'the state',
    });
  });

  test('can be left for another account', async () => {
    const [ada, bob] = [await person({ password_hash }), await person({ password_hash })];
    await enrol(ada);
    const { browser } = await passwordTyped(ada);
    expect((await browser.submit({ answer: 'switch' })).text).toContain('name="password"');
    expect((await browser.signIn(bob.user.email)).text).toContain(bob.user.email);
  });
});

describe('an organization that enforces it', () => {
  async function enforcing(member: Person) {
    const { json } = await member.send('POST', '/organizations', { label: 'Strict' });
    await db.updateTable('organizations').set({ enforce_mfa: true }).where('id', '=', json.id).execute();
    return `/organizations/${json.id}`;
  }

  test('is closed to a token without it, in words that clients act upon, and open after signing in with it', async () => {
    const ada = await person({ password_hash });
    const url = await enforcing(ada);
    const { browser, verifier } = await passwordTyped(ada);
    const weak = await allowed(browser, verifier);
    const refused = await withToken(weak.access_token, url);
    expect(refused).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringMatching(/^Bearer .*error="insufficient_user_authentication".*amr="mfa"/) },
      json: { error: 'insufficient_user_authentication', amr: ['mfa'] },
    });
    expect((await withToken(weak.access_token, '/users/me')).status).toBe(200);

    const { secret } = await enrol(ada);
    expect((await withToken(weak.access_token, url)).status).toBe(401);
    const again = freshVerifier();
    expect((await browser.visit(authorizeUrl(again, { amr: 'mfa' }))).text).toContain('name="passcode"');
    await typePasscode(browser, passcodeOf(secret));
    const strong = await allowed(browser, again);
    expect((await withToken(strong.access_token, url)).status).toBe(200);
  });

  test('is open to an API token that was made with it, and closed to any other', async () => {
    const ada = await person({ password_hash });
    const url = await enforcing(ada);
    const { secret } = await enrol(ada);
    expect((await ada.send('GET', url)).status).toBe(401);
    const tokens = `/users/${ada.user.id}/api-tokens`;
    const accessOf = async (made: { token: string }) =>
      (await program.token({ grant_type: 'api_token', api_token: made.token })).json.access_token as string;

    const weak = await ada.send('POST', tokens, { name: 'weak' });
    expect(weak.json.mfa_on_creation).toBe(false);
    expect((await withToken(await accessOf(weak.json), url)).status).toBe(401);

    const { browser, verifier } = await passwordTyped(ada);
    await typePasscode(browser, passcodeOf(secret));
    const { access_token } = await allowed(browser, verifier);
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
    const strong = await send({ method: 'POST', url: tokens, headers, payload: { name: 'strong' } });
    expect(strong.json.mfa_on_creation).toBe(true);
    const strongAccess = await accessOf(strong.json);
    expect(decodeJwt(strongAccess)).toMatchObject({ amr: ['mfa'] });
    expect((await withToken(strongAccess, url)).status).toBe(200);
  });
});

test('nothing but a sign-in with the second factor can turn it off or change how its owner signs in: no API token, however made', async () => {
  const ada = await person({ password_hash });
  await enrol(ada);
  await db.updateTable('api_tokens').set({ mfa_on_creation: true }).where('user_id', '=', ada.user.id).execute();
  const attempts = [
    ['DELETE', totpOf(ada)],
    ['POST', codesOf(ada)],
    ['POST', `/users/${ada.user.id}/emailaddress`, { email_address: 'other@example.org' }],
    ['PATCH', `/profiles/${ada.user.id}`, { current_password: password, password: 'another password' }],
    ['POST', '/ssh_keys', { value: freshPublicKey() }],
  ] as const;
  const { access_token } = (await program.token({ grant_type: 'api_token', api_token: ada.apiToken })).json;
  expect(decodeJwt(access_token)).toMatchObject({ amr: ['mfa'] });
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  for (const [method, url, payload] of attempts)
    expect(await send({ method, url, headers, ...(payload && { payload }) })).toMatchObject({
      status: 401,
      json: { error: 'insufficient_user_authentication', amr: ['mfa'] },
    });
});

test('an organization that enforces it is closed to those who turned it off since, and offers them nothing', async () => {
  const ada = await person({ strong: true });
  const { json } = await ada.send('POST', '/organizations', { label: 'Strict' });
  await db.updateTable('organizations').set({ enforce_mfa: true }).where('id', '=', json.id).execute();
  await enrol(ada);
  expect((await ada.send('GET', `/organizations/${json.id}`)).status).toBe(200);
  const offered = async () => Object.keys((await ada.send('GET', '/organizations')).json.items[0]._links);
  expect(await offered()).toContain('members');
  expect((await ada.send('DELETE', totpOf(ada))).status).toBe(204);
  expect((await ada.send('GET', `/organizations/${json.id}`)).status).toBe(401);
  expect(await offered()).toEqual(['self']);
});

test('nothing here was a bug', () => {
  expect(home.logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});
