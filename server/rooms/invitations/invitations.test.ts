import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { shortId } from '../../kernel/id.ts';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import { openBrowser as openBrowserOf, password, password_hash } from '../../testing/browser.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { setUsersMax } from '../organizations/public.ts';
import { resumeOrganization, suspendOrganization } from '../organizations/work.ts';
import { insertProject } from '../projects/public.ts';
import { acceptInvitation } from './accept.ts';

let home: TestPlatform;
let ada: Person;
let organizationId: string;
let projectId: string;
let toOrganization: string;
let toProject: string;

beforeAll(async () => {
  home = await openTestPlatform();
  ada = await home.person({ first_name: 'Ada', last_name: '<b>Lovelace</b>' });
  organizationId = (await ada.send('POST', '/organizations', { label: 'Engines & Sons' })).json.id;
  projectId = (await project()).id;
  toOrganization = `/organizations/${organizationId}/invitations`;
  toProject = `/projects/${projectId}/invitations`;
});

beforeEach(() => home.platform.db.deleteFrom('attempts').execute());

const project = () =>
  insertProject(home.platform.db, { id: shortId(), organization_id: organizationId, region: 'local', title: 'The Shop', status: 'active' });
const freshEmail = () => `${crypto.randomUUID()}@example.org`;
const join = async (permissions: string[] = []) => {
  const person = await home.person();
  await ada.send('POST', `/organizations/${organizationId}/members`, { user_id: person.user.id, permissions });
  return person;
};
const invite = (email: string, fields: object = {}, from = ada, path = toOrganization) =>
  from.send('POST', path, { email, permissions: [], ...fields });
/** The address of the page, as the mail gives it, without the host. */
const linkFor = async (email: string) => {
  const text = (await home.mail(email)).at(-1)?.text ?? '';
  return /^http:\/\/127\.0\.0\.1:8080(\/accept-invitation\?token=[\w-]{22})\r?$/m.exec(text)?.[1] ?? 'no link in the mail';
};
const invited = async (fields: object = {}, path = toOrganization, email = freshEmail()) => {
  const { status, json } = await invite(email, fields, ada, path);
  expect(status).toBe(201);
  return { email, link: await linkFor(email), json };
};
const openBrowser = () => openBrowserOf(home);
const newAccount = (more: Record<string, string> = {}) => ({
  answer: 'accept',
  first_name: 'Grace',
  last_name: 'Hopper',
  username: `grace-${crypto.randomUUID()}`,
  password: 'a good password',
  ...more,
});
const userWith = (email: string) => home.platform.db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();
const memberWith = async (email: string) =>
  (await ada.send('GET', `/organizations/${organizationId}/members/${(await userWith(email))?.id}`)).json;
const stateOf = async ({ json }: { json: { id: string } }, path = toOrganization) =>
  (await ada.send('GET', `${path}/${json.id}`)).json.state;
/** Through the sign-in pages and back to where one came from. */
const signIn = async (browser: ReturnType<typeof openBrowser>, login: string) => {
  const signInPage = await browser.submit({ answer: 'sign-in' });
  expect(signInPage.text).toContain(`value="${login}"`);
  const { location = '' } = await browser.signIn(login);
  expect(location).toMatch(/^http:\/\/127\.0\.0\.1:8080\/signed-in\?/);
  return browser.visit(location.replace('http://127.0.0.1:8080', ''));
};

const statusesOf = (replies: { status: number }[]) => replies.map(({ status }) => status).sort((a, b) => a - b);

