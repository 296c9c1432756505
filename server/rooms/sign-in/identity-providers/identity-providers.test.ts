import { decodeJwt } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { enrol, passcodeOf } from '../../../testing/identity.ts';
import {
  answerOf,
  authorizeUrl,
  freshVerifier,
  openBrowser as openBrowserOf,
  openProgram,
  password,
  password_hash,
  type Browser,
} from '../../../testing/browser.ts';
import { openTestIdentityProvider, type KnownElsewhere } from '../../../testing/identity-provider.ts';
import { openTestPlatform } from '../../../testing/platform.ts';

const url = 'http://localhost:8080';
const returnAddress = (id: string) => `${url}/signed-in/with/${id}`;
const acme = await openTestIdentityProvider([returnAddress('acme-id')]);
const other = await openTestIdentityProvider([returnAddress('other'), returnAddress('acme-id')]);
const strange = await openTestIdentityProvider([returnAddress('strange')]);
afterAll(() => [acme, other, strange].forEach((each) => each.close()));

const gone = `http://client:secret@127.0.0.1:1/?name=Gone`;
/** Its document says that it is another issuer. */
const liar = acme.setting('Liar').replace('127.0.0.1', 'localhost');
const home = await openTestPlatform(undefined, undefined, {
  OFFSHOOT_URL: url,
  OFFSHOOT_IDENTITY_PROVIDERS: [acme.setting('Acme ID'), other.setting('Other'), strange.setting('Strange'), gone, liar].join(','),
});
const { platform, person, send } = home;
const { db } = platform;
const { codeExchange } = openProgram(home);
const openBrowser = () => openBrowserOf(home);

beforeEach(() => db.deleteFrom('attempts').execute());

let subjects = 0;
const knownAs = (email: string, email_verified: boolean | string = true): KnownElsewhere => {
  subjects += 1;
  return { sub: `subject-${subjects}`, email, email_verified };
};

async function verified(fields: Parameters<typeof person>[0] = {}) {
  const someone = await person(fields);
  await db.updateTable('users').set({ email_verified: true }).where('id', '=', someone.user.id).execute();
  return someone;
}

/** Opens the sign-in page and goes out to a provider; answers where that leads. */
async function leave(browser: Browser, provider = 'acme-id', more = {}) {
  const verifier = freshVerifier();
  const page = await browser.visit(authorizeUrl(verifier, more));
  const { location = '' } = await browser.visit(`${browser.address.split('?', 1)[0]}/with/${provider}`);
  return { verifier, page, location };
}

const pathOf = (address: string) => address.slice(url.length);

/** The whole way out and back. */
async function signInElsewhere(browser: Browser, more = {}) {
  const { verifier, location } = await leave(browser, 'acme-id', more);
  return { verifier, reply: await browser.visit(pathOf(await acme.passThrough(location))) };
}

const alertOf = (text: string) => /role="alert">([^<]+)/.exec(text)?.[1];
const connectionsOf = (userId: string) => db.selectFrom('connections').selectAll().where('user_id', '=', userId).execute();

