import { decodeJwt } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { serveApi } from '../../kernel/http.ts';
import { rooms } from '../../rooms.ts';
import {
  answerOf,
  authorizeUrl,
  freshVerifier,
  openBrowser as openBrowserOf,
  openProgram,
  password,
  password_hash,
  returnTo,
  type Browser,
} from '../../testing/browser.ts';
import { openTestPlatform, type Reply } from '../../testing/platform.ts';
import { hashPassword, signOutEverywhere } from './public.ts';

const home = await openTestPlatform();
const { platform, http, person, send, logLines } = home;
const { db } = platform;
const ada = await person({ password_hash, first_name: 'Ada', last_name: '<b>Lovelace</b>' });
const bob = await person({ password_hash });

const openBrowser = () => openBrowserOf(home);
const { token, codeExchange, refresh, me } = openProgram(home);

const escaped = (text: string) => text.replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

async function signedIn(browser = openBrowser(), login = ada.user.email) {
  const verifier = freshVerifier();
  const first = await browser.visit(authorizeUrl(verifier));
  if (first.text.includes('name="password"')) await browser.signIn(login);
  const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
  return (await codeExchange(code, verifier)).json as { access_token: string; refresh_token: string };
}

const invalidGrant = (what: string) => ({ status: 400, json: { error: 'invalid_grant', error_description: `Invalid ${what}` } });
const statusAndJson = ({ status, json }: Reply) => ({ status, json });

beforeEach(() => db.deleteFrom('attempts').execute());

