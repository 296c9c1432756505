/** The pages of a project on which people are let in and services outside are connected, used as somebody uses them who has not read anything. */
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import { openBrowser } from './browser.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp } from './installation.ts';
import { letterTo } from './mail.ts';
import { createProject } from './project.ts';

const builtSecondsMax = 120;

test('a project is connected with a service outside, somebody is invited, a team is let in, and a domain says which record it needs', async () => {
  await using installation = await createInstallation(plainHttp);
  const { url } = installation;
  const { email, password, apiToken } = await (await installation.start()).credentials();
  const token = await accessToken(url, apiToken);
  const project = await createProject(url, token);
  const { organization } = (await send(url, token, 'GET', `/projects/${project}`)).json as { organization: string };
  const team = { organization_id: organization, label: 'Designers', project_permissions: ['viewer', 'staging:contributor'] };
  await send(url, token, 'POST', '/teams', team);
  await send(url, token, 'POST', `/projects/${project}/domains`, { name: 'www.shop.example' });
  await eventually('the console is built', async () => (await fetch(new URL('/console', url))).status === 200, builtSecondsMax);
  await using browser = await openBrowser(url);
  const { page, mistakes } = browser;
  const dialog = page.getByRole('dialog');

  await page.goto(`${url}/console/projects/${project}/integrations`);
  await signIn(page, email, password);

  // The type is chosen first; what the API refuses is said beside its field, also where that was folded away.
  await page.getByRole('button', { name: 'Add an integration' }).click();
  await dialog.getByRole('button', { name: 'webhook A request to an address of yours after activities.' }).click();
  await dialog.getByLabel('Url').fill('hooks.example.org');
  await dialog.getByLabel('Shared key').fill('a secret that signs');
  expect(await dialog.getByLabel('Shared key').getAttribute('type')).toBe('password');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  await dialog.getByText('Url must be a full address').waitFor();
  await dialog.getByLabel('Url').fill('https://hooks.example.org/here');
  await dialog.getByText('More', { exact: true }).click();
  await dialog.getByLabel('Excluded environments').fill('pr-*');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  const panel = page.getByRole('region', { name: /^webhook / });
  await panel.getByText('https://hooks.example.org/here').waitFor();
  const stored = async () =>
    (await send(url, token, 'GET', `/projects/${project}/integrations`)).json.filter(({ type }: { type: string }) => type === 'webhook');
  expect(await stored()).toMatchObject([
    { type: 'webhook', url: 'https://hooks.example.org/here', excluded_environments: ['pr-*'], states: ['complete'], events: ['*'] },
  ]);

  // A form for the next one is empty. A change sends what was changed, and nothing else.
  await page.getByRole('button', { name: 'Add an integration' }).click();
  await dialog.getByRole('button', { name: /^webhook A request/ }).click();
  expect(await dialog.getByLabel('Url').inputValue()).toBe('');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: /^Change webhook/ }).click();
  await dialog.getByLabel('Events').fill('environment.push\nenvironment.branch');
  await dialog.getByLabel('in_progress').check();
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await stored()).toMatchObject([
    { events: ['environment.push', 'environment.branch'], states: ['in_progress', 'complete'], shared_key: 'a secret that signs' },
  ]);
  await page.getByRole('button', { name: /^Delete webhook/ }).click();
  await dialog.getByLabel('Type webhook to confirm').fill('webhook');
  await dialog.getByRole('button', { name: 'Delete it' }).click();
  await panel.waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Access' }).click();
  await page.getByRole('button', { name: 'Invite somebody' }).click();
  await dialog.getByLabel('E-mail').fill('grace@example.org');
  await dialog.getByLabel('On production').selectOption('Viewer');
  await dialog.getByRole('button', { name: 'Send the invitation' }).click();
  const invited = page.getByRole('row', { name: 'grace@example.org' });
  await invited.getByText('invited', { exact: true }).waitFor();
  expect(await invited.getByRole('cell').allInnerTexts()).toEqual(['Viewer', 'Viewer', 'Viewer', 'Contributor', 'Cancel']);
  await letterTo(installation.data, 'grace@example.org', /invite/i);
  await invited.getByRole('button', { name: 'Cancel the invitation of grace@example.org' }).click();
  await dialog.getByRole('button', { name: 'Cancel the invitation' }).click();
  await invited.waitFor({ state: 'detached' });

  await page.getByLabel('Team').selectOption('Designers');
  await page.getByRole('button', { name: 'Let the team in' }).click();
  const designers = page.getByRole('row', { name: 'Designers' });
  await designers.waitFor();
  expect(await designers.getByRole('cell').allInnerTexts()).toEqual(['Viewer', 'No access', 'Contributor', 'No access', 'Remove']);
  await designers.getByRole('button', { name: 'Remove Designers' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await designers.waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Domains' }).click();
  const domain = page.getByRole('row', { name: 'www.shop.example' });
  await domain.getByText(/^www\.shop\.example\. CNAME main-/).waitFor();
  await domain.getByText(/Not set|Not known/).waitFor();
  // The one refusal that was asked for, as the browser notes it.
  expect(mistakes).toEqual([expect.stringContaining('status of 400')]);
});