describe('signing in with another identity provider', () => {
  test('leads from a button on the sign-in page to tokens, without a password, and connects the account', async () => {
    const ada = await verified();
    acme.signInAs({ ...knownAs(ada.user.email.toUpperCase()), sub: 'ada' });
    const browser = openBrowser();
    const { page, verifier, location } = await leave(browser);
    expect(page.text).toContain('Continue with Acme ID');
    expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      nonce: expect.stringMatching(/.{20}/),
      state: expect.stringMatching(/.{20}/),
      redirect_uri: returnAddress('acme-id'),
    });
    const consent = await browser.visit(pathOf(await acme.passThrough(location)));
    expect(consent.text).toContain('wants to act for you');
    const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    const { json } = await codeExchange(code, verifier);
    expect(decodeJwt(json.access_token)).toMatchObject({ sub: ada.user.id, amr: ['federated'] });
    expect(await connectionsOf(ada.user.id)).toMatchObject([
      { provider: 'acme-id', provider_type: 'oidc', issuer: acme.issuer, subject: 'ada' },
    ]);
    expect((await home.mail(ada.user.email)).map(({ subject }) => subject)).toEqual(['You can sign in with Acme ID']);
    expect((await ada.send('GET', `/users/${ada.user.id}/connections`)).json).toMatchObject([{ provider: 'acme-id', subject: 'ada' }]);
  });

  test('goes on working by the subject when the address changes, and a password still works beside it', async () => {
    const ada = await verified({ password_hash });
    acme.signInAs({ ...knownAs(ada.user.email), sub: 'moved' });
    await signInElsewhere(openBrowser());
    acme.signInAs({ sub: 'moved', email: 'somewhere@else.example', email_verified: false });
    expect((await signInElsewhere(openBrowser())).reply.text).toContain(ada.user.email);
    const browser = openBrowser();
    await browser.visit(authorizeUrl(freshVerifier()));
    expect((await browser.signIn(ada.user.email, password)).text).toContain('wants to act for you');
    expect((await home.mail(ada.user.email)).length).toBe(1);
  });

  test('asks those who have a second factor here for their passcode, whatever the provider asked them', async () => {
    const ada = await verified();
    const { secret } = await enrol(ada);
    acme.signInAs(knownAs(ada.user.email));
    const browser = openBrowser();
    const { verifier, reply } = await signInElsewhere(browser);
    expect(reply.text).toContain('<h1>Passcode</h1>');
    await browser.submit({ answer: 'sign-in', passcode: passcodeOf(secret) });
    const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    expect(decodeJwt((await codeExchange(code, verifier)).json.access_token)).toMatchObject({ amr: ['federated', 'mfa'] });
  });

  test('passes on that somebody has to prove anew who they are', async () => {
    const { location } = await leave(openBrowser(), 'acme-id', { prompt: 'login', login_hint: 'ada@example.org' });
    expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({ prompt: 'login', login_hint: 'ada@example.org' });
  });

  test('signs nobody in whose address is not verified there', async () => {
    const ada = await verified();
    for (const claimed of [false, 'true', undefined]) {
      acme.signInAs({
        sub: `unverified-${String(claimed)}`,
        email: ada.user.email,
        ...(claimed !== undefined && { email_verified: claimed }),
      });
      const { reply } = await signInElsewhere(openBrowser());
      expect(alertOf(reply.text)).toContain('Acme ID does not say that your e-mail address is verified');
    }
    expect(await connectionsOf(ada.user.id)).toEqual([]);
  });

  test('signs nobody in whose address is not verified here: somebody else may have typed it', async () => {
    const squatter = await person();
    acme.signInAs(knownAs(squatter.user.email));
    const { reply } = await signInElsewhere(openBrowser());
    expect(alertOf(reply.text)).toContain('not confirmed here yet');
    expect(await connectionsOf(squatter.user.id)).toEqual([]);
  });

  test('makes no accounts, and opens none that is deactivated', async () => {
    acme.signInAs(knownAs('stranger@example.org'));
    expect(alertOf((await signInElsewhere(openBrowser())).reply.text)).toContain('Nobody here has the e-mail address');
    const left = await verified();
    acme.signInAs(knownAs(left.user.email));
    await signInElsewhere(openBrowser());
    await db.updateTable('users').set({ deactivated: true }).where('id', '=', left.user.id).execute();
    expect(alertOf((await signInElsewhere(openBrowser())).reply.text)).toBe('Your account is deactivated.');
  });
});