describe('signing in with a browser', () => {
  test('leads from the sign-in page over the consent page to tokens that work', async () => {
    const browser = openBrowser();
    const verifier = freshVerifier();
    const signInPage = await browser.visit(authorizeUrl(verifier));
    expect(signInPage.status).toBe(200);
    expect(signInPage.text).toContain('The Upsun CLI');
    for (const detail of ['lang="en"', '<label for="password"', 'autocomplete="current-password"', 'autocomplete="username"']) {
      expect(signInPage.text).toContain(detail);
    }
    expect(signInPage.headers['content-security-policy']).toContain(`form-action 'self' ${returnTo};`);
    expect(signInPage.text).not.toContain('<script');

    const consentPage = await browser.signIn(ada.user.email.toUpperCase());
    expect(consentPage.text).toContain('The Upsun CLI wants to act for you');
    expect(consentPage.text).toContain('Ada &lt;b&gt;Lovelace');

    const answer = answerOf(await browser.submit({ answer: 'allow' }));
    expect(answer).toEqual({ code: expect.any(String), state: 'the state', iss: platform.config.url });

    const { status, json, headers } = await codeExchange(answer['code'] ?? '', verifier);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { expires_in: 900, token_type: 'bearer', refresh_token: expect.any(String) },
    });
    expect(headers['cache-control']).toBe('no-store');
    expect(decodeJwt(json.access_token)).toMatchObject({
      sub: ada.user.id,
      amr: ['pwd'],
      client_id: 'upsun-cli',
      auth_time: expect.any(Number),
    });
    expect(await me(json.access_token)).toBe(200);
    expect(logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
  });

  test('works with a password that we hashed, at its real cost', async () => {
    const eve = await person({ password_hash: await hashPassword(password) });
    const browser = openBrowser();
    await browser.visit(authorizeUrl(freshVerifier()));
    expect((await browser.signIn(eve.user.email, 'wrong')).status).toBe(401);
    expect((await browser.signIn(eve.user.email, password.normalize('NFD'))).text).toContain('wants to act for you');
  });

  test('works with a username, and a browser that is signed in is only asked for consent', async () => {
    const browser = openBrowser();
    await browser.visit(authorizeUrl(freshVerifier()));
    expect((await browser.signIn(ada.user.username)).text).toContain('wants to act for you');
    const again = await browser.visit(authorizeUrl(freshVerifier(), { prompt: 'consent select_account' }));
    expect(again.text).toContain('wants to act for you');
    const recent = await browser.visit(authorizeUrl(freshVerifier(), { max_age: '0' }));
    expect(recent.text).toContain('name="password"');
    await browser.signIn(ada.user.email);
    expect(answerOf(await browser.submit({ answer: 'allow' }))).toHaveProperty('code');
  });

  test('keeps what was typed, escaped, and says the same for a wrong password, an unknown and a deactivated person', async () => {
    const gone = await person({ password_hash });
    await db.updateTable('users').set({ deactivated: true }).where('id', '=', gone.user.id).execute();
    const withoutPassword = await person();
    const alerts = new Set<string>();
    for (const [login, secret] of [
      [ada.user.email, 'wrong'],
      ['"><script>alert(1)</script>@example.org', password],
      [gone.user.email, password],
      [withoutPassword.user.email, ''],
      ['nul\0', 'nul\0'],
    ] as const) {
      const browser = openBrowser();
      await browser.visit(authorizeUrl(freshVerifier()));
      const { status, text } = await browser.signIn(login, secret);
      expect(status).toBe(401);
      expect(text).not.toContain('<script');
      expect(text).toContain('aria-describedby="error"');
      expect(text).toContain(`value="${escaped(login)}"`);
      alerts.add(/role="alert">([^<]+)/.exec(text)?.[1] ?? '');
    }
    expect(alerts.size).toBe(1);
  });

  test('is slowed for a guesser, however the account is spelt, without shutting its owner out', async () => {
    const guesser = openBrowser();
    await guesser.visit(authorizeUrl(freshVerifier()));
    for (const login of [bob.user.email, bob.user.username]) {
      for (let n = 0; n < 5; n += 1) expect((await guesser.signIn(login, 'wrong')).status).toBe(401);
    }
    const refused = await guesser.signIn(bob.user.email);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.text).toContain('Too many attempts');

    const owner = openBrowser();
    await owner.visit(authorizeUrl(freshVerifier()));
    expect((await owner.signIn(bob.user.email)).status).toBe(200);
  });

  test('is slowed for many guessers together: each has few attempts, and the owner from elsewhere still gets in', async () => {
    const first = openBrowser();
    await first.visit(authorizeUrl(freshVerifier()));
    await first.signIn(bob.user.email, 'wrong');
    await db.updateTable('attempts').set({ count: 100 }).where('key', '~', '^sign-in to account [^ ]+$').execute();
    const next = openBrowser();
    await next.visit(authorizeUrl(freshVerifier()));
    for (const status of [401, 401, 401, 429]) expect((await next.signIn(bob.user.email, 'wrong')).status).toBe(status);
    const owner = openBrowser();
    await owner.visit(authorizeUrl(freshVerifier()));
    expect((await owner.signIn(bob.user.email)).status).toBe(200);
  });

  describe('from a browser that its owner has used before', () => {
    const atTheLimit = (limit: string) => db.updateTable('attempts').set({ count: 1000 }).where('key', '~', `^${limit} [^ ]+$`).execute();
    const next = async (browser: Browser) => {
      await browser.visit('/sign-out');
      await browser.submit({});
      await browser.visit(authorizeUrl(freshVerifier()));
    };

    test('works while a neighbour behind the same address guesses, and while others guess at the account', async () => {
      const eve = await person({ password_hash });
      const own = openBrowser();
      await signedIn(own, eve.user.email);
      const neighbour = openBrowserOf(home, own.remoteAddress);
      await neighbour.visit(authorizeUrl(freshVerifier()));
      for (let n = 0; n < 11; n += 1) await neighbour.signIn(eve.user.email, 'wrong');
      for (const limit of ['sign-in from address', 'sign-in to account', 'authorization from visitor']) await atTheLimit(limit);
      expect((await neighbour.signIn(bob.user.email)).status).toBe(429);
      expect((await neighbour.visit(authorizeUrl(freshVerifier()))).status).toBe(429);

      await next(own);
      expect((await own.signIn(eve.user.email, 'mistyped')).status).toBe(401);
      expect((await own.signIn(eve.user.email)).text).toContain('wants to act for you');
    });

    test('is slowed there, too: having the cookie lets nobody guess on', async () => {
      const eve = await person({ password_hash });
      const thief = openBrowser();
      await signedIn(thief, eve.user.email);
      await next(thief);
      for (let n = 0; n < 10; n += 1) expect((await thief.signIn(eve.user.email, 'wrong')).status).toBe(401);
      expect((await thief.signIn(eve.user.email)).status).toBe(429);
      const owner = openBrowser();
      await owner.visit(authorizeUrl(freshVerifier()));
      expect((await owner.signIn(eve.user.email)).status).toBe(200);
    });

    test('counts for that person only, and only with a cookie of our making', async () => {
      const eve = await person({ password_hash });
      const browser = openBrowser();
      await signedIn(browser, eve.user.email);
      const [userId = '', id = '', signature = ''] = (browser.cookies.get('offshoot_browser')?.value ?? '').split('.');
      expect(userId).toBe(eve.user.id);
      for (const value of [
        `${bob.user.id}.${id}.${signature}`,
        `${userId}.${id.slice(1)}A.${signature}`,
        `${userId}.${id}.`,
        '..',
        userId,
      ]) {
        await next(browser);
        browser.cookies.set('offshoot_browser', { value, path: '/' });
        await browser.signIn(bob.user.email, 'wrong');
        await atTheLimit('sign-in from address');
        expect({ value, status: (await browser.signIn(bob.user.email)).status }).toEqual({ value, status: 429 });
        await db.deleteFrom('attempts').execute();
      }
    });
  });

  test('returns access_denied when the person does not allow it, or cancels', async () => {
    const browser = openBrowser();
    await browser.visit(authorizeUrl(freshVerifier()));
    await browser.signIn(ada.user.email);
    expect(answerOf(await browser.submit({ answer: 'deny' }))).toMatchObject({ error: 'access_denied', state: 'the state' });
    const another = openBrowser();
    await another.visit(authorizeUrl(freshVerifier()));
    expect(answerOf(await another.submit({ answer: 'cancel' }))).toMatchObject({ error: 'access_denied' });
  });

  test('can go on as another person, whose tokens they then are', async () => {
    const browser = openBrowser();
    await signedIn(browser);
    const verifier = freshVerifier();
    await browser.visit(authorizeUrl(verifier));
    expect((await browser.submit({ answer: 'switch' })).text).toContain('name="password"');
    expect((await browser.signIn(bob.user.email)).text).toContain(bob.user.email);
    const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    expect(decodeJwt((await codeExchange(code, verifier)).json.access_token).sub).toBe(bob.user.id);
    await browser.visit(authorizeUrl(freshVerifier(), { max_age: '0' }));
    expect((await browser.signIn(ada.user.email)).text).toContain(ada.user.email);
    expect(answerOf(await browser.submit({ answer: 'allow' }))).toHaveProperty('code');
  });

  test('takes no form from another site, another browser or another step', async () => {
    const browser = openBrowser();
    await browser.visit(authorizeUrl(freshVerifier()));
    const form = { login: ada.user.email, password };
    expect((await browser.submit(form, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    const address = browser.address;
    const stranger = await send({ method: 'POST', url: address, payload: new URLSearchParams(form).toString() });
    expect(stranger.status).toBe(400);
    expect(stranger.text).toContain('expired');
    expect((await browser.submit({ answer: 'allow' })).status).toBe(401);
  });

  test('never leads to an address that the client did not register, nor without PKCE', async () => {
    const wrong = [
      { redirect_uri: 'https://evil.example' },
      { redirect_uri: 'http://127.0.0.1.evil.example:5000' },
      { redirect_uri: 'http://127.0.0.1:5000/elsewhere' },
      { client_id: 'unknown' },
    ];
    for (const parameters of wrong) {
      const { status, location, text } = await openBrowser().visit(authorizeUrl(freshVerifier(), parameters));
      expect({ status, location }).toEqual({ status: 400, location: undefined });
      expect(text).toContain('role="alert"');
    }
    const plain = await openBrowser().visit(authorizeUrl(freshVerifier(), { code_challenge_method: 'plain' }));
    expect(answerOf(plain)).toMatchObject({ error: 'invalid_request' });
    const none = await openBrowser().visit(authorizeUrl(freshVerifier(), { code_challenge: '' }));
    expect(answerOf(none)).toMatchObject({ error: 'invalid_request' });
  });

  test('sets cookies that scripts and other sites do not get, and that only travel encrypted where we are', async () => {
    const encrypted = await serveApi(rooms, { ...platform, config: { ...platform.config, url: 'https://offshoot.example' } });
    for (const [at, attributes] of [
      [http, /samesite=lax; httponly$/],
      [encrypted, /samesite=lax; secure; httponly$/],
    ] as const) {
      const { headers } = await at.inject({ url: authorizeUrl(freshVerifier()) });
      const lines = [headers['set-cookie'] ?? []].flat();
      expect(lines).toHaveLength(4);
      for (const line of lines) expect(line).toMatch(attributes);
      expect(headers.location).toMatch(/^\/sign-in\//);
    }
  });

  test('ends when the person signs out of the browser', async () => {
    const browser = openBrowser();
    const { access_token } = await signedIn(browser);
    await browser.visit('/sign-out');
    expect((await browser.submit({})).text).toContain('Signed out');
    expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('name="password"');
    expect(await me(access_token)).toBe(200);
  });
});

describe('an authorization code', () => {
  const freshCode = async () => {
    const verifier = freshVerifier();
    const browser = openBrowser();
    await browser.visit(authorizeUrl(verifier));
    await browser.signIn(ada.user.email);
    return { verifier, ...answerOf(await browser.submit({ answer: 'allow' })) } as { verifier: string; code: string };
  };

  test('works once, even when two try at the same moment, and trying again ends what it gave', async () => {
    const { code, verifier } = await freshCode();
    const both = await Promise.all([codeExchange(code, verifier), codeExchange(code, verifier)]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 400]));
    const { json } = both.find(({ status }) => status === 200) ?? both[0];
    await codeExchange(code, verifier);
    expect(await me(json.access_token)).toBe(401);
  });

  test('works only with its verifier, its client and its address', async () => {
    const { code, verifier } = await freshCode();
    expect(statusAndJson(await codeExchange(code, freshVerifier()))).toEqual(invalidGrant('authorization code'));
    expect(statusAndJson(await codeExchange(code, verifier, { redirect_uri: 'http://127.0.0.1:1' }))).toEqual(
      invalidGrant('authorization code'),
    );
    const other = { grant_type: 'authorization_code', code, redirect_uri: returnTo, code_verifier: verifier };
    expect(statusAndJson(await token(other, 'platform-cli'))).toEqual(invalidGrant('authorization code'));
    expect((await codeExchange(code, verifier)).status).toBe(200);
  });
});