describe('inviting to an organization', () => {
  test('answers the invitation, and mails the link', async () => {
    const { status, json } = await invite('Grace+Test@Example.org', { permissions: ['project:create', 'billing'] });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      state: 'pending',
      organization_id: organizationId,
      email: 'grace+test@example.org',
      owner: { id: ada.user.id, display_name: 'Ada <b>Lovelace</b>' },
      permissions: ['billing', 'projects:create'],
      finished_at: null,
    });
    const [mail] = await home.mail('grace+test@example.org');
    expect(mail).toMatchObject({ subject: 'Ada <b>Lovelace</b> invites you to the organization Engines & Sons' });
    for (const part of ['14 days', ada.user.email, 'only for grace+test@example.org']) expect(mail?.text).toContain(part);
  });

  test('keeps the token as a hash, and shows it nowhere but in the mail', async () => {
    const { link, json } = await invited();
    const token = link.slice(link.indexOf('=') + 1);
    const stored = await home.platform.db.selectFrom('invitations').selectAll().where('id', '=', json.id).executeTakeFirstOrThrow();
    expect(stored.token_fingerprint).toBe(fingerprint(token));
    await openBrowser().visit(link);
    const shown = [JSON.stringify(json), (await ada.send('GET', toOrganization)).text, home.logLines.join('')].join('');
    for (const secret of [token, stored.token_fingerprint]) expect(shown).not.toContain(secret);
  });

  test('twice is refused; with force the former is cancelled and its link is dead', async () => {
    const first = await invited();
    expect(await invite(first.email.toUpperCase())).toMatchObject({ status: 409, json: { error: expect.stringContaining('force') } });
    const second = await invited({ force: true }, toOrganization, first.email);
    expect(await stateOf(first)).toBe('cancelled');
    expect((await openBrowser().visit(first.link)).status).toBe(410);
    expect((await openBrowser().visit(second.link)).status).toBe(200);
    const [both] = await Promise.all([freshEmail()].map((email) => Promise.all([invite(email), invite(email)])));
    expect(statusesOf(both ?? [])).toEqual([201, 409]);
  });

  test('a member, or oneself, is refused', async () => {
    const bob = await join();
    for (const email of [bob.user.email, ada.user.email]) {
      expect(await invite(email)).toMatchObject({ status: 409, json: { error: expect.stringContaining('member') } });
    }
  });

  test('needs the permission members, and gives no more than one has', async () => {
    const manager = await join(['members']);
    expect((await invite(freshEmail(), { permissions: ['members'] }, manager)).status).toBe(201);
    for (const permission of ['admin', 'billing', 'project:create']) {
      expect(await invite(freshEmail(), { permissions: [permission] }, manager)).toMatchObject({
        status: 403,
        json: { error: expect.any(String) },
      });
    }
    expect((await invite(freshEmail(), {}, await join(['billing']))).status).toBe(403);
    expect((await invite(freshEmail(), {}, await home.person())).status).toBe(404);
  });

  test.for([
    '',
    'nobody',
    'a@b@c.org',
    'a b@c.org',
    'a@b.org\r\nBcc: eve@example.org',
    'a@b.org\n',
    '"quoted"@example.org',
    '<a@b.org>',
    'a@b.org,c@d.org',
    'a@-b.org',
    'a@b..org',
    `${'a'.repeat(65)}@b.org`,
    `a@${'b'.repeat(260)}.org`,
    'a@b.org\0',
    '@b.org',
    'a@',
  ])('refuses the address %j', async (email) => {
    expect(await invite(email)).toMatchObject({ status: 400, json: { detail: { email: expect.any(String) } } });
  });

  test.for([
    { permissions: undefined },
    { permissions: ['root'] },
    { permissions: 'admin' },
    { force: 'yes' },
    { state: 'accepted' },
    { email: 5 },
    { project_id: 'x' },
  ])('refuses %j', async (fields) => {
    const { status, json } = await invite(freshEmail(), fields);
    expect({ status, fields: Object.keys(json.detail) }).toMatchObject({
      status: 400,
      fields: [expect.stringMatching(Object.keys(fields)[0] ?? '')],
    });
  });

  /** What earlier tests recorded and did not read would meet the failure in the place of what is sent next. */
  const sendEarlierMail = () => home.mail();

  test('whose mail is refused is listed as failed, and can be made anew', async () => {
    const email = freshEmail();
    await sendEarlierMail();
    const failing = vi.spyOn(home.platform.mail, 'send').mockRejectedValueOnce(new Problem('invalid-request', 'There is no such mailbox.'));
    expect((await invite(email)).status).toBe(201);
    expect(await home.mail(email)).toEqual([]);
    failing.mockRestore();
    const failed = await ada.send('GET', `${toOrganization}?filter[state]=error`);
    expect(failed.json.map((one: { email: string }) => one.email)).toContain(email);
    expect((await invite(email)).status).toBe(201);
    expect(await home.mail(email)).toHaveLength(1);
  });

  test('is mailed later where the mail server is away just now', async () => {
    const email = freshEmail();
    await sendEarlierMail();
    const failing = vi.spyOn(home.platform.mail, 'send').mockRejectedValueOnce(new Problem('unavailable', 'Mail cannot be sent.'));
    const { status, json } = await invite(email);
    expect(status).toBe(201);
    expect(await home.mail(email)).toEqual([]);
    failing.mockRestore();
    expect((await ada.send('GET', `${toOrganization}/${json.id}`)).json.state).toBe('pending');
    await home.platform.db
      .updateTable('delivery_lanes')
      .set({ due_at: sql<string>`now()` })
      .where('order_key', '=', `mail to ${email}`)
      .execute();
    expect(await home.mail(email)).toHaveLength(1);
  });

  test('cannot be used to fill a mailbox', async () => {
    const email = freshEmail();
    const replies = [];
    for (let n = 0; n < 6; n += 1) replies.push((await invite(email, { force: true })).status);
    expect(replies.at(-1)).toBe(429);
    expect((await home.mail(email)).length).toBeLessThan(6);
  });

  test('stops at the number of users that the operator set, also by way of a project', async () => {
    const { json } = await ada.send('POST', '/organizations', { label: 'Small' });
    await setUsersMax(home.platform.db, json.id, 3);
    const path = `/organizations/${json.id}/invitations`;
    const emails = Array.from({ length: 4 }, freshEmail);
    const replies = await Promise.all(emails.map((email) => invite(email, {}, ada, path)));
    expect(statusesOf(replies)).toEqual([201, 201, 402, 402]);
    const small = await insertProject(home.platform.db, { id: shortId(), organization_id: json.id, region: 'local', status: 'active' });
    expect(await invite(freshEmail(), {}, ada, `/projects/${small.id}/invitations`)).toMatchObject({
      status: 402,
      json: { error: expect.stringContaining('3 users') },
    });
    const invitedAlready = replies.find(({ status }) => status === 201)?.json.email;
    expect((await invite(invitedAlready, {}, ada, `/projects/${small.id}/invitations`)).status).toBe(201);
    expect((await invite(invitedAlready, { force: true }, ada, path)).status).toBe(201);
    await setUsersMax(home.platform.db, json.id, 1);
    const page = openBrowser();
    await page.visit(await linkFor(invitedAlready));
    const refusal = await page.submit(newAccount());
    expect({ status: refusal.status, text: refusal.text }).toMatchObject({ status: 402, text: expect.stringContaining('one user') });
    expect(await userWith(invitedAlready)).toBeUndefined();
  });
});

