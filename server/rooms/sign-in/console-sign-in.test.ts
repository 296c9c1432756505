import { beforeEach, describe, expect, test } from 'vitest';
import {
  answerOf,
  authorizeUrl,
  freshVerifier,
  openBrowser as openBrowserOf,
  openProgram,
  password_hash,
  type Browser,
} from '../../testing/browser.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { keepRefreshToken } from './console-cookies.ts';

const home = await openTestPlatform();
const { platform, send, person, logLines } = home;
const ada = await person({ password_hash });
const { me } = openProgram(home);
const redirect_uri = `${platform.config.url}/console/signed-in`;
const client_id = 'offshoot-console';

beforeEach(() => platform.db.deleteFrom('attempts').execute());

/** What the page sends with its fetch, with the cookies that its browser has for that path. */
async function post(browser: Browser, url: string, fields: Record<string, string>, site = 'same-origin') {
  const cookie = [...browser.cookies].filter(([, { path }]) => url.startsWith(path)).map(([name, { value }]) => `${name}=${value}`);
  const reply = await send({
    method: 'POST',
    url,
    headers: {
      host: 'localhost:8080',
      cookie: cookie.join('; '),
      'sec-fetch-site': site,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: new URLSearchParams({ client_id, ...fields }).toString(),
  });
  const set = [reply.headers['set-cookie'] ?? []].flat().map(String);
  for (const line of set) {
    const [, name = '', value = '', path = '/'] = /^([^=]+)=([^;]*).*?path=([^;]+)/i.exec(line) ?? [];
    if (value === '') browser.cookies.delete(name);
    else browser.cookies.set(name, { value, path });
  }
  return { ...reply, set };
}

async function signedIn() {
  const browser = openBrowserOf(home);
  const verifier = freshVerifier();
  await browser.visit(consoleAsks(verifier));
  const { code = '' } = answerOf(await browser.signIn(ada.user.email));
  const reply = await post(browser, '/oauth2/token', { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier });
  return { browser, reply };
}

/** As the page asks: nothing of consent, and nothing of staying signed in. */
const consoleAsks = (verifier: string, returnTo = redirect_uri) => {
  const url = new URL(authorizeUrl(verifier, { client_id, redirect_uri: returnTo }), platform.config.url);
  for (const name of ['prompt', 'scope']) url.searchParams.delete(name);
  return `${url.pathname}${url.search}`;
};

const refreshed = (browser: Browser, site?: string) => post(browser, '/oauth2/token', { grant_type: 'refresh_token' }, site);

describe('the console', () => {
  test('is signed in to without being asked for consent, and has an access token but no refresh token that a script could read', async () => {
    const { browser, reply } = await signedIn();
    expect(reply).toMatchObject({ status: 200, json: { access_token: expect.any(String), expires_in: 900 } });
    expect(Object.keys(reply.json as object)).not.toContain('refresh_token');
    expect(await me((reply.json as { access_token: string }).access_token)).toBe(200);
    const [kept = '', marker = ''] = reply.set;
    expect(kept).toMatch(/^offshoot_console=[\w-]{20,}; Path=\/oauth2; HttpOnly; Max-Age=\d+; SameSite=Strict/);
    expect(marker).toMatch(/^offshoot_console_signed_in=1; Path=\/console; Max-Age=/);
    expect(browser.cookies.has('offshoot_console')).toBe(true);
    expect(logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
  });

  test('keeps its refresh token over https under a name that no other host can set a cookie for', () => {
    const set: string[] = [];
    const ctx = { append: (_name: string, lines: string[]) => set.push(...lines) };
    keepRefreshToken(ctx as never, { refresh_token: 'token' }, 'https://console.example.org');
    expect(set[0]).toMatch(/^__Host-offshoot_console=token; Path=\/; HttpOnly; Max-Age=\d+; SameSite=Strict; Secure$/);
  });

  test('renews its access token by the cookie, which is replaced each time', async () => {
    const { browser } = await signedIn();
    const before = browser.cookies.get('offshoot_console')?.value;
    const reply = await refreshed(browser);
    expect(reply).toMatchObject({ status: 200, json: { access_token: expect.any(String) } });
    expect(browser.cookies.get('offshoot_console')?.value).not.toBe(before);
    expect(await me((reply.json as { access_token: string }).access_token)).toBe(200);
  });

  test('is renewed for pages of our own only, and by nothing but the cookie', async () => {
    const { browser } = await signedIn();
    const token = browser.cookies.get('offshoot_console')?.value ?? '';
    for (const site of ['cross-site', 'same-site', 'none'])
      expect({ site, status: (await refreshed(browser, site)).status }).toEqual({ site, status: 400 });
    const stranger = openBrowserOf(home);
    expect((await post(stranger, '/oauth2/token', { grant_type: 'refresh_token', refresh_token: token })).status).toBe(400);
    expect((await refreshed(browser)).status).toBe(200);
  });

  test('is signed out by revoking: its tokens end, and the cookies go', async () => {
    const { browser, reply } = await signedIn();
    const kept = browser.cookies.get('offshoot_console');
    const revoked = await post(browser, '/oauth2/revoke', {});
    expect(revoked.status).toBe(200);
    expect(browser.cookies.has('offshoot_console')).toBe(false);
    expect(await me((reply.json as { access_token: string }).access_token)).toBe(401);
    browser.cookies.set('offshoot_console', kept ?? { value: '', path: '/' });
    expect((await refreshed(browser)).status).toBe(400);
  });

  test('ends with the session of the browser', async () => {
    const { browser } = await signedIn();
    await browser.visit('/sign-out');
    await browser.submit({});
    const reply = await refreshed(browser);
    expect(reply).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(browser.cookies.has('offshoot_console')).toBe(false);
  });

  test('is led back to nowhere but the platform itself, and cannot exchange API tokens', async () => {
    const away = await openBrowserOf(home).visit(consoleAsks(freshVerifier(), 'https://elsewhere.example/console/signed-in'));
    expect(away.status).toBe(400);
    const exchanged = await post(openBrowserOf(home), '/oauth2/token', { grant_type: 'api_token', api_token: 'whatever' });
    expect(exchanged.status).toBe(400);
  });
});

test('a sign-in of the console that is ended elsewhere takes the session of its browser along, so that it does not come back by itself', async () => {
  const { browser, reply } = await signedIn();
  const signIns = (await ada.send('GET', `/users/${ada.user.id}/sign-ins`)).json as {
    program: string;
    _links: { delete: { href: string } };
  }[];
  const ended = signIns.find(({ program }) => program === 'The console');
  expect((await ada.send('DELETE', ended?._links.delete.href ?? '')).status).toBe(204);
  expect(await me(reply.json.access_token)).toBe(401);
  expect((await post(browser, '/oauth2/token', { grant_type: 'refresh_token' })).status).toBe(400);
  expect((await browser.visit(consoleAsks(freshVerifier()))).text).toContain('name="password"');
});