describe('a refresh token', () => {
  test('is replaced by each use; a retry within seconds is borne, a later reuse ends the sign-in', async () => {
    const first = await signedIn();
    const second = (await refresh(first.refresh_token)).json;
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(await me(second.access_token)).toBe(200);
    expect((await refresh(first.refresh_token)).status).toBe(200);

    await db.updateTable('oauth_records').set({ consumed_at: '2020-01-01T00:00:00Z' }).where('consumed_at', 'is not', null).execute();
    expect(statusAndJson(await refresh(first.refresh_token))).toEqual(invalidGrant('refresh token'));
    expect(statusAndJson(await refresh(second.refresh_token))).toEqual(invalidGrant('refresh token'));
    expect(await me(second.access_token)).toBe(401);
  });

  test('is taken with the client in the body, in JSON, or without a client', async () => {
    let { refresh_token } = await signedIn();
    const json = { 'content-type': 'application/json' };
    for (const more of [{ client_id: 'upsun-cli', client_secret: '' }, { client_id: 'upsun-cli' }, {}]) {
      const payload = JSON.stringify({ grant_type: 'refresh_token', refresh_token, ...more });
      const reply = await send({ method: 'POST', url: '/oauth2/token', headers: json, payload });
      expect(reply).toMatchObject({ status: 200, json: { token_type: 'bearer', expires_in: 900, refresh_token: expect.any(String) } });
      ({ refresh_token } = reply.json);
    }
  });

  test('ends with the person', async () => {
    const eve = await person({ password_hash });
    const { refresh_token } = await signedIn(openBrowser(), eve.user.email);
    await db.updateTable('users').set({ deactivated: true }).where('id', '=', eve.user.id).execute();
    expect(statusAndJson(await refresh(refresh_token))).toEqual(invalidGrant('refresh token'));
  });
});