describe('inviting to a project', () => {
  test('answers role and environments, and mails the link', async () => {
    const { json, email } = await invited(
      {
        role: 'viewer',
        permissions: [
          { type: 'production', role: 'viewer' },
          { type: 'development', role: 'admin' },
        ],
        environments: [{ id: 'main', role: 'admin' }],
      },
      toProject,
    );
    expect(json).toMatchObject({
      project_id: projectId,
      role: 'viewer',
      environments: [
        { id: 'development', type: 'development', role: 'admin', title: 'Development' },
        { id: 'production', type: 'production', role: 'viewer', title: 'Production' },
      ],
    });
    expect(json.permissions).toBeUndefined();
    expect((await home.mail(email))[0]?.subject).toContain('the project The Shop');
    expect((await invited({ role: 'admin', permissions: [{ type: 'staging', role: 'viewer' }] }, toProject)).json).toMatchObject({
      role: 'admin',
      environments: [],
    });
  });

  test('is for those who administer it', async () => {
    const [viewer, admin] = [await join(['admin']), await join()];
    const grant = (person: Person, permission: string) =>
      ada.send('POST', `/projects/${projectId}/user-access`, [{ user_id: person.user.id, permissions: [permission] }]);
    await grant(viewer, 'viewer');
    await grant(admin, 'admin');
    expect((await invite(freshEmail(), {}, viewer, toProject)).status).toBe(403);
    expect((await invite(freshEmail(), {}, admin, toProject)).status).toBe(201);
    expect((await invite(freshEmail(), {}, await home.person(), toProject)).status).toBe(404);
    for (const person of [ada, viewer, admin]) {
      expect(await invite(person.user.email, {}, ada, toProject)).toMatchObject({ status: 409, json: { error: expect.any(String) } });
    }
    expect((await invite((await join()).user.email, {}, ada, toProject)).status).toBe(201);
  });

  test.for([
    { role: 'owner' },
    { permissions: [{ type: 'testing', role: 'admin' }] },
    { permissions: [{ type: 'staging', role: 'owner' }] },
    { permissions: [{ type: 'staging' }, { type: 'staging', role: 'admin' }] },
    {
      permissions: [
        { type: 'staging', role: 'viewer' },
        { type: 'staging', role: 'admin' },
      ],
    },
    { permissions: ['admin'] },
    { environments: [{ id: 5, role: 'admin' }] },
    { force: 1 },
    { organization_id: 'x' },
  ])('refuses %j', async (fields) => {
    expect((await invite(freshEmail(), fields, ada, toProject)).status).toBe(400);
  });

  test('and to its organization are two invitations', async () => {
    const { email } = await invited();
    expect((await invite(email, {}, ada, toProject)).status).toBe(201);
    expect((await invite(email, {}, ada, toProject)).status).toBe(409);
  });
});

