import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { accessToken, exchange, send } from './api.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp, type Installation, plainEnvironment } from './installation.ts';
import { postgresIn } from './processes.ts';
import { runProgram } from './program.ts';
import { openRequest } from './slow-request.ts';

const curlSecondsMax = 60;
const waitSecondsMax = 60;
/** Nobody waits longer for the end than this, where the machine does not stand still. */

const curl = (...args: string[]) =>
  runProgram('curl', ['--silent', '--show-error', ...args], { env: plainEnvironment(), secondsMax: curlSecondsMax });

describe('the first start', () => {
  test('shows the credentials of the administrator once, and they work as the README says', async () => {
    await using installation = await createInstallation(plainHttp);
    const first = await installation.start();
    const { email, password, apiToken } = await first.credentials();
    expect(email).toBe('admin@offshoot.localhost');
    expect(password.length).toBeGreaterThanOrEqual(20);
    expect(apiToken.length).toBeGreaterThanOrEqual(40);

    const form = ['-d', 'grant_type=api_token', '-d', `api_token=${apiToken}`];
    const exchanged = await curl('-u', 'platform-api-user:', ...form, `${installation.url}/oauth2/token`);
    const token = JSON.parse(exchanged.stdout) as { access_token: string; expires_in: number; token_type: string };
    expect(token).toMatchObject({ expires_in: 900, token_type: expect.stringMatching(/^bearer$/i) });
    const me = await curl('-H', `Authorization: Bearer ${token.access_token}`, `${installation.url}/users/me`);
    expect(JSON.parse(me.stdout)).toMatchObject({ email, username: 'admin' });
    const nobody = await curl('-i', `${installation.url}/users/me`);
    expect(nobody.stdout).toMatch(/^HTTP\/1.1 401 [^]*^www-authenticate: Bearer/im);

    const second = await installation.restart();
    await curl('-H', `Authorization: Bearer ${token.access_token}`, `${installation.url}/users/me`);
    await second.stop();
    for (const secret of [password, apiToken, email]) {
      expect(second.stdout + second.stderr).not.toContain(secret);
      expect(first.stderr).not.toContain(secret);
    }
  });

  test('takes e-mail, password and API token of the administrator from the settings, and a later start does not change them', async () => {
    const chosen = { email: 'ada@example.org', password: 'a-password-of-ada', apiToken: 'an-api-token-that-ada-has-chosen' };
    await using installation = await createInstallation(plainHttp);
    const first = await installation.start({
      OFFSHOOT_ADMIN_EMAIL: chosen.email,
      OFFSHOOT_ADMIN_PASSWORD: chosen.password,
      OFFSHOOT_ADMIN_API_TOKEN: chosen.apiToken,
    });
    expect((await first.credentials()).email).toBe(chosen.email);
    expect(first.stdout + first.stderr).not.toContain(chosen.password);
    expect(first.stdout + first.stderr).not.toContain(chosen.apiToken);
    const me = async () => (await send(installation.url, await accessToken(installation.url, chosen.apiToken), 'GET', '/users/me')).json;
    expect(await me()).toMatchObject({ email: chosen.email });

    await installation.restart({ OFFSHOOT_ADMIN_EMAIL: 'eve@example.org', OFFSHOOT_ADMIN_API_TOKEN: 'an-api-token-that-eve-has-chosen' });
    expect(await me()).toMatchObject({ email: chosen.email });
    expect((await exchange(installation.url, 'an-api-token-that-eve-has-chosen')).status).toBe(400);
  });

  test('makes secrets that no other installation has', async () => {
    await using one = await createInstallation(plainHttp);
    await using other = await createInstallation(plainHttp);
    const [ones, others] = await Promise.all([secretsOf(one), secretsOf(other)]);
    expect(Object.keys(ones)).toEqual(Object.keys(others));
    const shared = Object.keys(ones).filter((name) => ones[name] === others[name]);
    expect(shared).toEqual([]);
    const stranger = await accessToken(one.url, ones['API token'] ?? '');
    expect((await send(other.url, stranger, 'GET', '/users/me')).status).toBe(401);
  });
});

async function secretsOf(installation: Installation): Promise<Record<string, string>> {
  const platform = await installation.start();
  const { password, apiToken } = await platform.credentials();
  const document = async (path: string) => (await fetch(new URL(path, installation.url))).text();
  return {
    password,
    'API token': apiToken,
    'secret key': readFileSync(join(installation.data, 'secret-key'), 'utf8'),
    'keys of access tokens': await document('/oauth2/jwks'),
    'SSH authority': await document('/ssh/authority'),
  };
}