describe('revoking', () => {
  const revoke = (fields: Record<string, string>, headers = {}) =>
    send({
      method: 'POST',
      url: '/oauth2/revoke',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(fields).toString(),
    });
  const asCli = { client_id: 'upsun-cli', client_secret: '' };

  test('a refresh token or an access token ends that sign-in at once, and no other', async () => {
    const browser = openBrowser();
    const [one, two, three] = [await signedIn(browser), await signedIn(browser), await signedIn(browser)];
    expect((await revoke({ ...asCli, token: one.refresh_token, token_type_hint: 'refresh_token' })).status).toBe(200);
    expect((await revoke({ ...asCli, token: one.access_token, token_type_hint: 'access_token' })).status).toBe(200);
    const basic = { authorization: `Basic ${btoa('upsun-cli:')}` };
    expect((await revoke({ token: two.access_token, token_type_hint: 'access_token' }, basic)).status).toBe(200);
    expect([await me(one.access_token), await me(two.access_token), await me(three.access_token)]).toEqual([401, 401, 200]);
    expect(statusAndJson(await refresh(two.refresh_token))).toEqual(invalidGrant('refresh token'));
    expect((await refresh(three.refresh_token)).status).toBe(200);
  });

  test('what is unknown, another client’s or came from an API token is answered 200 and changes nothing', async () => {
    const kept = await signedIn();
    for (const unknown of ['unknown', 'a.b.c', ada.accessToken]) expect((await revoke({ ...asCli, token: unknown })).status).toBe(200);
    await revoke({ client_id: 'platform-cli', token: kept.refresh_token });
    await revoke({ client_id: 'platform-cli', token: kept.access_token });
    expect([await me(kept.access_token), await me(ada.accessToken)]).toEqual([200, 200]);
    expect((await revoke({ token: 'x' })).status).toBe(401);
    expect((await revoke(asCli)).status).toBe(400);
  });
});