describe('the list of invitations', () => {
  test('is a bare array of the pending, pageable, or of any other state', async () => {
    const path = `/projects/${(await project()).id}/invitations`;
    const made = [];
    for (let n = 0; n < 3; n += 1) made.push(await invited({}, path));
    await ada.send('DELETE', `${path}/${made[0]?.json.id}`);
    const idsIn = async (query: string) => (await ada.send('GET', `${path}?${query}`)).json.map(({ id }: { id: string }) => id);
    const ids = made.map(({ json }) => json.id);
    expect(await idsIn('')).toEqual(ids.slice(1));
    expect(await idsIn('sort=-updated_at&page[size]=1')).toEqual(ids.slice(2));
    expect(await idsIn('filter[state]=cancelled')).toEqual(ids.slice(0, 1));
    expect(await idsIn('filter[state][in]=pending,cancelled&sort=updated_at')).toEqual([ids[1], ids[2], ids[0]]);
    expect(await idsIn('filter[state]=rubbish')).toEqual([]);
    for (const query of ['sort=email', 'filter[email]=x', 'page[size]=1000']) {
      expect((await ada.send('GET', `${path}?${query}`)).status).toBe(400);
    }
    expect((await (await join()).send('GET', path)).status).toBe(404);
    expect((await (await join()).send('GET', toOrganization)).status).toBe(403);
  });

  test('shows those that expired as failed, and lets them be made anew', async () => {
    const { email, link, json } = await invited();
    await home.platform.db.updateTable('invitations').set({ expires_at: '2020-01-01T00:00:00Z' }).where('id', '=', json.id).execute();
    expect(await stateOf({ json })).toBe('error');
    expect((await ada.send('GET', toOrganization)).json.map(({ id }: { id: string }) => id)).not.toContain(json.id);
    const browser = openBrowser();
    expect((await browser.visit(link)).status).toBe(410);
    expect((await browser.submit(newAccount())).status).toBe(410);
    expect((await invite(email)).status).toBe(201);
  });
});

describe('cancelling', () => {
  test.for(['organization', 'project'])('an invitation to the %s works once; then it is gone', async (kind) => {
    const path = kind === 'project' ? toProject : toOrganization;
    const { link, json } = await invited({}, path);
    expect((await (await join()).send('DELETE', `${path}/${json.id}`)).status).toBe(404);
    expect(await ada.send('DELETE', `${path}/${json.id}`)).toMatchObject({ status: 204, text: '' });
    expect((await ada.send('DELETE', `${path}/${json.id}`)).status).toBe(404);
    expect((await openBrowser().visit(link)).status).toBe(410);
    expect((await ada.send('GET', `${path}/${json.id}`)).json).toMatchObject({ state: 'cancelled', finished_at: expect.any(String) });
    const other = kind === 'project' ? toOrganization : toProject;
    const second = await invited({}, path);
    expect((await ada.send('DELETE', `${other}/${second.json.id}`)).status).toBe(404);
  });
});

