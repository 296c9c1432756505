import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditConsole } from './accessibility.ts';
import { accessToken, send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import { passcode } from './authenticator.ts';
import { openBrowser } from './browser.ts';
import { openVisitedProject, useEnvironmentPages } from './console-environment.ts';
import { eventually } from './eventually.ts';
import { createInstallation, type Installation } from './installation.ts';
import { personWith } from './open-project.ts';
import { invitesSomebody } from './people-in-the-console.ts';
import { createProject } from './project.ts';
import { canRunContainers } from '../server/testing/images.ts';

const builtSecondsMax = 120;
const flowMilliseconds = 480_000;
const phone = { width: 390, height: 844 };

/** The console of a version is built in the background, after its first start on a machine. */
const untilBuilt = (url: string) =>
  eventually('the console is built', async () => (await fetch(new URL('/console', url))).status === 200, builtSecondsMax);

/** All tests are about one platform, which has a project without code; each has a browser of its own. */
let installation: Installation;
let admin: { email: string; password: string; apiToken: string };
let project: string;
let organization: string;

beforeAll(async () => {
  installation = await createInstallation();
  const { email, password, apiToken } = await (await installation.start()).credentials();
  const token = await accessToken(installation.url, apiToken);
  admin = { email, password, apiToken };
  project = await createProject(installation.url, token);
  organization = (await send(installation.url, token, 'GET', `/projects/${project}`)).json.organization;
  await untilBuilt(installation.url);
});
afterAll(() => installation[Symbol.asyncDispose]());

const consoleAt = (path: string) => `${installation.url}/console${path}`;
const api = (token: string, method: string, path: string, body?: unknown) => send(installation.url, token, method, path, body);

/** The names of all buttons and links to press in the content, once everything is there. */
async function offered(page: Page): Promise<string[]> {
  await page.locator('.bones').first().waitFor({ state: 'detached' });
  return page.locator('main button, .project-head button, .project-head a.button, main a.button').allInnerTexts();
}

test('a person opens the address of the platform, signs in, sees a project, makes an API token that works, revokes it, and signs out', async () => {
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  const { email, password } = admin;

  await page.goto(installation.url);
  await signIn(page, email, password);
  await page.getByRole('heading', { name: 'Projects' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/console/');
  await page.getByRole('link', { name: 'Shop' }).click();
  await page.getByRole('heading', { name: 'Waiting for the first push' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/console/projects/${project}`);
  await page.goBack();
  await page.getByRole('heading', { name: 'Projects' }).waitFor();

  await page.getByLabel('Your account', { exact: true }).click();
  await page.getByRole('link', { name: 'API tokens' }).click();
  await page.getByRole('button', { name: 'New API token' }).click();
  await page.getByLabel('Name').fill('From the console');
  await page.getByRole('button', { name: 'Create the token' }).click();
  const secret = await page.getByRole('region', { name: 'Your new API token' }).locator('[data-token]').innerText();
  const token = await accessToken(installation.url, secret);
  expect(await api(token, 'GET', '/users/me')).toMatchObject({ status: 200, json: { email } });

  // A reload is a new page without anything in its memory: it is still signed in, and the secret is gone.
  await page.reload();
  await page.getByRole('row', { name: 'From the console' }).waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(await page.evaluate('JSON.stringify(localStorage)')).toBe('{}');
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toMatch(/token|eyJ/i);

  const team = (await api(token, 'POST', '/teams', { organization_id: organization, label: 'Designers' })).json.id as string;
  expect(await auditConsole(page, installation.url, { project, organization, team, environment: 'main' })).toEqual([]);
  await page.goto(consoleAt('/account/api-tokens'));

  await page.getByRole('button', { name: 'Revoke From the console' }).click();
  await page.getByRole('button', { name: 'Revoke the token' }).click();
  await page.getByRole('row', { name: 'From the console' }).waitFor({ state: 'detached' });
  expect((await api(token, 'GET', '/users/me')).status).toBe(401);

  await page.getByLabel('Your account', { exact: true }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await page.goto(consoleAt(`/projects/${project}`));
  await page.getByLabel('Password').waitFor();
  expect(mistakes).toEqual([]);
});

test('an operator looks at the installation, changes what an organization may have, and sees on a phone what is not possible just now and why', async () => {
  const adminToken = await accessToken(installation.url, admin.apiToken);
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  await page.goto(consoleAt('/'));
  await signIn(page, admin.email, admin.password);
  await page.getByLabel('Your account', { exact: true }).click();
  await page.getByRole('link', { name: 'Installation' }).click();
  await page.getByRole('row', { name: /^Memory/ }).waitFor();
  const pages = page.getByRole('navigation', { name: 'Pages of the installation' });

  await pages.getByRole('link', { name: 'Health' }).click();
  await page.getByRole('row', { name: /^git In order/ }).waitFor();
  await page.getByRole('table', { name: 'Reconcilers' }).waitFor();

  await pages.getByRole('link', { name: 'Organizations' }).click();
  await page.getByRole('button', { name: 'Change the limits of Acme' }).click();
  await page.getByRole('spinbutton', { name: 'Projects' }).fill('1');
  await page.getByRole('button', { name: 'Change them' }).click();
  await page.getByRole('row', { name: /^Acme .* 1 of 1\b/ }).waitFor();
  const another = await api(adminToken, 'POST', `/organizations/${organization}/projects`, { region: 'offshoot', title: 'Another' });
  expect(another.status).toBe(402);
  await page.getByRole('searchbox', { name: 'Find an organization' }).fill('nobody');
  await page.getByText('No organization is called that.').waitFor();
  expect(new URL(page.url()).search).toBe('?search=nobody');

  await pages.getByRole('link', { name: 'Users' }).click();
  await page.getByRole('row', { name: admin.email }).waitFor();
  await pages.getByRole('link', { name: 'Sessions' }).click();
  await page.getByRole('row', { name: /here, now/ }).waitFor();

  await page.setViewportSize(phone);
  const at = `/projects/${project}/environments/main`;
  await page.goto(consoleAt(at));
  const { _links, _not_now } = (await api(adminToken, 'GET', at)).json;
  expect(_links).not.toHaveProperty('#branch');
  const branch = page.getByRole('button', { name: 'Branch', disabled: true });
  await branch.click({ force: true });
  const reason = page.getByRole('tooltip').filter({ hasText: _not_now['#branch'] });
  await reason.waitFor();
  expect(await branch.getAttribute('aria-describedby')).toBe(await reason.getAttribute('id'));
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(mistakes).toEqual([]);
});

test('a viewer with a second factor signs in, sees no button for what the API would refuse, and nothing of the installation', async () => {
  const [joan, password] = ['joan@example.org', 'a-password-of-her-own'];
  const adminToken = await accessToken(installation.url, admin.apiToken);
  await installation.run(['user', 'create', joan, '--password-stdin'], { input: `${password}\n` });
  const token = await accessToken(installation.url, (await installation.run(['token', 'create', joan])).stdout.trim());
  const { id } = (await api(token, 'GET', '/users/me')).json;
  const access = [{ user_id: id, permissions: ['viewer', 'production:viewer'], auto_add_member: true }];
  expect((await api(adminToken, 'POST', `/projects/${project}/user-access`, access)).status).toBeLessThan(300);

  const refused = {
    variables: await api(token, 'POST', `/projects/${project}/variables`, { name: 'env:MODE', value: 'x' }),
    domains: await api(token, 'POST', `/projects/${project}/domains`, { name: 'shop.example.org' }),
    pause: await api(token, 'POST', `/projects/${project}/environments/main/pause`),
    settings: await api(token, 'PATCH', `/projects/${project}`, { title: 'Mine' }),
  };
  for (const [what, { status }] of Object.entries(refused)) expect([what, status]).toEqual([what, 403]);
  const seen = (await api(token, 'GET', `/projects/${project}/environments/main`)).json;
  expect(Object.keys({ ...seen._links, ...seen._not_now })).not.toContain('#pause');
  expect((await api(token, 'GET', '/installation')).status).toBe(404);

  const { secret } = (await api(token, 'GET', `/users/${id}/totp`)).json;
  expect((await api(token, 'POST', `/users/${id}/totp`, { secret, passcode: passcode(secret) })).status).toBe(200);
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  await page.goto(consoleAt(`/projects/${project}/settings`));
  await signIn(page, joan, password);
  // The passcode of now was used to enrol.
  await page.getByLabel('Passcode').fill(passcode(secret, 1));
  await page.keyboard.press('Enter');
  await page.getByText(project, { exact: true }).first().waitFor();
  expect((await offered(page)).join(' ')).not.toMatch(/Change|Delete|Clear/);

  for (const tab of ['variables', 'domains', 'access', 'integrations']) {
    await page.goto(consoleAt(`/projects/${project}/${tab}`));
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    expect([tab, (await offered(page)).filter((name) => /Add|Change|Delete|Remove/.test(name))]).toEqual([tab, []]);
  }
  await page.goto(consoleAt(`/projects/${project}/environments/main`));
  await page.getByRole('heading', { name: 'main', level: 1 }).waitFor();
  expect((await offered(page)).filter((name) => /Merge|Synchronize|Pause|Delete|Back up/.test(name))).toEqual([]);

  await page.goto(consoleAt('/installation'));
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await page.getByLabel('Your account', { exact: true }).click();
  await page.getByRole('link', { name: 'API tokens' }).waitFor();
  expect(await page.locator('.menu-list').getByRole('link', { name: 'Installation' }).count()).toBe(0);
  expect(mistakes).toEqual([]);
});

test('an owner invites somebody, who accepts, is given rights and sets up two factors', async () => {
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  await page.goto(consoleAt('/'));
  await signIn(page, admin.email, admin.password);
  await page.getByRole('heading', { name: 'Projects' }).waitFor();
  await invitesSomebody(page, { url: installation.url, data: installation.data, organization });
  expect(mistakes).toEqual([]);
});

test.runIf(canRunContainers)('the pages of an environment that runs', { timeout: flowMilliseconds }, async () => {
  const visited = await openVisitedProject(personWith(installation.url, admin.apiToken));
  await using browser = await openBrowser(installation.url);
  await browser.page.goto(consoleAt('/'));
  await signIn(browser.page, admin.email, admin.password);
  await browser.page.getByRole('heading', { name: 'Projects' }).waitFor();
  await useEnvironmentPages(browser, installation.url, visited);
  expect(browser.mistakes).toEqual([]);
});