describe('an attacker gains nothing', () => {
  test('by sending an answer a second time', async () => {
    const ada = await verified();
    acme.signInAs(knownAs(ada.user.email));
    const browser = openBrowser();
    const { location } = await leave(browser);
    const back = pathOf(await acme.passThrough(location));
    expect((await browser.visit(back)).status).toBe(200);
    expect(await browser.visit(back)).toMatchObject({ status: 400 });
  });

  test('by having somebody else open an answer of the attacker’s own sign-in', async () => {
    const mallory = await verified();
    acme.signInAs(knownAs(mallory.user.email));
    const { location } = await leave(openBrowser());
    const back = pathOf(await acme.passThrough(location));
    const victim = openBrowser();
    await victim.visit(authorizeUrl(freshVerifier()));
    const ofVictim = victim.address;
    const { status, text } = await victim.visit(back);
    expect({ status, text }).toMatchObject({ status: 400, text: expect.stringContaining('begun in another browser') });
    // With the victim's own sign-in in the address, the state is not that of the victim.
    const moved = `${ofVictim}/with/acme-id/answer?${back.split('?', 2)[1]}`;
    expect((await victim.visit(moved)).status).toBe(400);
  });

  test('by putting a code of one sign-in into another', async () => {
    const ada = await verified();
    acme.signInAs(knownAs(ada.user.email));
    const stolen = new URL(await acme.passThrough((await leave(openBrowser())).location)).searchParams.get('code') ?? '';
    const browser = openBrowser();
    const back = new URL(await acme.passThrough((await leave(browser)).location));
    back.searchParams.set('code', stolen);
    expect(alertOf((await browser.visit(pathOf(back.href))).text)).toContain('did not sign you in');
  });

  test('by having one provider answer for another', async () => {
    const ada = await verified();
    other.signInAs({ ...knownAs(ada.user.email), sub: 'evil' });
    // An answer to one provider's question, at the address of the other.
    const browser = openBrowser();
    const back = await other.passThrough((await leave(browser, 'other')).location);
    expect((await browser.visit(pathOf(back).replace('/with/other', '/with/acme-id'))).status).toBe(400);
    // A code and a name of the other provider, in an answer to a question that was asked of this one.
    const second = openBrowser();
    const asked = new URL((await leave(second)).location);
    const misled = new URL(await other.passThrough(`${other.issuer}/auth${asked.search}`));
    expect(misled.searchParams.get('iss')).toBe(other.issuer);
    expect(alertOf((await second.visit(pathOf(misled.href))).text)).toContain('did not sign you in');
    const third = openBrowser();
    const again = new URL((await leave(third)).location);
    const relabelled = new URL(await other.passThrough(`${other.issuer}/auth${again.search}`));
    relabelled.searchParams.set('iss', acme.issuer);
    expect(alertOf((await third.visit(pathOf(relabelled.href))).text)).toContain('did not sign you in');
    expect(await connectionsOf(ada.user.id)).toEqual([]);
  });

  test('with a token of another issuer, of no signature, or for somebody else', async () => {
    const ada = await verified();
    acme.signInAs(knownAs(ada.user.email));
    const edited = (token: string, edit: Record<string, unknown>, header?: Record<string, unknown>) => {
      const [head = '', body = '', signature = ''] = token.split('.');
      const encode = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
      return `${header ? encode(header) : head}.${encode({ ...claims, ...edit })}.${header ? '' : signature}`;
    };
    const forgeries: [Record<string, unknown>, Record<string, unknown>?][] = [
      [{ iss: other.issuer }],
      [{ aud: 'another client' }],
      [{ nonce: 'another nonce' }],
      [{ email: ada.user.email, email_verified: true }],
      [{}, { alg: 'none' }],
    ];
    for (const [edit, header] of forgeries) {
      acme.answerAt('/token', (reply) => ({ ...reply, id_token: edited(String(reply['id_token']), edit, header) }));
      expect(alertOf((await signInElsewhere(openBrowser())).reply.text)).toContain('did not sign you in');
    }
    acme.answerAt('/token', undefined);
    acme.answerAt('/me', (reply) => ({ ...reply, sub: 'somebody else' }));
    expect(alertOf((await signInElsewhere(openBrowser())).reply.text)).toContain('did not sign you in');
    acme.answerAt('/me', undefined);
    expect(await connectionsOf(ada.user.id)).toEqual([]);
    expect((await signInElsewhere(openBrowser())).reply.text).toContain('wants to act for you');
  });

  test('with a provider whose document names another issuer, or that has a private network asked', async () => {
    const browser = openBrowser();
    await leave(browser, 'liar');
    expect(alertOf((await browser.visit(browser.address)).text)).toContain('Liar did not sign you in');
    strange.answerAt('/.well-known/openid-configuration', (document) => ({ ...document, token_endpoint: 'http://127.0.0.2:9/token' }));
    const led = openBrowser();
    const { location } = await leave(led, 'strange');
    expect(alertOf((await led.visit(pathOf(await strange.passThrough(location)))).text)).toContain('Strange cannot be reached');
    expect(home.logLines.join('')).toContain('127.0.0.2 is not a public address');
  });

  test('with an answer that names no sign-in, a provider that is not there, or a reason of their own', async () => {
    expect((await send({ url: '/signed-in/with/acme-id?code=1&state=../../x' })).status).toBe(400);
    expect((await send({ url: '/signed-in/with/acme-id?code=1' })).status).toBe(400);
    const browser = openBrowser();
    const { page } = await leave(browser, 'nobody');
    expect(page.status).toBe(200);
    const own = await browser.visit(`${browser.address.split('/with/', 1)[0]}?with=acme-id&refused=constructor`);
    expect(alertOf(own.text)).toBeUndefined();
  });
});

test('a provider that is away is told of on the sign-in page, where the password still works', async () => {
  const ada = await verified({ password_hash });
  const browser = openBrowser();
  await browser.visit(authorizeUrl(freshVerifier()));
  const away = await browser.visit(`${browser.address}/with/gone`);
  expect(alertOf(away.text)).toBe('Gone cannot be reached now. Try again later, or sign in with your password.');
  expect((await browser.signIn(ada.user.email)).text).toContain('wants to act for you');
});

test('nothing here was a bug, and no secret of a provider is in a log', () => {
  expect(home.logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
  expect(home.logLines.join('\n')).not.toContain('a secret: with');
});