describe('accepting', () => {
  test('without an account makes one with the invited address, which can sign in', async () => {
    const { email, link, json } = await invited({ permissions: ['members', 'projects:list'] });
    const browser = openBrowser();
    const page = await browser.visit(link);
    expect(page.status).toBe(200);
    for (const part of [
      'Ada &lt;b&gt;Lovelace',
      'Engines &amp; Sons',
      email,
      'lang="en"',
      '<label for="password"',
      'autocomplete="new-password"',
    ]) {
      expect(page.text).toContain(part);
    }
    expect(page.text).not.toContain('<script');
    expect(page.headers['content-security-policy']).toContain("form-action 'self'");
    expect(await stateOf({ json })).toBe('pending');

    const done = await browser.submit(newAccount());
    expect({ status: done.status, text: done.text }).toMatchObject({ status: 200, text: expect.stringContaining('Welcome') });
    expect(await userWith(email)).toMatchObject({ first_name: 'Grace', email_verified: true, is_operator: false });
    expect(await memberWith(email)).toMatchObject({ permissions: ['members', 'projects:list'], owner: false });
    expect((await ada.send('GET', `${toOrganization}/${json.id}`)).json).toMatchObject({
      state: 'accepted',
      finished_at: expect.any(String),
    });
    expect((await ada.send('DELETE', `${toOrganization}/${json.id}`)).status).toBe(404);
    expect((await browser.visit(link)).status).toBe(410);
    expect((await browser.submit(newAccount())).status).toBe(410);

    const second = await invited(
      {},
      `/organizations/${(await ada.send('POST', '/organizations', { label: 'Second' })).json.id}/invitations`,
      email,
    );
    await browser.visit(second.link);
    await browser.submit({ answer: 'sign-in' });
    expect((await browser.signIn(email, 'a good password')).location).toContain('/signed-in');
  });

  test('with an account takes signing in as it', async () => {
    const [bob, carol] = [await home.person({ password_hash }), await home.person({ password_hash })];
    const { link, json } = await invited({ permissions: ['plans'] }, toOrganization, bob.user.email);
    const browser = openBrowser();
    const first = await browser.visit(link);
    expect(first.text).toContain('Sign in');
    expect(first.text).not.toContain('name="password"');
    expect((await browser.submit(newAccount())).text).toContain('value="' + bob.user.email);

    await browser.visit(link);
    const page = await signIn(browser, bob.user.email);
    expect(browser.address).toBe(link);
    expect(page.text).toContain('>Accept</button>');
    expect(await stateOf({ json })).toBe('pending');

    const others = openBrowser();
    await others.visit(link);
    await others.submit({ answer: 'sign-in' });
    const { location = '' } = await others.signIn(carol.user.email);
    const wrong = await others.visit(location.replace('http://127.0.0.1:8080', ''));
    expect(wrong.text).toContain(`signed in as <strong>${carol.user.email}</strong>`);
    expect((await others.submit({ answer: 'accept' })).text).toContain('<h1>Sign in</h1>');
    expect(await stateOf({ json })).toBe('pending');

    expect((await browser.submit({ answer: 'accept' })).text).toContain('Welcome');
    expect(await memberWith(bob.user.email)).toMatchObject({ permissions: ['plans'] });
    expect((await bob.send('GET', `/organizations/${organizationId}`)).status).toBe(200);
    expect((await ada.send('GET', `/organizations/${organizationId}/members/${carol.user.id}`)).status).toBe(404);
  });

  test('to a project makes a member without permissions, with access to the project', async () => {
    const bob = await home.person({ password_hash });
    const { link } = await invited({ permissions: [{ type: 'staging', role: 'contributor' }] }, toProject, bob.user.email);
    const browser = openBrowser();
    expect((await browser.visit(link)).text).toContain('the project The Shop of Engines &amp; Sons');
    await signIn(browser, bob.user.email);
    expect((await browser.submit({ answer: 'accept' })).text).toContain('Welcome');
    expect(await memberWith(bob.user.email)).toMatchObject({ permissions: [], level: 'admin' });
    const { json } = await bob.send('GET', `/projects/${projectId}/user-access/${bob.user.id}`);
    expect(json.permissions).toEqual(['viewer', 'staging:contributor']);
  });

  test('adds to what a member has', async () => {
    const bob = await home.person({ password_hash });
    const { link } = await invited({ permissions: ['plans'] }, toOrganization, bob.user.email);
    await ada.send('POST', `/organizations/${organizationId}/members`, { user_id: bob.user.id, permissions: ['billing'] });
    const browser = openBrowser();
    await browser.visit(link);
    await signIn(browser, bob.user.email);
    await browser.submit({ answer: 'accept' });
    expect((await memberWith(bob.user.email)).permissions).toEqual(['billing', 'plans']);
  });

  test.for([
    [{ username: '' }, 'username'],
    [{ username: 'a b' }, 'username'],
    [{ username: '<script>' }, 'username'],
    [{ password: 'short' }, 'password'],
    [{ password: 'x'.repeat(201) }, 'password'],
    [{ password: 'nul\0nul\0nul' }, 'password'],
    [{ first_name: 'a\nb' }, 'name'],
    [{ last_name: 'x'.repeat(101) }, 'name'],
  ] as const)('refuses %j with a sentence, and keeps what was typed', async ([fields, word]) => {
    const { email, link } = await invited();
    const browser = openBrowser();
    await browser.visit(link);
    const refused = await browser.submit(newAccount({ ...fields }));
    expect(refused.status).toBe(400);
    expect(/role="alert">([^<]+)</.exec(refused.text)?.[1]).toContain(word);
    expect(refused.text).not.toContain('<script>');
    expect(await userWith(email)).toBeUndefined();
    expect((await browser.submit(newAccount())).text).toContain('Welcome');
  });

  test('under a username that is taken is refused, and nothing is left behind', async () => {
    const { email, link, json } = await invited();
    const browser = openBrowser();
    await browser.visit(link);
    expect(await browser.submit(newAccount({ username: ada.user.username.toUpperCase() }))).toMatchObject({
      status: 409,
      text: expect.stringContaining('taken'),
    });
    expect(await userWith(email)).toBeUndefined();
    expect(await stateOf({ json })).toBe('pending');
  });

  test('from another site is refused', async () => {
    const { email, link } = await invited();
    const browser = openBrowser();
    await browser.visit(link);
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'none' }]) {
      expect((await browser.submit(newAccount(), headers)).status).toBe(403);
    }
    expect(
      (await home.send({ method: 'POST', url: link, headers: { origin: 'https://evil.example' }, payload: 'answer=accept' })).status,
    ).toBe(403);
    expect(await userWith(email)).toBeUndefined();
  });

  test.for(['', '?token=', '?token=x', `?token=${'a'.repeat(5000)}`, '?token[]=x', '?token=%00', '?token=%ff'])(
    'with the link %s leads nowhere',
    async (query) => {
      const browser = openBrowser();
      expect((await browser.visit(`/accept-invitation${query}`)).status).toBe(410);
      expect((await browser.submit(newAccount())).status).toBe(410);
    },
  );

  test('what the inviter could no longer give is refused', async () => {
    const manager = await join(['members', 'plans']);
    const email = freshEmail();
    await invite(email, { permissions: ['plans'] }, manager);
    const browser = openBrowser();
    await browser.visit(await linkFor(email));
    const at = `/organizations/${organizationId}/members/${manager.user.id}`;
    for (const takeAway of [() => ada.send('PATCH', at, { permissions: ['members'] }), () => ada.send('DELETE', at)]) {
      expect((await takeAway()).status).toBeLessThan(300);
      expect(await browser.submit(newAccount())).toMatchObject({ status: 403, text: expect.stringContaining('no longer') });
    }
    expect(await userWith(email)).toBeUndefined();
  });

  test('to what was deleted meanwhile leads nowhere', async () => {
    const { json } = await ada.send('POST', '/organizations', { label: 'Brief' });
    const { link } = await invited({}, `/organizations/${json.id}/invitations`);
    await ada.send('DELETE', `/organizations/${json.id}`);
    expect((await openBrowser().visit(link)).status).toBe(410);
  });
});

