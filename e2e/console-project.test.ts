/** The pages of a project on which people are let in and services outside are connected, used as somebody uses them who has not read anything. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressesOf, auditDialog, auditPages, widerThanPhone } from './accessibility.ts';
import { changesAccount, looksAfterOrganization, signOut } from './account-in-the-console.ts';
import { accessToken, send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import { openBrowser, type OpenBrowser } from './browser.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp, type Installation } from './installation.ts';
import { letterTo } from './mail.ts';
import { asksForHelp, isSuspended, seesWhatIsPaid } from './money-and-help.ts';
import { createProject } from './project.ts';
import { openTestIdentityProvider, type TestIdentityProvider } from '../server/testing/identity-provider.ts';

const builtSecondsMax = 120;

/** All tests are about one platform without containers, and in one browser, in which its administrator is signed in. */
let installation: Installation;
let url: string;
let elsewhere: TestIdentityProvider;
let browser: OpenBrowser;
let account: { email: string; password: string; apiToken: string };
let token: string;
let project: string;
let organization: string;
let team: string;

beforeAll(async () => {
  installation = await createInstallation(plainHttp);
  ({ url } = installation);
  elsewhere = await openTestIdentityProvider([`${url}/signed-in/with/acme-id`]);
  const started = await installation.start({ OFFSHOOT_IDENTITY_PROVIDERS: elsewhere.setting('Acme ID') });
  const { email, password, apiToken } = await started.credentials();
  account = { email, password, apiToken };
  token = await accessToken(url, apiToken);
  project = await createProject(url, token);
  organization = (await send(url, token, 'GET', `/projects/${project}`)).json.organization;
  const designers = { organization_id: organization, label: 'Designers', project_permissions: ['viewer', 'staging:contributor'] };
  team = (await send(url, token, 'POST', '/teams', designers)).json.id;
  await send(url, token, 'POST', `/projects/${project}/domains`, { name: 'www.shop.example' });
  await eventually('the console is built', async () => (await fetch(new URL('/console', url))).status === 200, builtSecondsMax);
  browser = await openBrowser(url);
  await browser.page.goto(`${url}/console`);
  await signIn(browser.page, email, password);
  await browser.page.getByRole('heading', { name: 'Projects' }).waitFor();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  elsewhere.close();
  await installation[Symbol.asyncDispose]();
});

/** What the browser noted since it was asked last: the refusals that a test asked for, by their status, and whatever else went wrong. */
const noted = () => browser.mistakes.splice(0).map((mistake) => Number(/status of (\d+)/.exec(mistake)?.[1] ?? Number.NaN) || mistake);

test('a project is connected with a service outside, somebody is invited, a team is let in, and a domain says which record it needs', async () => {
  const { page } = browser;
  const dialog = page.getByRole('dialog');
  await page.goto(`${url}/console/projects/${project}/integrations`);

  // The type is chosen first; what the API refuses is said beside its field, also where that was folded away.
  await page.getByRole('button', { name: 'Add an integration' }).click();
  await dialog.getByRole('button', { name: 'webhook A request to an address of yours after activities.' }).click();
  await dialog.getByLabel('Url').fill('hooks.example.org');
  await dialog.getByLabel('Shared key').fill('a secret that signs');
  expect(await dialog.getByLabel('Shared key').getAttribute('type')).toBe('password');
  await dialog.getByRole('button', { name: 'Add it' }).click();
  await dialog.getByText('Url must be a full address').waitFor();
  expect(await auditDialog(page)).toEqual([]);
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
  expect(await auditDialog(page)).toEqual([]);
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
  expect(noted()).toEqual([400]);
});

test('an owner sees what each month costs, applies a voucher, reads and pays an invoice', async () => {
  await seesWhatIsPaid(browser.page, { installation, organization, project });
  expect(noted()).toEqual([400]);
});

test('somebody asks for help, with a file, is answered, replies, and the ticket is solved; of a suspension every page tells in the sentence of the API', async () => {
  const ticket = await asksForHelp(browser.page, { installation, organization, project });
  await isSuspended(browser.page, { installation, organization, project });
  const given = {
    organization,
    project,
    team,
    environment: 'main',
    ticket,
    order: '1',
    user: (await send(url, token, 'GET', '/users/me')).json.id,
  };
  // Those of a ticket, an order and somebody's account; the others are looked at by console.test.ts.
  const about = addressesOf(url, given).filter((address) => /\/(support|billing|users)\/[^/]+$/.test(address));
  expect(await auditPages(browser.page, about)).toEqual([]);
  expect(await widerThanPhone(browser.page, addressesOf(url, given))).toEqual([]);
  expect(noted()).toEqual([]);
});

test('an owner gives a team a role, saves what was used, hands the organization over, and changes picture, password and e-mail address, with which an identity provider signs in', async () => {
  const { page } = browser;
  const grace = await looksAfterOrganization(page, { installation, token, organization, team });
  // An operator ends what acts for somebody.
  await page.goto(`${url}/console/installation/users`);
  await page
    .getByRole('row', { name: /grace@example\.org/ })
    .getByRole('link')
    .click();
  expect(new URL(page.url()).pathname).toBe(`/console/installation/users/${grace}`);
  await page.getByRole('button', { name: /^Revoke / }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('table', { name: 'API tokens' }).waitFor({ state: 'detached' });
  const email = await changesAccount(page, { installation }, account);
  // The new address was verified, so whoever vouches for it elsewhere signs the person in.
  elsewhere.signInAs({ sub: 'ada', email, email_verified: true });
  await signOut(page);
  await page.goto(`${url}/console/account/security`);
  await page
    .getByRole('link', { name: 'Continue with Acme ID' })
    .or(page.getByRole('button', { name: 'Continue with Acme ID' }))
    .click();
  await page.getByRole('row', { name: /Acme ID|acme-id/ }).waitFor();
  // Access tokens of before the password was changed are refused, and renewed.
  expect(noted().filter((mistake) => mistake !== 401)).toEqual([400]);
});
