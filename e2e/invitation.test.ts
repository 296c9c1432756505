import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { focused, signIn, tabTo, typeInto } from './at-the-keyboard.ts';
import { openBrowser } from './browser.ts';
import type { Installation } from './installation.ts';
import { letterTo, lettersTo, linkIn } from './mail.ts';
import { openNativeClient } from './native-client.ts';
import { sharedInstallation, type SharedInstallation } from './shared-installation.ts';

const grace = 'grace@example.org';
const [ada, mallory] = ['ada@example.org', 'mallory@example.org'];
const linus = 'linus@example.org';
const password = 'a-password-of-her-own';

const shared = sharedInstallation();

test('an invited person without an account makes one with the keyboard alone, and is a member', async () => {
  const { installation } = shared;
  const organization = await createOrganization(shared);
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;

  const letter = await organization.invite(grace, ['billing']);
  const link = linkIn(letter);
  expect(letter.subject).toBe('admin invites you to the organization Analytical Engines');
  expect(letter.text).toContain(`only for ${grace}`);
  expect(letter.written).toContain(link);

  await page.goto(link);
  expect(await page.title()).toBe('Accept the invitation · Offshoot');
  await page.getByRole('heading', { name: 'admin invites you' }).waitFor();
  expect(await page.getByRole('main').innerText()).toContain(`You are invited to the organization Analytical Engines, as ${grace}.`);
  expect(await page.getByLabel('Username').inputValue()).toBe('grace');
  expect(await page.getByRole('alert').count()).toBe(0);

  await typeInto(page, 'First name', 'Grace');
  await typeInto(page, 'Last name', 'Hopper');
  await typeInto(page, 'Username', 'admin');
  await typeInto(page, 'Password', password);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').innerText()).toMatch(/username/);
  expect(await page.getByLabel('Username').inputValue()).toBe('admin');
  expect(await page.getByLabel('First name').inputValue()).toBe('Grace');
  expect(await page.getByLabel('Password').inputValue()).toBe('');
  expect(await organization.memberEmails()).not.toContain(grace);

  await typeInto(page, 'Username', 'hopper');
  await typeInto(page, 'Password', password);
  await tabTo(page, 'Create the account and accept');
  await page.keyboard.press('Space');
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
  expect(await page.getByRole('main').innerText()).toContain('You now belong to the organization Analytical Engines.');
  expect(await organization.memberEmails()).toContain(grace);
  expect(await organization.stateOf(grace)).toBe('accepted');

  const token = await signInThrough(installation, page, 'hopper', password);
  const me = (await send(installation.url, token, 'GET', '/users/me')).json;
  expect(me).toMatchObject({ email: grace, username: 'hopper', first_name: 'Grace', last_name: 'Hopper' });
  const memberships = await send(installation.url, token, 'GET', `/users/${me.id}/organizations`);
  expect(memberships.json.items).toMatchObject([{ label: 'Analytical Engines' }]);
  expect(await organization.permissionsOf(me.id)).toEqual(['billing']);

  await expectUsed(page, link);
  expect(mistakes).toEqual([]);
});

