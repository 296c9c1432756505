import { beforeEach, describe, expect, test } from 'vitest';
import { answerOf, authorizeUrl, freshVerifier, openBrowser, openProgram, password, password_hash } from '../../testing/browser.ts';
import { enrol } from '../../testing/identity.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';

const home = await openTestPlatform();
const { person, platform, mail, logLines } = home;
const { db } = platform;
const program = openProgram(home);

beforeEach(() => db.deleteFrom('attempts').execute());

/** The path of the link in the newest mail to this address. */
async function linkMailedTo(address: string) {
  let text = '';
  await expect.poll(async () => (text = (await mail(address)).at(-1)?.text ?? '')).toContain('token=');
  const url = /http:\S+token=\S+/.exec(text)?.[0] ?? '';
  expect(url.startsWith(platform.config.url)).toBe(true);
  return url.slice(platform.config.url.length);
}

const formOf = (path: string) => ({ token: new URL(path, 'http://x').searchParams.get('token') ?? '' });
const emailOf = async ({ user }: Person) =>
  (await db.selectFrom('users').selectAll().where('id', '=', user.id).executeTakeFirstOrThrow()).email;

async function canSignIn(login: string, secret: string) {
  const browser = openBrowser(home);
  await browser.visit(authorizeUrl(freshVerifier()));
  return (await browser.signIn(login, secret)).status === 200;
}

let counter = 0;
const freshAddress = () => `fresh-${(counter += 1)}@example.org`;

describe('a new e-mail address', () => {
  const ask = (someone: Person, email_address: string) => someone.send('POST', `/users/${someone.user.id}/emailaddress`, { email_address });

  test('counts once its holder confirms it, and the old address is told', async () => {
    const ada = await person();
    const address = freshAddress();
    expect((await ask(ada, address.toUpperCase())).status).toBe(204);
    expect((await mail(address)).map(({ subject }) => subject)).toEqual(['Confirm your e-mail address']);

    const browser = openBrowser(home);
    const link = await linkMailedTo(address);
    for (const visit of [1, 2]) {
      const page = await browser.visit(link);
      expect({ visit, status: page.status }).toEqual({ visit, status: 200 });
      expect(page.text).toContain(address);
    }
    expect(await emailOf(ada)).toBe(ada.user.email);

    const done = await browser.submit(formOf(link));
    expect(done.text).toContain('E-mail address changed');
    expect((await ada.send('GET', '/users/me')).json).toMatchObject({ email: address, email_verified: true });
    await expect
      .poll(async () => (await mail(ada.user.email))[0])
      .toMatchObject({
        subject: 'Your e-mail address was changed',
        text: expect.stringContaining(address),
      });
  });

  test('is confirmed once, also by two at the same moment', async () => {
    const ada = await person();
    const address = freshAddress();
    await ask(ada, address);
    const link = await linkMailedTo(address);
    const browsers = [openBrowser(home), openBrowser(home), openBrowser(home)];
    await Promise.all(browsers.map((browser) => browser.visit(link)));
    const answers = await Promise.all(browsers.map((browser) => browser.submit(formOf(link))));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 410, 410]);
    expect((await openBrowser(home).visit(link)).status).toBe(410);
  });

  test('asked for anew replaces the earlier link', async () => {
    const ada = await person();
    const [first, second] = [freshAddress(), freshAddress()];
    await ask(ada, first);
    await ask(ada, second);
    const browser = openBrowser(home);
    expect((await browser.visit(await linkMailedTo(first))).status).toBe(410);
    expect((await browser.visit(await linkMailedTo(second))).status).toBe(200);
  });

  test('is refused when the link has expired, or is a link for something else', async () => {
    const ada = await person();
    const address = freshAddress();
    await ask(ada, address);
    const link = await linkMailedTo(address);
    const browser = openBrowser(home);
    expect((await browser.visit(link.replace('/change-email-address', '/reset-password'))).status).toBe(410);
    await browser.visit(link);
    await db.updateTable('mailed_links').set({ expires_at: '2020-01-01' }).where('user_id', '=', ada.user.id).execute();
    expect((await browser.submit(formOf(link))).status).toBe(410);
    expect(await emailOf(ada)).toBe(ada.user.email);
  });

  test('of another user is refused, when it is asked for and when it is confirmed', async () => {
    const [ada, bob] = [await person(), await person()];
    expect((await ask(ada, bob.user.email)).status).toBe(409);
    expect((await ask(ada, ada.user.email)).status).toBe(409);
    const address = freshAddress();
    await ask(ada, address);
    await person({ email: address });
    const browser = openBrowser(home);
    const link = await linkMailedTo(address);
    await browser.visit(link);
    const refused = await browser.submit(formOf(link));
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('belongs to another user');
    expect(await emailOf(ada)).toBe(ada.user.email);
  });

  test.for([
    '',
    'nobody',
    'a b@example.org',
    'a@b@c',
    'a@example.org\r\nBcc: eve@example.org',
    'Eve <eve@example.org>',
    'a@example.org,b@example.org',
    `${'a'.repeat(250)}@example.org`,
    '"x"@example.org',
    5,
  ])('is refused when it is %j', async (address) => {
    const ada = await person();
    expect(await ask(ada, address as string)).toMatchObject({ status: 400, json: { detail: { email_address: expect.any(String) } } });
    expect(await db.selectFrom('mailed_links').selectAll().where('user_id', '=', ada.user.id).execute()).toEqual([]);
  });

  test('can be asked for only by its owner, and not without end', async () => {
    const [ada, operator] = [await person(), await person({ is_operator: true })];
    const path = `/users/${ada.user.id}/emailaddress`;
    expect((await operator.send('POST', path, { email_address: freshAddress() })).status).toBe(403);
    const answers: number[] = [];
    for (let n = 0; n < 11; n += 1) answers.push((await ask(ada, freshAddress())).status);
    expect(answers).toEqual([...Array<number>(10).fill(204), 429]);
  });

  test('must be confirmed from our own page', async () => {
    const ada = await person();
    const address = freshAddress();
    await ask(ada, address);
    const link = await linkMailedTo(address);
    const browser = openBrowser(home);
    await browser.visit(link);
    expect((await browser.submit(formOf(link), { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })).status).toBe(403);
    expect(await emailOf(ada)).toBe(ada.user.email);
  });
});