test('signing out everywhere ends every browser and every token of that person only', async () => {
  const eve = await person({ password_hash });
  const browser = openBrowser();
  const hers = await signedIn(browser, eve.user.email);
  const his = await signedIn(openBrowser(), bob.user.email);
  await db.transaction().execute((tx) => signOutEverywhere(tx, eve.user.id));
  expect([await me(hers.access_token), await me(eve.accessToken), await me(his.access_token)]).toEqual([401, 401, 200]);
  expect(statusAndJson(await refresh(hers.refresh_token))).toEqual(invalidGrant('refresh token'));
  expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('name="password"');
});

test('signing out everywhere also ends a sign-in that had only just been given the password', async () => {
  const eve = await person({ password_hash });
  const browser = openBrowser();
  await browser.visit(authorizeUrl(freshVerifier()));
  const { location = '' } = await browser.signInWithoutGoingOn(eve.user.email);
  await db.transaction().execute((tx) => signOutEverywhere(tx, eve.user.id));
  const { status, text } = await browser.visit(location);
  expect({ status, isAskedForConsent: text.includes('wants to act for you') }).toEqual({ status: 400, isAskedForConsent: false });
});

test('a session whose person was deactivated counts as none', async () => {
  const eve = await person({ password_hash });
  const browser = openBrowser();
  await signedIn(browser, eve.user.email);
  await db.updateTable('users').set({ deactivated: true }).where('id', '=', eve.user.id).execute();
  expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('name="password"');
  expect((await browser.signIn(bob.user.email)).text).toContain(bob.user.email);
});

test('the database holds nothing of a sign-in that could be read or used', async () => {
  const browser = openBrowser();
  const { access_token, refresh_token } = await signedIn(browser);
  const rows = await db.selectFrom('oauth_records').selectAll().execute();
  const stored = JSON.stringify(rows);
  expect(new Set(rows.map(({ model }) => model))).toEqual(
    new Set(['Session', 'Grant', 'RefreshToken', 'AuthorizationCode', 'Interaction']),
  );
  for (const secret of [
    refresh_token,
    access_token,
    ...[...browser.cookies.values()].map(({ value }) => value),
    'upsun-cli',
    'offline_access',
  ]) {
    expect(stored).not.toContain(secret);
  }
  expect(rows.every(({ expires_at }) => expires_at !== null)).toBe(true);
});