test('an invited person with an account is asked to sign in; somebody else does not get in with the link', async () => {
  const { installation } = shared;
  const organization = await createOrganization(shared);
  for (const email of [ada, mallory]) {
    await installation.run(['user', 'create', email, '--password-stdin'], { input: `${password}\n` });
  }
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  const accept = page.getByRole('button', { name: 'Accept' });

  const link = linkIn(await organization.invite(ada, []));
  await page.goto(link);
  await page.getByText(`Sign in as ${ada} to accept.`).waitFor();
  expect([await accept.count(), await page.getByLabel('Password').count()]).toEqual([0, 0]);

  await tabTo(page, 'Sign in');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.getByLabel('E-mail or username').inputValue()).toBe(ada);
  expect(await focused(page)).toBe('Password');
  await signIn(page, mallory, password);
  await page.getByText(`You are signed in as ${mallory}. Sign in as ${ada} to accept.`).waitFor();
  expect(page.url()).toBe(link);
  expect(await accept.count()).toBe(0);
  const forced = await page.request.post(link, { form: { answer: 'accept', username: 'mallory2', password } });
  expect(await forced.text()).not.toContain('Welcome');
  expect(await organization.stateOf(ada)).toBe('pending');
  expect(await organization.memberEmails()).not.toContain(mallory);

  const signInButton = page.getByRole('button', { name: 'Sign in' });
  await page.goto(link);
  await signInButton.click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText(`Sign in as ${ada} to accept.`).waitFor();
  await signInButton.click();
  await signIn(page, ada, password);
  await accept.click();
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
  expect(await organization.memberEmails()).toContain(ada);
  expect(await organization.memberEmails()).not.toContain(mallory);

  await expectUsed(page, link);
  expect(mistakes).toEqual([]);
});

test('a cancelled invitation does not work; nor does a link that nobody sent', async () => {
  const { installation } = shared;
  const organization = await createOrganization(shared);
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  const link = linkIn(await organization.invite(linus, []));
  await page.goto(link);
  await typeInto(page, 'Password', password);
  await organization.cancel(linus);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'This invitation does not work' }).waitFor();
  for (const address of [link, `${installation.url}/accept-invitation?token=a-guess`, `${installation.url}/accept-invitation`]) {
    await expectUsed(page, address);
  }
  expect(await lettersTo(installation.data, linus)).toHaveLength(1);
  expect(await organization.memberEmails()).not.toContain(linus);
  expect(mistakes).toEqual([]);
});

async function createOrganization({ installation: { url, data }, credentials }: SharedInstallation) {
  const token = await accessToken(url, credentials.apiToken);
  const { status, json } = await send(url, token, 'POST', '/organizations', { label: 'Analytical Engines' });
  expect(status).toBe(201);
  const path = `/organizations/${json.id}`;
  const invitations: Record<string, string> = {};
  return {
    async invite(email: string, permissions: string[]) {
      const reply = await send(url, token, 'POST', `${path}/invitations`, { email, permissions });
      expect(reply).toMatchObject({ status: 201, json: { state: 'pending' } });
      invitations[email] = `${path}/invitations/${reply.json.id}`;
      return letterTo(data, email, /invites you to/);
    },
    async cancel(email: string) {
      expect((await send(url, token, 'DELETE', invitations[email] ?? '')).status).toBe(204);
    },
    stateOf: async (email: string): Promise<string> => (await send(url, token, 'GET', invitations[email] ?? '')).json.state,
    permissionsOf: async (userId: string): Promise<string[]> =>
      (await send(url, token, 'GET', `${path}/members/${userId}`)).json.permissions,
    async memberEmails(): Promise<string[]> {
      const members = (await send(url, token, 'GET', `${path}/members`)).json;
      const users: Record<string, { email: string }> = (await send(url, token, 'GET', members._links['ref:users:0'].href)).json;
      return Object.values(users).map(({ email }) => email);
    },
  };
}

/** Through a program, as everybody does who uses the platform. Answers its access token. */
async function signInThrough({ url }: Installation, page: Page, login: string, secret: string): Promise<string> {
  await using client = await openNativeClient(url);
  await page.goto(client.address);
  await signIn(page, login, secret);
  await page.getByRole('button', { name: 'Allow' }).click();
  return (await client.redeem((await client.untilReturned()).get('code') ?? '')).json.access_token;
}

async function expectUsed(page: Page, link: string) {
  const reply = await page.goto(link);
  expect(reply?.status()).toBe(410);
  await page.getByRole('heading', { name: 'This invitation does not work' }).waitFor();
  expect(await page.getByRole('alert').innerText()).toBe('This invitation was already used, was cancelled, or has expired.');
}