describe('a forgotten password', () => {
  const next = 'a whole new passphrase';
  const forgot = async (email: string, browser = openBrowser(home)) => {
    await browser.visit('/forgot-password');
    return browser.submit({ email });
  };

  test('is found from the sign-in page, and set anew through a mailed link; that signs out everywhere', async () => {
    const ada = await person({ password_hash });
    const browser = openBrowser(home);
    const verifier = freshVerifier();
    expect((await browser.visit(authorizeUrl(verifier))).text).toContain('href="/forgot-password"');
    await browser.signIn(ada.user.email);
    const { code = '' } = answerOf(await browser.submit({ answer: 'allow' }));
    const tokens = (await program.codeExchange(code, verifier)).json;

    expect((await forgot(ada.user.email.toUpperCase())).text).toContain('Check your mail');
    const link = await linkMailedTo(ada.user.email);
    const page = await browser.visit(link);
    expect(page.text).toContain('autocomplete="new-password"');
    expect(await program.me(tokens.access_token)).toBe(200);

    expect((await browser.submit({ ...formOf(link), password: next })).text).toContain('Password changed');
    expect(await program.me(tokens.access_token)).toBe(401);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(400);
    expect((await browser.visit(authorizeUrl(freshVerifier()))).text).toContain('name="password"');
    expect([await canSignIn(ada.user.email, password), await canSignIn(ada.user.email, next)]).toEqual([false, true]);
    await expect.poll(async () => (await mail(ada.user.email)).at(-1)?.subject).toBe('Your password was changed');
    expect((await openBrowser(home).visit(link)).status).toBe(410);
  });

  test('is answered alike for somebody who does not exist or is deactivated', async () => {
    const gone = await person();
    await db.updateTable('users').set({ deactivated: true }).where('id', '=', gone.user.id).execute();
    const known = await person();
    const pages = await Promise.all([known.user.email, gone.user.email, 'nobody@example.org', 'rubbish', ''].map((email) => forgot(email)));
    expect(new Set(pages.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    await linkMailedTo(known.user.email);
    for (const email of [gone.user.email, 'nobody@example.org']) expect(await mail(email)).toEqual([]);
  });

  test('cannot be used to fill a mailbox, nor from one place without end', async () => {
    const ada = await person();
    const answers: number[] = [];
    for (let n = 0; n < 6; n += 1) answers.push((await forgot(ada.user.email)).status);
    expect(answers).toEqual([200, 200, 200, 200, 200, 429]);
    const browser = openBrowser(home);
    const fromOnePlace: number[] = [];
    for (let n = 0; n < 31; n += 1) fromOnePlace.push((await forgot(freshAddress(), browser)).status);
    expect(fromOnePlace.at(-1)).toBe(429);
  });

  test.for(['', 'short', 'x'.repeat(201), 'nul\0nul\0nul'])('is not replaced by %j', async (bad) => {
    const ada = await person({ password_hash });
    await forgot(ada.user.email);
    const link = await linkMailedTo(ada.user.email);
    const browser = openBrowser(home);
    await browser.visit(link);
    const refused = await browser.submit({ ...formOf(link), password: bad });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('8 to 200 characters');
    expect(await canSignIn(ada.user.email, password)).toBe(true);
    expect((await browser.submit({ ...formOf(link), password: next })).status).toBe(200);
  });

  test('is set by one of two who send the form at the same moment', async () => {
    const ada = await person({ password_hash });
    await forgot(ada.user.email);
    const link = await linkMailedTo(ada.user.email);
    const browsers = [openBrowser(home), openBrowser(home)];
    await Promise.all(browsers.map((browser) => browser.visit(link)));
    const answers = await Promise.all(browsers.map((browser, n) => browser.submit({ ...formOf(link), password: `${next} ${n}` })));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 410]);
  });

  test('is set through a link while a neighbour guesses, and the browser that did so gets in', async () => {
    const ada = await person({ password_hash });
    await forgot(ada.user.email);
    const link = await linkMailedTo(ada.user.email);
    const browser = openBrowser(home);
    const neighbour = openBrowser(home, browser.remoteAddress);
    const answers: number[] = [];
    await neighbour.visit(link);
    for (let n = 0; n < 31; n += 1) answers.push((await neighbour.submit({ token: `guess-${n}`, password: next })).status);
    expect(answers).toEqual([...Array<number>(30).fill(410), 429]);
    await neighbour.visit(authorizeUrl(freshVerifier()));
    for (let n = 0; n < 11; n += 1) await neighbour.signIn(ada.user.email, 'wrong');
    expect((await neighbour.signIn(ada.user.email)).status).toBe(429);

    await browser.visit(link);
    expect((await browser.submit({ ...formOf(link), password: next })).status).toBe(200);
    await browser.visit(authorizeUrl(freshVerifier()));
    expect((await browser.signIn(ada.user.email, next)).text).toContain('wants to act for you');
  });

  test('does not get around the second factor', async () => {
    const ada = await person({ password_hash });
    await enrol(ada);
    await forgot(ada.user.email);
    const browser = openBrowser(home);
    const link = await linkMailedTo(ada.user.email);
    await browser.visit(link);
    await browser.submit({ ...formOf(link), password: next });
    await browser.visit(authorizeUrl(freshVerifier()));
    expect((await browser.signIn(ada.user.email, next)).text).toContain('name="passcode"');
  });

  test('can be mailed by the API, for oneself and by operators', async () => {
    const [ada, bob, operator] = [await person(), await person(), await person({ is_operator: true })];
    const path = `/users/${ada.user.id}/resetpassword`;
    expect((await bob.send('POST', path)).status).toBe(404);
    expect((await ada.send('POST', path)).status).toBe(204);
    expect((await operator.send('POST', path)).status).toBe(204);
    expect((await mail(ada.user.email)).map(({ subject }) => subject)).toEqual(['Set a new password', 'Set a new password']);
  });

  test('ends with the address it was mailed to, once that is no longer theirs', async () => {
    const ada = await person();
    await forgot(ada.user.email);
    const reset = await linkMailedTo(ada.user.email);
    const address = freshAddress();
    await ada.send('POST', `/users/${ada.user.id}/emailaddress`, { email_address: address });
    const browser = openBrowser(home);
    const confirm = await linkMailedTo(address);
    await browser.visit(confirm);
    await browser.submit(formOf(confirm));
    expect((await browser.visit(reset)).status).toBe(410);
  });
});

test('tokens are kept as hashes and never logged', async () => {
  const ada = await person();
  await ada.send('POST', `/users/${ada.user.id}/resetpassword`);
  const link = await linkMailedTo(ada.user.email);
  await openBrowser(home).visit(link);
  const { token } = formOf(link);
  expect(token.length).toBeGreaterThanOrEqual(22);
  expect(JSON.stringify(await db.selectFrom('mailed_links').selectAll().execute())).not.toContain(token);
  expect(logLines.join('')).not.toContain(token);
});

test('nothing here was a bug', () => {
  expect(logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});
