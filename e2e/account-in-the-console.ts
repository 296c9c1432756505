/** What people change about themselves and those they work with: picture, password and e-mail address; the roles of a team; who owns an organization. */
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { expect } from 'vitest';
import { auditDialog } from './accessibility.ts';
import { accessToken, send } from './api.ts';
import { signIn } from './at-the-keyboard.ts';
import type { Installation } from './installation.ts';
import { letterTo, linkIn } from './mail.ts';
import { saved } from './money-and-help.ts';

interface Place {
  installation: Installation;
  token: string;
  organization: string;
  team: string;
}

interface Account {
  email: string;
  password: string;
  apiToken: string;
}

const passwordAfter = 'another-password-of-mine';
const emailAfter = 'ada.lovelace@example.org';

/** `page` is signed in as this person; in the end it is again, with the new password and the address that is answered. */
export async function changesAccount(page: Page, { installation }: Pick<Place, 'installation'>, { email, password, apiToken }: Account) {
  const { url, data } = installation;
  const dialog = page.getByRole('dialog');
  // A new password ends the access tokens of before, and no API token.
  const me = async () => (await send(url, await accessToken(url, apiToken), 'GET', '/users/me')).json;
  await page.goto(`${url}/console/account`);
  const picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  await page.getByLabel('A picture of you').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: picture });
  await page.getByRole('main').locator('img.avatar').waitFor();
  expect((await fetch((await me()).picture)).headers.get('content-type')).toMatch(/^image\//);
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('main').locator('img.avatar').waitFor({ state: 'detached' });

  await page.goto(`${url}/console/account/api-tokens`);
  await page.getByRole('button', { name: 'New API token' }).first().click();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await page.goto(`${url}/console/account/security`);
  await page.getByRole('button', { name: 'Change the password' }).click();
  await dialog.getByLabel('Present password').fill('not this one');
  await dialog.getByLabel('New password').fill(passwordAfter);
  await dialog.getByRole('button', { name: 'Change the password' }).click();
  await dialog.getByRole('alert').first().waitFor();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByLabel('Present password').fill(password);
  await dialog.getByRole('button', { name: 'Change the password' }).click();
  await page.getByText('Your password is changed').waitFor();

  await page.getByRole('button', { name: 'Change the e-mail address' }).click();
  await dialog.getByLabel('New e-mail address').fill(emailAfter);
  await dialog.getByRole('button', { name: 'Change the e-mail address' }).click();
  await page.getByText('A mail is on its way to the new address').waitFor();
  expect((await me()).email).toBe(email);
  await page.goto(linkIn(await letterTo(data, emailAfter, /./)));
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('heading', { name: 'E-mail address changed' }).waitFor();

  await page.goto(`${url}/console/`);
  await signOut(page);
  await page.goto(`${url}/console/`);
  await signIn(page, emailAfter, passwordAfter);
  await page.getByRole('heading', { name: 'Projects' }).waitFor();
  return emailAfter;
}

export async function signOut(page: Page) {
  await page.getByLabel('Your account', { exact: true }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
}

/** Roles of a team hold in all its projects; what was used and given off can be taken home as files; an organization gets another owner. */
export async function looksAfterOrganization(page: Page, { installation, token, organization, team }: Place) {
  const { url } = installation;
  const at = `${url}/console/organizations/${organization}`;
  const dialog = page.getByRole('dialog');
  await page.goto(`${at}/teams/${team}`);
  await page.getByLabel('Role of the team: On production').selectOption('Viewer');
  const permissions = async () => (await send(url, token, 'GET', `/teams/${team}`)).json.project_permissions as string[];
  await expect.poll(permissions).toEqual(expect.arrayContaining(['viewer', 'production:viewer', 'staging:contributor']));

  await page.goto(`${at}/usage`);
  await page.getByRole('table', { name: 'Usage' }).waitFor();
  expect(await saved(page, 'Save as CSV')).toMatch(/^group,title,used,daily_average,free\r\n/);
  await page.goto(`${at}/carbon`);
  await page.getByRole('table', { name: 'Carbon' }).waitFor();
  expect(await saved(page, 'Save as CSV')).toMatch(/^project_id,project,day,kg_co2e\r\n/);

  await page.goto(`${at}/members`);
  await page.getByRole('button', { name: 'Invite somebody' }).click();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  await installation.run(['user', 'create', 'grace@example.org', '--password-stdin'], { input: 'a-password-of-her-own\n' });
  const grace = await accessToken(url, (await installation.run(['token', 'create', 'grace@example.org'])).stdout.trim());
  const { id } = (await send(url, grace, 'GET', '/users/me')).json;
  await send(url, token, 'POST', `/organizations/${organization}/members`, { user_id: id, permissions: [] });
  await page.goto(`${at}/settings`);
  await page.getByRole('button', { name: 'Transfer to another owner' }).click();
  expect(await auditDialog(page)).toEqual([]);
  await dialog.getByLabel('New owner').selectOption('grace');
  await dialog.getByRole('button', { name: 'Transfer it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(async () => (await send(url, token, 'GET', `/organizations/${organization}`)).json.owner_id).toBe(id);
  return id as string;
}
