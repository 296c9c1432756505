/** Access tokens that are not what they say, or no longer; and refresh tokens that two processes are shown. */
import { exportJWK, generateKeyPair, importJWK, SignJWT, type JWTHeaderParameters, type JWTPayload, type JWK } from 'jose';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { serveApi } from '../../kernel/http.ts';
import { openDatabase, openPool } from '../../kernel/sql.ts';
import { openPlatform } from '../../open-platform.ts';
import { rooms } from '../../rooms.ts';
import { answerOf, authorizeUrl, freshVerifier, openBrowser, openProgram, password_hash } from '../../testing/browser.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';

const home = await openTestPlatform();
const { platform, person } = home;
const { db, keys, config } = platform;
const ada = await person({ password_hash });
const [ownKey = {}] = keys.accessTokens;
beforeEach(() => db.deleteFrom('attempts').execute());

const { header: trueHeader, claims: trueClaims } = readToken(ada.accessToken);

function readToken(token: string) {
  const [header, claims] = token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as unknown);
  return { header: header as JWTHeaderParameters, claims: claims as JWTPayload };
}

const now = () => Math.floor(Date.now() / 1000);
const statusWith = async (token: string) => (await home.send({ url: '/users/me', headers: { authorization: `Bearer ${token}` } })).status;
const signed = async (claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}, key: JWK = ownKey) =>
  new SignJWT({ ...trueClaims, ...claims }).setProtectedHeader({ ...trueHeader, ...header }).sign(await importJWK(key, 'ES256'));
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a token signed as ours are is taken, so that the refusals below are for what they say', async () => {
  expect(await statusWith(await signed({}))).toBe(200);
});

test('neither an expired token nor one of the future is taken, by a clock that is exact', async () => {
  const refused: Record<string, JWTPayload> = {
    'expired a second ago': { exp: now() - 1 },
    'expired long ago': { exp: 0, iat: 0 },
    'not yet valid': { nbf: now() + 60 },
    'without an end': { exp: undefined as unknown as number },
    'of an end that is no number': { exp: 'never' as unknown as number },
  };
  for (const [what, claims] of Object.entries(refused))
    expect({ what, status: await statusWith(await signed(claims)) }).toEqual({ what, status: 401 });
  // A clock elsewhere in the installation that is ahead: the token is as good as its end.
  expect(await statusWith(await signed({ iat: now() + 30 }))).toBe(200);
});

test('a token that was remembered as good is refused once it has expired', async () => {
  const exp = now() + 1;
  const token = await signed({ exp });
  await statusWith(token);
  await expect.poll(() => now() > exp, { timeout: 5000 }).toBe(true);
  expect(await statusWith(token)).toBe(401);
});

test('a token for something else, of somebody else or of another generation is refused', async () => {
  const bob = await person();
  const refused: Record<string, JWTPayload> = {
    'of another issuer': { iss: 'https://elsewhere.example' },
    'for another audience': { aud: 'https://elsewhere.example' },
    'for another person': { sub: bob.user.id },
    'of an older generation': { generation: -1 },
    'of a later generation': { generation: 1 },
    'via a credential that is not there': { via: crypto.randomUUID() },
    'via a credential of another kind': { via: 'x'.repeat(43) },
  };
  for (const [what, claims] of Object.entries(refused))
    expect({ what, status: await statusWith(await signed(claims)) }).toEqual({ what, status: 401 });
});

test('another key, however the header speaks of it, signs nothing', async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  const [theirs, theirPublic] = [await exportJWK(pair.privateKey), await exportJWK(pair.publicKey)];
  const { kid = '' } = ownKey;
  const headers: Record<string, Partial<JWTHeaderParameters>> = {
    'under our name': { kid },
    'under no name': { kid: undefined as unknown as string },
    'under a path': { kid: '../../../dev/null' },
    'with the key in the header': { kid, jwk: theirPublic },
    'with the address of a key': { kid, jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/key.pem' },
    'with another type': { kid, typ: 'JWT' },
  };
  for (const [what, header] of Object.entries(headers))
    expect({ what, status: await statusWith(await signed({}, header, theirs)) }).toEqual({ what, status: 401 });
  for (const [what, header] of Object.entries({ 'an unknown type': { typ: 'JWT' }, 'an unknown name': { kid: 'other' } }))
    expect({ what, status: await statusWith(await signed({}, header)) }).toEqual({ what, status: 401 });
});