describe('at the same moment', () => {
  test('two acceptances of one invitation: one wins', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { email, link } = await invited({ permissions: ['billing'] });
      const replies = await Promise.all(
        [1, 2, 3].map(async () => {
          const browser = openBrowser();
          await browser.visit(link);
          return browser.submit(newAccount());
        }),
      );
      expect(statusesOf(replies)).toEqual([200, 410, 410]);
      expect(await memberWith(email)).toMatchObject({ permissions: ['billing'] });
    }
  });

  test('two invitations of one new address: one makes the account, the other asks to sign in', async () => {
    const first = await invited();
    const second = await invited({}, toProject, first.email);
    const browsers = [openBrowser(), openBrowser()];
    for (const [n, { link }] of [first, second].entries()) await browsers[n]?.visit(link);
    const replies = await Promise.all(browsers.map((browser) => browser.submit(newAccount())));
    expect(replies.filter(({ text }) => text.includes('Welcome'))).toHaveLength(1);
    expect(replies.map(({ status }) => status).every((status) => status < 500)).toBe(true);
  });

  test('accepting and cancelling: one of them happened', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { email, link, json } = await invited();
      const browser = openBrowser();
      await browser.visit(link);
      const [accepted, cancelled] = await Promise.all([browser.submit(newAccount()), ada.send('DELETE', `${toOrganization}/${json.id}`)]);
      expect([
        [200, 404],
        [410, 204],
      ]).toContainEqual([accepted.status, cancelled.status]);
      expect((await userWith(email)) !== undefined).toBe(accepted.status === 200);
    }
  });

  test('accepting and deleting the organization: nothing is left over, and nobody waits for ever', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { json } = await ada.send('POST', '/organizations', { label: 'Brief' });
      const { email, link } = await invited({}, `/organizations/${json.id}/invitations`);
      const browser = openBrowser();
      await browser.visit(link);
      const [accepted, removed, again] = await Promise.all([
        browser.submit(newAccount()),
        ada.send('DELETE', `/organizations/${json.id}`),
        invite(freshEmail(), {}, ada, `/organizations/${json.id}/invitations`),
      ]);
      expect([200, 410]).toContain(accepted.status);
      expect([201, 404]).toContain(again.status);
      expect(removed.status).toBe(204);
      expect((await userWith(email)) !== undefined).toBe(accepted.status === 200);
    }
  });
});

