import { createHash } from 'node:crypto';
import type { InjectOptions } from 'fastify';
import { decodeJwt } from 'jose';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openTestPlatform } from '../../testing/platform.ts';
import { askedFor, holdersOf } from './queries.ts';

const { platform, person, send, logLines } = await openTestPlatform();
const { db } = platform;
const ada = await person();

const basic = (client: string) => ({ authorization: `Basic ${btoa(`${client}:`)}` });
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const exchange = (options: InjectOptions) => send({ method: 'POST', url: '/oauth2/token', ...options });
const withToken = (api_token: string, remoteAddress = '127.0.0.1') =>
  exchange({ headers: basic('platform-api-user'), payload: { grant_type: 'api_token', api_token }, remoteAddress });

describe('an API token is exchanged for an access token', () => {
  const grant = { grant_type: 'api_token', api_token: ada.apiToken };
  const asForm = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString();
  const variants: Record<string, InjectOptions> = {
    'as documented: HTTP Basic and a form': { headers: { ...basic('platform-api-user'), ...form }, payload: asForm(grant) },
    'by the CLI: client in the form, empty secret': {
      headers: form,
      payload: asForm({ client_id: 'upsun-cli', client_secret: '', ...grant }),
    },
    'by the JavaScript client: HTTP Basic and JSON': { headers: basic('platform-cli'), payload: grant },
    'by our CLI: client in JSON': { payload: { client_id: 'offshoot-cli', ...grant } },
    'with a charset and a body client that agrees': {
      headers: { ...basic('upsun-cli'), 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      payload: asForm({ client_id: 'upsun-cli', ...grant }),
    },
  };

  test.each(Object.entries(variants))('%s', async (_, options) => {
    const { status, json, headers } = await exchange(options);
    expect({ status, json }).toEqual({ status: 200, json: { access_token: expect.any(String), expires_in: 900, token_type: 'bearer' } });
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['access-control-allow-origin']).toBeUndefined();
    const { sub, iat = 0, exp = 0, jti } = decodeJwt(json.access_token);
    expect({ sub, seconds: exp - iat }).toEqual({ sub: ada.user.id, seconds: 900 });
    expect(jti).toBeTruthy();
    const me = await send({ url: '/users/me', headers: { authorization: `Bearer ${json.access_token}` } });
    expect(me).toMatchObject({ status: 200, json: { id: ada.user.id } });
  });

  test('the use of the API token is noted', async () => {
    const { last_used_at } = await db.selectFrom('api_tokens').selectAll().where('user_id', '=', ada.user.id).executeTakeFirstOrThrow();
    expect(last_used_at).not.toBeNull();
  });
});

test('a wrong API token, one that was deleted and one of a deactivated person are refused in the same words', async () => {
  const [bob, eve] = [await person(), await person()];
  await db.deleteFrom('api_tokens').where('user_id', '=', bob.user.id).execute();
  await db.updateTable('users').set({ deactivated: true }).where('id', '=', eve.user.id).execute();
  for (const token of ['wrong', bob.apiToken, eve.apiToken, 'nul\0', `${ada.apiToken} `]) {
    const { status, json } = await exchange({
      headers: { ...basic('platform-api-user'), ...form },
      payload: `grant_type=api_token&api_token=${encodeURIComponent(token)}`,
    });
    expect({ status, json }).toEqual({ status: 400, json: { error: 'invalid_grant', error_description: 'Invalid API token' } });
  }
});

test('an access token ends with what it came from, on the next request', async () => {
  const takenAway = {
    'the API token is deleted': (id: string) => db.deleteFrom('api_tokens').where('user_id', '=', id).execute(),
    'the person is deactivated': (id: string) => db.updateTable('users').set({ deactivated: true }).where('id', '=', id).execute(),
    'the person signed out everywhere': (id: string) => db.updateTable('users').set({ token_generation: 1 }).where('id', '=', id).execute(),
  };
  for (const [what, takeAway] of Object.entries(takenAway)) {
    const bob = await person();
    expect((await bob.send('GET', '/users/me')).status).toBe(200);
    await takeAway(bob.user.id);
    const { status, headers } = await bob.send('GET', '/users/me');
    expect({ what, status, challenge: headers['www-authenticate'] }).toEqual({
      what,
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"'),
    });
  }
});

