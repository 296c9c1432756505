import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { accessToken, send } from './api.ts';
import { focused, signIn, tabTo, typeInto } from './at-the-keyboard.ts';
import { passcode } from './authenticator.ts';
import { openBrowser } from './browser.ts';
import { letterTo, lettersTo, linkIn } from './mail.ts';
import { openNativeClient } from './native-client.ts';
import { sharedInstallation } from './shared-installation.ts';

const [ada, grace] = ['ada@example.org', 'grace@example.org'];
const [first, second] = ['the-first-password', 'the-second-password'];

const shared = sharedInstallation();

test('a person who forgot the password sets a new one through a mailed link, and signs in with it', async () => {
  const { installation } = shared;
  await installation.run(['user', 'create', ada, '--password-stdin'], { input: `${first}\n` });
  await using browser = await openBrowser(installation.url);
  await using client = await openNativeClient(installation.url);
  const { page, mistakes } = browser;

  await askForNewPassword(page, client.address, 'nobody@example.org');
  await askForNewPassword(page, client.address, ada);
  const letter = await letterTo(installation.data, ada, /^Set a new password$/);
  const link = linkIn(letter);
  expect(letter.written).toContain(link);
  expect(await lettersTo(installation.data, 'nobody@example.org')).toEqual([]);

  await page.goto(link);
  expect(await page.title()).toBe('Set a new password · Offshoot');
  expect(await page.getByRole('main').innerText()).toContain(`For ${ada}.`);
  expect(await focused(page)).toBe('New password');
  await page.keyboard.type('short');
  await page.keyboard.press('Enter');
  expect(page.url()).toBe(link);
  await typeInto(page, 'New password', second);
  await tabTo(page, 'Set the password');
  await page.keyboard.press('Space');
  await page.getByRole('heading', { name: 'Password changed' }).waitFor();
  await letterTo(installation.data, ada, /^Your password was changed$/);

  await page.goto(client.address);
  await signIn(page, ada, first);
  await page.getByRole('alert').waitFor();
  await signIn(page, ada, second);
  await page.getByRole('button', { name: 'Allow' }).click();
  const { json } = await client.redeem((await client.untilReturned()).get('code') ?? '');
  expect(await send(installation.url, json.access_token, 'GET', '/users/me')).toMatchObject({ status: 200, json: { email: ada } });

  await page.goto(link);
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
  await page.getByRole('link', { name: 'Ask for a new link' }).click();
  await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor();
  expect(mistakes).toEqual([]);
});

test('with two-factor authentication a sign-in takes a passcode or a recovery code, and each works once', async () => {
  const { url, data, run } = shared.installation;
  await run(['user', 'create', grace, '--password-stdin'], { input: `${first}\n` });
  const token = await accessToken(url, (await run(['token', 'create', grace])).stdout.trim());
  const { id } = (await send(url, token, 'GET', '/users/me')).json;
  const { secret, qr_code } = (await send(url, token, 'GET', `/users/${id}/totp`)).json;
  expect(qr_code).toMatch(/^data:image\//);
  const enrolled = await send(url, token, 'POST', `/users/${id}/totp`, { secret, passcode: passcode(secret) });
  expect(enrolled).toMatchObject({ status: 200, json: { recovery_codes: expect.any(Array) } });
  const [recoveryCode] = enrolled.json.recovery_codes;
  await letterTo(data, grace, /^Two-factor authentication is on$/);

  await using browser = await openBrowser(url);
  const { page, mistakes } = browser;
  /** The one of now was used to enrol. */
  const next = passcode(secret, 1);
  await signInWith(url, page, [passcode(secret, 100), next]);
  await page.context().clearCookies();
  await signInWith(url, page, [next, recoveryCode]);
  await page.context().clearCookies();
  await using client = await openNativeClient(url);
  await page.goto(client.address);
  await signIn(page, grace, first);
  await typePasscode(page, recoveryCode);
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect((await client.untilReturned()).get('error')).toBe('access_denied');
  expect(mistakes).toEqual([]);
});

async function askForNewPassword(page: Page, from: string, email: string) {
  await page.goto(from);
  await tabTo(page, 'Forgot your password?');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor();
  expect(await focused(page)).toBe('E-mail address');
  await page.keyboard.type(email);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  expect(await page.getByRole('main').innerText()).toContain('If an account has that e-mail address');
}

/** The first one is refused, the second one lets in. */
async function signInWith(url: string, page: Page, [wrong, right]: [string, string]) {
  await using client = await openNativeClient(url);
  await page.goto(client.address);
  await signIn(page, grace, first);
  await typePasscode(page, wrong);
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').innerText()).toMatch(/passcode is wrong or was already used/);
  await typePasscode(page, right);
  await page.getByRole('button', { name: 'Allow' }).click();
  const { status, json } = await client.redeem((await client.untilReturned()).get('code') ?? '');
  expect(status).toBe(200);
  expect(await send(url, json.access_token, 'GET', '/users/me')).toMatchObject({ status: 200, json: { email: grace, mfa_enabled: true } });
}

async function typePasscode(page: Page, typed: string) {
  await page.getByRole('heading', { name: 'Passcode' }).waitFor();
  expect(await focused(page)).toBe('Passcode');
  await page.keyboard.type(typed);
  await page.keyboard.press('Enter');
}