describe('the way back from signing in', () => {
  test('leads only where it began', async () => {
    for (const state of ['', '/accept-invitation', 'https://evil.example', `${'a'.repeat(43)}//evil.example`]) {
      const reply = await home.send({ url: `/signed-in?state=${encodeURIComponent(state)}` });
      expect({ state, status: reply.status, location: reply.headers['location'] }).toEqual({ state, status: 400, location: undefined });
    }
  });

  test('does not count somebody who has shown only the first of two factors', async () => {
    const bob = await home.person({ password_hash });
    await home.platform.db.updateTable('users').set({ mfa_enabled: true }).where('id', '=', bob.user.id).execute();
    const { link, json } = await invited({}, toOrganization, bob.user.email);
    const browser = openBrowser();
    await browser.visit(link);
    await browser.submit({ answer: 'sign-in' });
    expect((await browser.signIn(bob.user.email, password)).text).toContain('name="passcode"');
    expect((await browser.visit(link)).text).not.toContain('>Accept</button>');
    await browser.submit({ answer: 'accept' });
    expect(await stateOf({ json })).toBe('pending');
  });

  test('gives our pages no token to act with', async () => {
    const { status } = await home.send({
      method: 'POST',
      url: '/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'client_id=offshoot-pages&grant_type=authorization_code&code=x&redirect_uri=x&code_verifier=x',
    });
    expect(status).toBe(401);
  });
});