describe('a start', () => {
  test('is refused while another platform has the data folder, which is left alone', async () => {
    await using installation = await createInstallation(plainHttp);
    const { apiToken } = await (await installation.start()).credentials();
    const second = await installation.run(['start']);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(/^offshoot: Another Offshoot is already running on .+; stop it first, .+\.\n$/);
    expect((await exchange(installation.url, apiToken)).status).toBe(200);
  });

  test('is refused with a sentence for each setting that is unknown or wrong, before anything is made', async () => {
    await using installation = await createInstallation({
      ...plainHttp,
      OFFSHOOT_PROT: '80',
      OFFSHOOT_ADMIN_PASSWORD: 'short',
      OFFSHOOT_PORT: 'http',
    });
    const { code, stdout, stderr } = await installation.run(['start']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/OFFSHOOT_PROT is not a setting of Offshoot/);
    expect(stderr).toMatch(/OFFSHOOT_ADMIN_PASSWORD should be .+\./);
    expect(stderr).toMatch(/OFFSHOOT_PORT should be .+\./);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(existsSync(join(installation.data, 'postgres'))).toBe(false);
  });

  test('is refused with a sentence when the port is in use, and the next one shows the credentials', async () => {
    await using installation = await createInstallation(plainHttp);
    const holder = await listen(installation.port);
    const refused = await installation.run(['start']);
    holder.close();
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^offshoot: .*port.* in use; .+ OFFSHOOT_PORT .+\.$/m);
    expect(refused.stderr).not.toMatch(/^\s+at /m);
    await untilPostgresIsGone(installation);
    const { apiToken } = await (await installation.start()).credentials();
    expect((await exchange(installation.url, apiToken)).status).toBe(200);
  });
});

const listen = (port: number) =>
  new Promise<Server>((settle, fail) => {
    const server = createServer().once('error', fail);
    server.listen(port, '127.0.0.1', () => settle(server));
  });

const untilPostgresIsGone = ({ data }: Installation) =>
  eventually('PostgreSQL is gone', () => postgresIn(data).length === 0, waitSecondsMax);

describe('SIGTERM', () => {
  test('lets a request under way finish, takes no new one, and stops PostgreSQL', async () => {
    await using installation = await createInstallation(plainHttp);
    const platform = await installation.start();
    const { apiToken } = await platform.credentials();
    using request = await openRequest(installation.port, `grant_type=api_token&client_id=upsun-cli&api_token=${apiToken}`);
    await request.sendHalf();
    platform.signal('SIGTERM');
    await platform.until('says that it stops', () => platform.stdout.includes('Offshoot is stopping'), waitSecondsMax);
    await eventually('new connections are refused', () => isRefused(installation.url), waitSecondsMax);
    request.sendRest();
    expect(await request.answer()).toMatch(/^HTTP\/1.1 200 [^]+"access_token":/);
    await platform.untilStopped();
    expect(postgresIn(installation.data)).toEqual([]);
  });

  test('does not wait for connections on which nothing was asked', async () => {
    await using installation = await createInstallation(plainHttp);
    const platform = await installation.start();
    await platform.credentials();
    using silent = await openRequest(installation.port, '');
    using unfinished = await openRequest(installation.port, '');
    await unfinished.send('GET /users/me HTTP/1.1\r\nHost: offshoot\r\n');
    await platform.stop();
    expect(postgresIn(installation.data)).toEqual([]);
    // Whoever had been waited for would have been told that it took too long.
    expect([silent.received, unfinished.received]).toEqual(['', '']);
  });

  test('is heard from the moment the platform says it is ready', async () => {
    await using installation = await createInstallation(plainHttp);
    const [first, second] = [await startAndStopAtOnce(installation), await startAndStopAtOnce(installation)];
    expect(first.printedCredentials ?? second.printedCredentials).toBeDefined();
  });

  test('that comes twice at once, as some supervisors send it, counts as one', async () => {
    await using installation = await createInstallation(plainHttp);
    const platform = await installation.start();
    platform.signal('SIGTERM');
    await platform.stop();
    expect(postgresIn(installation.data)).toEqual([]);
  });

  test('during a start leaves nothing running and nothing broken', async () => {
    await using installation = await createInstallation(plainHttp);
    const early = installation.launch();
    await early.until('starts PostgreSQL', () => postgresIn(installation.data).length > 0, waitSecondsMax);
    early.signal('SIGTERM');
    await early.untilStopped();
    await untilPostgresIsGone(installation);
    const { apiToken } = await (await installation.start()).credentials();
    expect((await exchange(installation.url, apiToken)).status).toBe(200);
  });
});

async function startAndStopAtOnce(installation: Installation) {
  const platform = installation.launch();
  platform.when(/^Offshoot is ready/m, () => platform.signal('SIGTERM'));
  await platform.untilStopped();
  expect(postgresIn(installation.data)).toEqual([]);
  return platform;
}

const isRefused = (url: string) =>
  fetch(new URL('/users/me', url), { headers: { connection: 'close' } }).then(
    () => false,
    () => true,
  );
