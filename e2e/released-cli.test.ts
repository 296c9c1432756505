import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrowser } from './browser.ts';
import { plainEnvironment } from './installation.ts';
import { runProgram } from './program.ts';
import { openReleasedCli } from './released-cli.ts';
import { sharedInstallation } from './shared-installation.ts';

const keygenSecondsMax = 60;

const shared = sharedInstallation();

test('the released CLI signs in with an API token and manages SSH keys', async () => {
  const { installation, credentials } = shared;
  const { apiToken, email } = credentials;
  await using cli = await openReleasedCli(installation.url);

  const info = await cli.run(['auth:info', '--format', 'plain'], apiToken);
  expect(info).toMatchObject({ code: 0, stdout: expect.stringContaining(email) });
  expect(info.stdout).toMatch(/^id\t[0-9a-f-]{36}$/m);

  const key = join(cli.home, 'laptop');
  const made = await runProgram('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada laptop', '-f', key], {
    env: plainEnvironment(),
    secondsMax: keygenSecondsMax,
  });
  expect(made).toMatchObject({ code: 0 });
  const added = await cli.run(['ssh-key:add', '--yes', `${key}.pub`], apiToken);
  expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('successfully added') });

  const list = async () => (await cli.run(['ssh-key:list', '--format', 'csv', '--no-header'], apiToken)).stdout.trim();
  const listed = await list();
  expect(listed).toMatch(/^\d+,"?ada laptop"?,/);
  const [id = ''] = listed.split(',', 1);
  const deleted = await cli.run(['ssh-key:delete', '--yes', id], apiToken);
  expect(deleted).toMatchObject({ code: 0 });
  expect(await list()).toBe('');
});

test('the released CLI says that a wrong API token is wrong', async () => {
  await using cli = await openReleasedCli(shared.installation.url, undefined, 'whole');
  const { code, stderr } = await cli.run(['auth:info'], 'an-api-token-that-nobody-has');
  expect(code).not.toBe(0);
  expect(stderr).toContain('Invalid API token');
});

test('the released CLI signs in through the browser, and out again', async () => {
  const { installation, credentials } = shared;
  const { email, password } = credentials;
  await using cli = await openReleasedCli(installation.url);
  await using browser = await openBrowser(installation.url);
  const { page, mistakes } = browser;

  const login = cli.converse(['auth:browser-login', '--browser', '0']);
  await page.goto(await login.until(/http:\/\/127\.0\.0\.1:\d+/));
  await page.getByLabel('E-mail or username').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('Successfully logged in').waitFor();
  expect(await login.untilEnded()).toBe(0);
  expect(login.said).toContain('You are logged in.');
  expect(login.said).toContain('A new SSH certificate has been generated.');
  expect(login.said).toContain(email);
  expect(login.said).not.toMatch(/warning|refresh token/i);
  expect(mistakes).toEqual([]);

  expect(await cli.run(['auth:info', '--format', 'plain'])).toMatchObject({ code: 0, stdout: expect.stringContaining(email) });
  expect(await cli.run(['auth:logout'])).toMatchObject({ code: 0, stderr: expect.stringContaining('You are now logged out') });
  const { code, stderr } = await cli.run(['auth:info']);
  expect(code).not.toBe(0);
  expect(stderr).toContain('Authentication is required');
});
