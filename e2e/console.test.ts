import { expect, test } from 'vitest';
import { auditConsole } from './accessibility.ts';
import { accessToken, send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import { openBrowser } from './browser.ts';
import { openVisitedProject, useEnvironmentPages } from './console-environment.ts';
import { eventually } from './eventually.ts';
import { createInstallation } from './installation.ts';
import { personWith } from './open-project.ts';
import { invitesSomebody } from './people-in-the-console.ts';
import { createProject } from './project.ts';
import { canRunContainers } from '../server/testing/images.ts';

const builtSecondsMax = 120;
const flowMilliseconds = 480_000;

/** The console of a version is built in the background, after its first start on a machine. */
const untilBuilt = (url: string) =>
  eventually('the console is built', async () => (await fetch(new URL('/console', url))).status === 200, builtSecondsMax);

test(
  'a person opens the address of the platform, signs in, sees a project, makes an API token that works, uses the pages of an environment that runs, revokes the token, and signs out',
  { timeout: flowMilliseconds },
  async () => {
    await using installation = await createInstallation();
    const { email, password, apiToken } = await (await installation.start()).credentials();
    const project = await createProject(installation.url, await accessToken(installation.url, apiToken));
    await untilBuilt(installation.url);
    await using browser = await openBrowser(installation.url);
    const { page, mistakes } = browser;

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
    expect(await send(installation.url, token, 'GET', '/users/me')).toMatchObject({ status: 200, json: { email } });

    // A reload is a new page without anything in its memory: it is still signed in, and the secret is gone.
    await page.reload();
    await page.getByRole('row', { name: 'From the console' }).waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await page.evaluate('JSON.stringify(localStorage)')).toBe('{}');
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toMatch(/token|eyJ/i);

    const { organization } = (await send(installation.url, token, 'GET', `/projects/${project}`)).json as { organization: string };
    await invitesSomebody(page, { url: installation.url, data: installation.data, organization });
    const team = (await send(installation.url, token, 'POST', '/teams', { organization_id: organization, label: 'Designers' })).json
      .id as string;
    expect(await auditConsole(page, installation.url, { project, organization, team, environment: 'main' })).toEqual([]);
    if (canRunContainers)
      await useEnvironmentPages(browser, installation.url, await openVisitedProject(personWith(installation.url, apiToken)));
    await page.goto(`${installation.url}/console/account/api-tokens`);

    await page.getByRole('button', { name: 'Revoke From the console' }).click();
    await page.getByRole('button', { name: 'Revoke the token' }).click();
    await page.getByRole('row', { name: 'From the console' }).waitFor({ state: 'detached' });
    expect((await send(installation.url, token, 'GET', '/users/me')).status).toBe(401);

    await page.getByLabel('Your account', { exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    await page.goto(`${installation.url}/console/projects/${project}`);
    await page.getByLabel('Password').waitFor();
    expect(mistakes).toEqual([]);
  },
);