test('whoever asks is found by a statement that PostgreSQL has planned already, however many ask at once', async () => {
  const { id } = await db.selectFrom('api_tokens').select('id').where('user_id', '=', ada.user.id).executeTakeFirstOrThrow();
  const plans = await db.connection().execute(async (connection) => {
    for (let n = 0; n < 20; n += 1) {
      const asked = Array.from({ length: 1 + (n % 5) }, (_, project) => askedFor(id, `project${project}`));
      expect((await holdersOf(connection, asked)).map((holder) => holder.asked).toSorted()).toEqual(asked);
    }
    return sql<{ custom_plans: number }>`
      select custom_plans::int from pg_prepared_statements where statement like '%asked.key as asked%'`.execute(connection);
  });
  // PostgreSQL always makes five plans before it decides to keep one.
  expect(plans.rows).toEqual([{ custom_plans: 5 }]);
});

test('an access token that somebody changed or signed themselves is refused', async () => {
  const [header, payload = '', signature] = ada.accessToken.split('.');
  const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
  const raised = Buffer.from(JSON.stringify({ ...claims, exp: claims.exp + 900 })).toString('base64url');
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url');
  for (const token of [`${header}.${raised}.${signature}`, `${unsigned}.${payload}.`, 'a.b.c', 'x', ada.apiToken, 'y'.repeat(10_000)]) {
    expect((await send({ url: '/users/me', headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  }
});

test('a client we do not know, and a secret for one that has none, are refused with a challenge', async () => {
  const grant = { grant_type: 'api_token', api_token: ada.apiToken };
  const requests: InjectOptions[] = [
    { headers: basic('unknown'), payload: grant },
    { headers: basic('toString'), payload: grant },
    { headers: { authorization: `Basic ${btoa('platform-cli:secret')}` }, payload: grant },
    { headers: { authorization: 'Basic rubbish!' }, payload: grant },
    { headers: { authorization: 'Bearer x' }, payload: grant },
    { payload: { client_id: 'platform-cli', client_secret: 'secret', ...grant } },
    { payload: grant },
  ];
  for (const request of requests) {
    const { status, json, headers } = await exchange(request);
    expect({ status, error: json.error }).toEqual({ status: 401, error: 'invalid_client' });
    expect(headers['www-authenticate']).toContain('Basic');
  }
});

test('whatever else is sent is answered 400 in OAuth words, and logged as no bug', async () => {
  const json = { 'content-type': 'application/json' };
  const requests: InjectOptions[] = [
    {},
    { headers: json, payload: '' },
    { headers: json, payload: '{' },
    { headers: json, payload: '[]' },
    { headers: json, payload: 'null' },
    { headers: json, payload: '"text"' },
    { headers: json, payload: '{"grant_type":["api_token"]}' },
    { headers: json, payload: '{"grant_type":"api_token","api_token":{"toString":1}}' },
    { headers: json, payload: '{"__proto__":{"x":1}}' },
    { headers: json, payload: '{"grant_type":"api_token","api_token":"\\u0000"}' },
    { headers: json, payload: JSON.stringify({ grant_type: 'api_token', api_token: 'x'.repeat(20_000) }) },
    { headers: { 'content-type': 'text/xml' }, payload: '<xml/>' },
    { headers: { 'content-type': 'multipart/form-data' }, payload: 'x' },
    { headers: form, payload: 'grant_type=api_token&grant_type=api_token' },
    { headers: form, payload: 'grant_type=api_token&client_id=platform-cli' },
    { headers: form, payload: '%&%%=&=' },
    { headers: form, payload: Array.from({ length: 40 }, (_, i) => `p${i}=1`).join('&') },
    { headers: form, payload: 'grant_type=password&username=a&password=b&client_id=platform-cli' },
    { headers: form, payload: 'grant_type=client_credentials&client_id=platform-cli' },
    { headers: form, payload: 'grant_type=constructor&client_id=platform-cli' },
    { headers: form, payload: 'grant_type=authorization_code&code=x&redirect_uri=x&code_verifier=x&client_id=platform-cli' },
    { headers: form, payload: 'grant_type=refresh_token&refresh_token=x' },
    { headers: form, payload: 'grant_type=refresh_token' },
    { headers: { ...basic('platform-cli'), ...form }, payload: `client_id=upsun-cli&grant_type=api_token&api_token=${ada.apiToken}` },
  ];
  for (const [i, request] of requests.entries()) {
    const headers = { ...(request.payload && i < 14 && basic('platform-cli')), ...request.headers };
    const reply = await exchange({ ...request, headers, remoteAddress: `10.0.0.${i}` });
    expect({ ...request, status: reply.status, json: reply.json }).toEqual({
      ...request,
      status: expect.toSatisfy((status) => status === 400 || status === 401),
      json: { error: expect.any(String), error_description: expect.any(String) },
    });
  }
  expect(logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});

describe('guessing tokens', () => {
  const guessUntilRefused = async (address: string) => {
    const guesses: number[] = [];
    for (let n = 0; n < 31; n += 1) guesses.push((await withToken(`guess-${n}`, address)).status);
    expect(guesses).toEqual([...Array<number>(30).fill(400), 429]);
  };

  test('is slowed by address, and says when to come back; exchanging often is not', async () => {
    const often = await Promise.all(Array.from({ length: 100 }, () => withToken(ada.apiToken, '10.1.0.1')));
    expect(often.every(({ status }) => status === 200)).toBe(true);
    await guessUntilRefused('10.1.0.2');
    const { status, json, headers } = await withToken('guess', '10.1.0.2');
    expect({ status, json }).toEqual({ status: 429, json: { error: 'too_many_requests', error_description: expect.any(String) } });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect((await withToken('guess', '10.1.0.3')).status).toBe(400);
    expect((await withToken('guess', '2001:db8:1:2::1')).status).toBe(400);
    expect(await db.selectFrom('attempts').select('key').execute()).not.toContainEqual({ key: expect.stringContaining('10.1.0.2') });
  });

  test('shuts nobody behind the same address out who has a right one, be it new or long in use', async () => {
    const address = '10.1.0.4';
    await guessUntilRefused(address);
    const bob = await person();
    for (const { apiToken } of [ada, bob]) expect((await withToken(apiToken, address)).status).toBe(200);
    const authorization = (token: string) => ({ authorization: `Basic ${btoa(`x:${token}`)}` });
    const git = (token: string) =>
      send({ url: '/git/nothing.git/info/refs?service=git-upload-pack', headers: authorization(token), remoteAddress: address });
    expect((await git('guess')).status).toBe(429);
    for (const token of [ada.apiToken, bob.apiToken, bob.accessToken]) expect((await git(token)).status).toBe(404);
  });

  test('is not what a right token is slowed by, which is how often it is used itself', async () => {
    const bob = await person();
    expect((await withToken(bob.apiToken, '10.1.0.5')).status).toBe(200);
    const { id } = await db.selectFrom('api_tokens').select('id').where('user_id', '=', bob.user.id).executeTakeFirstOrThrow();
    const key = `use of token ${createHash('sha256').update(id).digest('base64url')}`;
    await db.updateTable('attempts').set({ count: 1200 }).where('key', '=', key).execute();
    expect((await withToken(bob.apiToken, '10.1.0.6')).status).toBe(429);
    expect((await withToken(ada.apiToken, '10.1.0.6')).status).toBe(200);
  });
});

test('the keys and endpoints are published', async () => {
  const discovery = await send({ url: '/.well-known/openid-configuration' });
  expect(discovery.json).toMatchObject({
    issuer: platform.config.url,
    grant_types_supported: expect.arrayContaining(['api_token', 'authorization_code', 'refresh_token']),
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  });
  for (const name of ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint', 'jwks_uri']) {
    expect(new URL(discovery.json[name]).pathname).toMatch(/^\/oauth2\//);
  }
  const { json } = await send({ url: '/oauth2/jwks' });
  expect(json.keys).toEqual([
    { kty: 'EC', use: 'sig', kid: expect.any(String), crv: 'P-256', alg: 'ES256', x: expect.any(String), y: expect.any(String) },
  ]);
});

test('the database holds no key and no token that could be used', async () => {
  const rows = await db.selectFrom('installation_keys').selectAll().execute();
  expect(rows.map(({ name }) => name).sort()).toEqual(['access-tokens', 'cookies', 'ssh-authority']);
  const stored = JSON.stringify([rows, await db.selectFrom('api_tokens').selectAll().execute()]);
  expect(stored).not.toContain('PRIVATE KEY');
  expect(stored).not.toContain(ada.apiToken);
  expect(stored).toContain(createHash('sha256').update(ada.apiToken).digest('base64url'));
});
