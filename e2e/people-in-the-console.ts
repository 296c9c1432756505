/** What people do with each other in the console: one invites another, who accepts, is given rights, and signs in with two factors. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { passcode } from './authenticator.ts';
import { signIn } from './at-the-keyboard.ts';
import { openBrowser } from './browser.ts';
import { letterTo, linkIn } from './mail.ts';

const grace = { email: 'grace@example.org', username: 'hopper', password: 'a-password-of-her-own' };

interface Place {
  url: string;
  data: string;
  organization: string;
}

/** `page` is that of the owner, who is signed in. */
export async function invitesSomebody(page: Page, { url, data, organization }: Place) {
  const members = `${url}/console/organizations/${organization}/members`;
  await page.goto(members);
  await page.getByRole('button', { name: 'Invite somebody' }).click();
  await page.getByLabel('E-mail address').fill(grace.email);
  await page.getByLabel('Create projects').check();
  await page.getByRole('button', { name: 'Send the invitation' }).click();
  await page.getByRole('row', { name: grace.email }).waitFor();

  await using other = await openBrowser(url);
  await accepts(other.page, linkIn(await letterTo(data, grace.email, /invites you to/)));
  await page.reload();
  await page.getByRole('row', { name: 'Grace Hopper' }).getByText('projects:create').waitFor();
  expect(await page.getByRole('table', { name: 'Invitations' }).count()).toBe(0);

  const tabs = other.page.getByRole('navigation', { name: 'Pages of the organization' });
  await other.page.goto(`${url}/console/organizations/${organization}`);
  await signIn(other.page, grace.username, grace.password);
  await tabs.getByRole('link', { name: 'Teams' }).waitFor();
  expect(await tabs.getByRole('link', { name: /Members|Audit|Settings/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Change what Grace Hopper may do' }).click();
  await page.getByLabel('Manage members and teams').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
  await page.getByRole('row', { name: 'Grace Hopper' }).getByText('members', { exact: true }).waitFor();
  await other.page.reload();
  await tabs.getByRole('link', { name: 'Members' }).waitFor();

  await setsUpTwoFactors(other.page, url);
  await seesWhatWasDone(page, `${url}/console/organizations/${organization}/audit`);
  // The wrong passcode, which the API refused.
  expect(other.mistakes).toEqual([expect.stringContaining('responded with a status of 400')]);
}

async function accepts(page: Page, link: string) {
  await page.goto(link);
  await page.getByLabel('First name').fill('Grace');
  await page.getByLabel('Last name').fill('Hopper');
  await page.getByLabel('Username').fill(grace.username);
  await page.getByLabel('Password').fill(grace.password);
  await page.getByRole('button', { name: 'Create the account and accept' }).click();
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
}

async function setsUpTwoFactors(page: Page, url: string) {
  await page.goto(`${url}/console/account/security`);
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
  await page.getByRole('img', { name: 'QR code with the secret' }).waitFor();
  const secret = await page.locator('[data-secret]').innerText();
  await page.getByLabel('Passcode').fill(passcode(secret, 100));
  await page.getByRole('button', { name: 'Turn it on' }).click();
  await page.getByRole('alert').getByText('is not what an app with this secret shows now').waitFor();
  await page.getByLabel('Passcode').fill(passcode(secret));
  await page.getByRole('button', { name: 'Turn it on' }).click();
  const codes = page.getByRole('region', { name: 'Your recovery codes' }).getByRole('listitem');
  await codes.first().waitFor();
  const [code = ''] = await codes.allInnerTexts();

  // Whoever changes how they sign in has to have used the passcode, and this sign-in was without.
  await page.getByText('You did not use a passcode for this sign-in.').waitFor();
  expect(await page.getByRole('button', { name: 'Turn off' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Sign in again' }).click();
  await page.getByLabel('Passcode').fill(passcode(secret, 1));
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Turn off' }).waitFor();
  expect(await page.content()).not.toContain(code);
  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
}

async function seesWhatWasDone(page: Page, audit: string) {
  await page.goto(audit);
  await page.getByRole('row', { name: /Change a member's permissions.*Grace Hopper/ }).waitFor();
  await page.getByLabel('Person').selectOption('Grace Hopper');
  await page.getByRole('row', { name: /Grace Hopper Accept an invitation/ }).waitFor();
  await page.getByRole('row', { name: /Grace Hopper Turn two-factor authentication on/ }).waitFor();
  expect(await page.getByRole('row', { name: /Change a member's permissions/ }).count()).toBe(0);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()]);
  expect(file.suggestedFilename()).toMatch(/^audit-.*\.csv$/);
}
