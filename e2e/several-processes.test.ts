import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { freePort } from '../edge/testing/ports.ts';
import { accessToken, send } from './api.ts';
import { eventually } from './eventually.ts';
import { createInstallation, plainHttp } from './installation.ts';
import { createProject, openWorkingCopy } from './project.ts';

test('runners and API processes share the work of one installation, and tell each other', async () => {
  await using installation = await createInstallation();
  const { apiToken } = await (await installation.start()).credentials();
  const [port, sshPort] = [await freePort(), await freePort()];
  const runner = installation.launch({}, ['--only', 'runner']);
  const api = installation.launch({ OFFSHOOT_URL: installation.url, OFFSHOOT_PORT: String(port), OFFSHOOT_SSH_PORT: String(sshPort) }, [
    '--only',
    'api',
  ]);
  await Promise.all([runner.untilReady(), api.untilReady()]);
  const other = `http://127.0.0.1:${port}`;
  /** Whoever issued it, both honour it: they are one installation at one address. */
  const token = await accessToken(installation.url, apiToken);

  const project = await createProject(other, token);
  const copy = await openWorkingCopy(other, project, apiToken);
  const commit = await copy.commit('index.html', 'hello');
  await copy.git('push', '--quiet', 'origin', 'main');
  for (const url of [installation.url, other]) {
    const { json } = await send(url, token, 'GET', `/projects/${project}/environments/main`);
    expect(json.head_commit).toBe(commit);
    const [push] = (await send(url, token, 'GET', `/projects/${project}/activities?type=environment.push`)).json;
    const log = await fetch(new URL(push._links.log.href, url), { headers: { authorization: `Bearer ${token}` } });
    const text = await log.text();
    expect(text).toContain('Found 1 new commit');
    expect(text).toContain('{"seal":true}');
  }
  const refused = installation.launch({}, ['--only', 'everything']);
  await refused.untilEnded();
  expect(refused.stderr).toContain('--only and one of api, runner');
});

test('pushes that are cut off by kill -9 are recorded or never happened', { timeout: 400_000 }, async () => {
  const kills = 8;
  await using installation = await createInstallation(plainHttp);
  let platform = await installation.start();
  const { apiToken } = await platform.credentials();
  const project = await createProject(installation.url, await accessToken(installation.url, apiToken));
  const copy = await openWorkingCopy(installation.url, project, apiToken);
  let accepted = 0;
  for (let n = 0; n < kills; n += 1) {
    await copy.commit('file', String(n));
    const pushing = copy.git('push', '--quiet', 'origin', `HEAD:refs/heads/branch-${n}`).catch(() => undefined);
    // The last one is heard to be done before, however slow the machine is: that one must be there.
    await (n === kills - 1 ? pushing : sleep(100 + (n / kills) * 500));
    await platform.killAll();
    await pushing;
    platform = await installation.start();
    const token = await accessToken(installation.url, apiToken);
    const inGit = (await copy.git('ls-remote', 'origin', `refs/heads/branch-${n}`)).split('\t')[0] ?? '';
    const recorded = async () => {
      const { json, status } = await send(installation.url, token, 'GET', `/projects/${project}/environments/branch-${n}`);
      return status === 404 ? '' : (json.head_commit as string);
    };
    let seen = '';
    await eventually(
      `branch-${n} is told of as Git has it`,
      async () => (seen = await recorded()) === inGit,
      60,
      () => `${seen} and ${inGit}`,
    );
    if (inGit !== '') accepted += 1;
  }
  const token = await accessToken(installation.url, apiToken);
  const pushes = (await send(installation.url, token, 'GET', `/projects/${project}/activities?type=environment.push&count=100`)).json;
  expect(accepted).toBeGreaterThan(0);
  expect(pushes).toHaveLength(accepted);
});