test('no other way of signing is taken: none, or our public key as a shared secret', async () => {
  const publicKey = Buffer.from(JSON.stringify((await home.send({ url: '/oauth2/jwks' })).json.keys[0]));
  const asSecret = await new SignJWT(trueClaims).setProtectedHeader({ ...trueHeader, alg: 'HS256' }).sign(publicKey);
  const unsigned = ['none', 'None', 'NONE', ''].map((alg) => `${encoded({ ...trueHeader, alg })}.${encoded(trueClaims)}.`);
  const critical = `${encoded({ ...trueHeader, crit: ['x'], x: 1 })}.${encoded(trueClaims)}.${ada.accessToken.split('.')[2]}`;
  for (const token of [asSecret, ...unsigned, critical]) expect(await statusWith(token)).toBe(401);
});

test('a token of another installation with the same address is refused', async () => {
  const other = await openTestPlatform();
  const eve = await other.person();
  expect((await other.send({ url: '/users/me', headers: { authorization: `Bearer ${eve.accessToken}` } })).status).toBe(200);
  expect(await statusWith(eve.accessToken)).toBe(401);
});

/** Another process of the installation: it shares the database and the secret key, and nothing else. */
async function anotherProcess(): Promise<Pick<TestPlatform, 'send'>> {
  const own = openDatabase(openPool(home.databaseUrl));
  const { secrets, mail, phone, log, notices, git, blobs, metrics, machine } = platform;
  const http = await serveApi(
    rooms,
    await openPlatform({ config, db: own, secrets, mail, phone, log, notices, git, blobs, metrics, machine }),
  );
  afterAll(async () => {
    await http.close();
    await own.destroy();
  });
  return {
    async send(options) {
      const { statusCode, headers, payload } = await http.inject(options);
      return { status: statusCode, headers, text: payload, json: payload.startsWith('{') ? JSON.parse(payload) : undefined };
    },
  };
}

test('a refresh token that is used again, in another process too, ends the whole sign-in in both', async () => {
  const processes = [openProgram(home), openProgram(await anotherProcess())] as const;
  const [here, there] = processes;
  const browser = openBrowser(home);
  const verifier = freshVerifier();
  await browser.visit(authorizeUrl(verifier));
  await browser.signIn(ada.user.email);
  const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
  const first = (await there.codeExchange(code, verifier)).json;
  const second = (await here.refresh(first.refresh_token)).json;
  const third = (await there.refresh(second.refresh_token)).json;
  for (const program of processes) expect(await program.me(third.access_token)).toBe(200);

  await db.updateTable('oauth_records').set({ consumed_at: '2020-01-01T00:00:00Z' }).where('consumed_at', 'is not', null).execute();
  expect((await there.refresh(first.refresh_token)).status).toBe(400);
  for (const program of processes) {
    for (const { refresh_token } of [second, third]) expect((await program.refresh(refresh_token)).status).toBe(400);
    for (const { access_token } of [first, second, third]) expect(await program.me(access_token)).toBe(401);
  }
});

test('an API token that is deleted is refused with the next request, in every process, however many of its requests are under way', async () => {
  const bob = await home.person();
  const processes = [home, await anotherProcess()];
  const ask = async (process: Pick<TestPlatform, 'send'>) =>
    (await process.send({ url: '/users/me', headers: { authorization: `Bearer ${bob.accessToken}` } })).status;
  const over = new AbortController();
  const keepAsking = async (process: Pick<TestPlatform, 'send'>) => {
    const seen: number[] = [];
    while (!over.signal.aborted) seen.push(await ask(process));
    return seen;
  };
  const asking = processes.flatMap((process) => Array.from({ length: 10 }, () => keepAsking(process)));
  for (const process of processes) expect(await ask(process)).toBe(200);
  await db.deleteFrom('api_tokens').where('user_id', '=', bob.user.id).execute();
  const afterwards = await Promise.all(processes.flatMap((process) => Array.from({ length: 30 }, () => ask(process))));
  over.abort();
  expect(new Set(afterwards)).toEqual(new Set([401]));
  // Nobody who was refused is let in again.
  for (const seen of await Promise.all(asking)) expect(seen).toEqual(seen.toSorted((one, other) => one - other));
});

test('of two processes that are shown one refresh token at the same moment, both know whose sign-in it is and either can end it', async () => {
  const [here, there] = [openProgram(home), openProgram(await anotherProcess())] as const;
  const browser = openBrowser(home);
  const verifier = freshVerifier();
  await browser.visit(authorizeUrl(verifier));
  await browser.signIn(ada.user.email);
  const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
  const { refresh_token } = (await here.codeExchange(code, verifier)).json;
  const both = await Promise.all([here.refresh(refresh_token), there.refresh(refresh_token)]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(both.map(({ json }) => json.refresh_token)).size).toBe(2);
  const revoked = await home.send({
    method: 'POST',
    url: '/oauth2/revoke',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ token: both[1].json.refresh_token, client_id: 'upsun-cli' }).toString(),
  });
  expect(revoked.status).toBe(200);
  for (const { json } of both) expect([await here.me(json.access_token), await there.me(json.access_token)]).toEqual([401, 401]);
});
