import { expect, test } from 'vitest';
import { send } from './api.ts';
import { focused, signIn, tabTo } from './at-the-keyboard.ts';
import { openBrowser } from './browser.ts';
import { openNativeClient } from './native-client.ts';
import { sharedInstallation } from './shared-installation.ts';

const shared = sharedInstallation();

test('a person signs in with the keyboard alone, and is told when the password is wrong', async () => {
  const { installation, credentials } = shared;
  const { email, password } = credentials;
  await using browser = await openBrowser(installation.url);
  await using client = await openNativeClient(installation.url);
  const { page, mistakes } = browser;

  await page.goto(client.address);
  expect(await page.title()).toBe('Sign in · Offshoot');
  expect(await focused(page)).toBe('E-mail or username');
  await page.keyboard.type(email);
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Password');
  await page.keyboard.type('a-password-that-is-wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').innerText()).toMatch(/wrong/);
  expect(await page.getByLabel('E-mail or username').inputValue()).toBe(email);
  expect(await page.getByLabel('Password').inputValue()).toBe('');

  await tabTo(page, 'Password');
  await page.keyboard.type(password);
  await tabTo(page, 'Sign in');
  await page.keyboard.press('Space');
  await page.getByRole('heading', { name: 'wants to act for you' }).waitFor();
  await tabTo(page, 'Allow');
  await page.keyboard.press('Enter');

  const returned = await client.untilReturned();
  const { status, json } = await client.redeem(returned.get('code') ?? '');
  expect({ status, json }).toMatchObject({ status: 200, json: { expires_in: 900, refresh_token: expect.any(String) } });
  expect(await send(installation.url, json.access_token, 'GET', '/users/me')).toMatchObject({ status: 200, json: { email } });
  expect((await client.redeem(returned.get('code') ?? '')).status).toBe(400);
  expect(mistakes).toEqual([]);
});

test('a new user signs in without JavaScript; a new password signs them out of browser and programs', async () => {
  const { installation } = shared;
  const [email, first, second] = ['grace@example.org', 'the-first-password', 'the-second-password'];
  await installation.run(['user', 'create', email, '--password-stdin'], { input: `${first}\n` });
  await using browser = await openBrowser(installation.url);
  await using client = await openNativeClient(installation.url);
  const page = await browser.pageWithoutJavaScript();

  await page.goto(client.address);
  await signIn(page, email, first);
  await page.getByRole('button', { name: 'Allow' }).click();
  const { json } = await client.redeem((await client.untilReturned()).get('code') ?? '');
  const refreshed = await client.refresh(json.refresh_token);
  expect(refreshed.status).toBe(200);
  await page.goto(client.address);
  await page.getByText(email).waitFor();

  await installation.run(['user', 'password', email, '--password-stdin'], { input: `${second}\n` });
  expect((await send(installation.url, refreshed.json.access_token, 'GET', '/users/me')).status).toBe(401);
  expect((await client.refresh(refreshed.json.refresh_token ?? json.refresh_token)).status).toBe(400);
  await page.goto(client.address);
  await signIn(page, email, first);
  await page.getByRole('alert').waitFor();
  await signIn(page, 'grace', second);
  await page.getByText(email).waitFor();
  expect(browser.mistakes).toEqual([]);
});

test('a person who does not allow it comes back without a code', async () => {
  const { installation } = shared;
  const [email, password] = ['ada@example.org', 'a-password-of-her-own'];
  await installation.run(['user', 'create', email, '--password-stdin'], { input: `${password}\n` });
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;
  for (const answer of ['Cancel', 'Deny']) {
    await using client = await openNativeClient(installation.url);
    await page.goto(client.address);
    if (answer === 'Deny') await signIn(page, email, password);
    await page.getByRole('button', { name: answer }).click();
    const returned = await client.untilReturned();
    expect([returned.get('error'), returned.get('code')]).toEqual(['access_denied', null]);
  }
  await page.goto(`${installation.url}/oauth2/authorize?client_id=nobody&response_type=code&redirect_uri=https://evil.example`);
  await page.getByRole('alert').waitFor();
  expect(page.url()).toContain(installation.url);
  expect(mistakes).toEqual([]);
});