describe('somebody else’s invitation', () => {
  test('is not had by its id, its fingerprint or a part of its token', async () => {
    const { link, json } = await invited();
    const token = new URL(link, 'http://x').searchParams.get('token') ?? '';
    const eve = openBrowser();
    for (const guess of [
      json.id,
      fingerprint(token),
      token.slice(0, -1),
      `${token}A`,
      token.toUpperCase(),
      token.toLowerCase(),
      `${token}\0`,
    ]) {
      const page = await eve.visit(`/accept-invitation?token=${encodeURIComponent(guess)}`);
      expect({ guess, status: page.status }).toEqual({ guess, status: 410 });
      expect((await eve.submit(newAccount())).status).toBe(410);
    }
    expect(await stateOf({ json })).toBe('pending');
  });

  test('is not taken over by moving an account to its address: that asks whoever reads the mail there', async () => {
    const eve = await home.person({ password_hash });
    const { email, json } = await invited();
    expect((await eve.send('POST', `/users/${eve.user.id}/emailaddress`, { email_address: email })).status).toBe(204);
    expect((await eve.send('PATCH', `/users/${eve.user.id}`, { email })).status).toBe(400);
    expect((await home.mail(eve.user.email)).map(({ subject }) => subject)).toEqual([]);
    expect(await userWith(email)).toBeUndefined();
    for (const path of [toOrganization, `${toOrganization}/${json.id}`]) expect((await eve.send('GET', path)).status).toBe(404);
  });

  test.for([
    ['in capitals', (email: string) => email.toUpperCase()],
    ['with the Kelvin sign in place of a K', (email: string) => email.replace('k', '\u212a')],
  ] as const)('goes to one address, however it is spelt: %s', async ([, spelt]) => {
    const email = `k-${freshEmail()}`;
    const { status, json } = await invite(spelt(email));
    expect({ status, email: json.email }).toEqual({ status: 201, email });
    expect((await invite(email)).status).toBe(409);
    expect(await linkFor(email)).toContain('token=');
  });

  test.for([
    ['\u0131nfo@example.org', 201],
    ['\uff49nfo@example.org', 201],
    ['info@ex\u0430mple.org', 400],
    ['info\u200b@example.org', 400],
    ['info@example.org\u0000', 400],
    ['info@example.org ', 400],
  ] as const)('is not had by an address that only looks like it: %j is another, or none', async ([email, expected]) => {
    const { status } = await invite(email);
    const others = await home.platform.db.selectFrom('invitations').select('email').where('email', '=', 'info@example.org').execute();
    expect({ status, others, mail: await home.mail('info@example.org') }).toEqual({ status: expected, others: [], mail: [] });
  });

  test('is mailed with our own address, whatever host the request names', async () => {
    const email = freshEmail();
    const { status } = await home.send({
      method: 'POST',
      url: toOrganization,
      headers: {
        authorization: `Bearer ${ada.accessToken}`,
        'content-type': 'application/json',
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      },
      payload: JSON.stringify({ email, permissions: [] }),
    });
    expect(status).toBe(201);
    expect(JSON.stringify(await home.mail(email))).not.toContain('evil.example');
    expect(await linkFor(email)).toContain('token=');
  });

  test('cannot be accepted by a guesser who takes the places of the invited: a neighbour’s guesses count for nobody else', async () => {
    const { link } = await invited();
    const browser = openBrowser();
    const neighbour = openBrowserOf(home, browser.remoteAddress);
    await neighbour.visit('/accept-invitation?token=guess');
    const answers: number[] = [];
    for (let n = 0; n < 31; n += 1) answers.push((await neighbour.submit(newAccount())).status);
    expect(answers).toEqual([...Array<number>(30).fill(410), 429]);
    await browser.visit(link);
    expect((await browser.submit(newAccount())).text).toContain('Welcome');
  });
});

test('whoever is removed cannot walk back in by an invitation that still waits for them', async () => {
  const bob = await join();
  const waiting = await invited({ role: 'admin', permissions: [] }, toProject, bob.user.email);
  expect((await ada.send('DELETE', `/organizations/${organizationId}/members/${bob.user.id}`)).status).toBe(204);
  expect(await stateOf(waiting, toProject)).not.toBe('pending');
  expect((await openBrowser().visit(waiting.link)).status).toBe(410);
});

test('nothing of this was a bug', () => {
  expect(home.logLines.filter((line) => line.includes('"bug"'))).toEqual([]);
});

test('an invitation to an organization that was suspended since stays open, and is accepted once it is resumed', async () => {
  const { db } = home.platform;
  const { email, link } = await invited();
  const token = new URLSearchParams(link.split('?')[1]).get('token') ?? '';
  const guest = await home.person({ email });
  const accept = () => acceptInvitation(db, token, () => Promise.resolve(guest.user.id));
  await db.transaction().execute((tx) => suspendOrganization(tx, home.platform, organizationId, ''));
  await expect(accept()).rejects.toThrow('is suspended, so nobody can join it now; open this invitation again once it is resumed.');
  expect((await invite(freshEmail())).status).toBe(402);
  await db.transaction().execute((tx) => resumeOrganization(tx, home.platform, organizationId));
  await accept();
  expect((await memberWith(email)).user_id).toBe(guest.user.id);
});
