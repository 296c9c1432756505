import { existsSync, mkdirSync } from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { rotateLog } from '../../../edge/logs/rotate-log.ts';
import { appendLog } from '../../drivers/logs/append-log.ts';
import { logFile, logsOf, removeLogs } from '../../drivers/logs/log-folders.ts';
import { logsFolder } from '../../machine.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { fill, sampleLog } from '../../testing/samples.ts';
import { machineName } from '../environments/public.ts';
import { collectLogs } from './reconcilers.ts';

let home: TestPlatform;
let owner: Person;

beforeAll(async () => {
  home = await openTestPlatform();
  owner = await home.person();
  await home.http.listen({ host: '127.0.0.1', port: 0 });
});

/** An environment with the log of one app: `hello`. */
async function sample() {
  const address = await sampleLog(owner);
  const logs = logsOf(logsFolder(home.platform.config), `${address.projectId}-${machineName(address.environmentId, address.projectId)}`);
  const environment = fill('/projects/{projectId}/environments/{environmentId}', address);
  return { ...address, logs, file: logFile(logs, 'app', 'app'), environment, at: `${environment}/logs/app/app` };
}

async function letIn(projectId: string, permissions: string[]): Promise<Person> {
  const person = await home.person();
  const access = [{ user_id: person.user.id, permissions, auto_add_member: true }];
  await owner.send('POST', `/projects/${projectId}/user-access`, access);
  return person;
}

describe('the logs of an environment', () => {
  test('are listed, with how much is kept and since when nothing came', async () => {
    const { environment, at } = await sample();
    const { json } = await owner.send('GET', `${environment}/logs`);
    expect(json.map(({ id }: { id: string }) => id)).toEqual(
      ['access', 'app', 'cron', 'deploy', 'error', 'post_deploy'].map((name) => `app/${name}`),
    );
    expect(json[1]).toMatchObject({
      app: 'app',
      name: 'app',
      bytes: 6,
      updated_at: expect.stringMatching(/^\d{4}-/),
      _links: { self: { href: `/api${at}` } },
    });
    expect((await owner.send('GET', environment)).json._links['#logs'].href).toBe(`/api${environment}/logs`);
  });

  test('are read as plain text: the last lines, or those of a time', async () => {
    const { at, file } = await sample();
    await appendLog(file, 'two\nthree\n');
    const read = async (query = '') => (await owner.send('GET', `${at}${query}`)).text;
    expect((await owner.send('GET', at)).headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(await read()).toBe('hello\ntwo\nthree\n');
    expect(await read('?tail=1')).toBe('three\n');
    expect(await read(`?since=${new Date(Date.now() + 60_000).toISOString()}`)).toBe('');
    expect(await read(`?until=${new Date(Date.now() + 60_000).toISOString()}&tail=2`)).toBe('two\nthree\n');
    await rotateLog(file);
    await appendLog(file, 'four\n');
    expect(await read('?tail=2')).toBe('three\nfour\n');
  });

  test('are told 100 lines at once, unless more are asked for', async () => {
    const { at, file } = await sample();
    await appendLog(file, 'line\n'.repeat(500));
    expect((await owner.send('GET', at)).text.length).toBe(500);
    expect((await owner.send('GET', `${at}?tail=400`)).text.length).toBe(2000);
    for (const query of ['tail=-1', 'tail=many', 'tail=1000000', 'since=yesterday', 'from=1'])
      expect((await owner.send('GET', `${at}?${query}`)).status).toBe(400);
  });

  test('that are not there are not found, whatever the name looks like', async () => {
    const { environment } = await sample();
    for (const path of ['app/missing', 'app/app.log', 'app/%2e%2e', '%2e%2e/app', 'other/app', 'app/..%2fapp%2fapp', 'app/.app.log'])
      expect((await owner.send('GET', `${environment}/logs/${path}`)).status).toBe(404);
  });

  test('are neither for those who may only look, nor for those whom the app does not let in', async () => {
    const { projectId, environmentId, environment, at } = await sample();
    const [viewer, contributor, admin] = await Promise.all(
      ['viewer', 'contributor', 'admin'].map((role) => letIn(projectId, [`staging:${role}`])),
    );
    const statuses = async (path: string) =>
      Promise.all([viewer, contributor, admin].map(async (person) => (await person?.send('GET', path))?.status));
    expect(await statuses(at)).toEqual([403, 200, 200]);
    expect(await statuses(`${environment}/logs`)).toEqual([403, 200, 200]);
    expect((await viewer?.send('GET', environment))?.json._links['#logs']).toBeUndefined();
    await deploySample(home.platform, { projectId, environmentId });
    await sql`update deployments set generations = '{"app": 1}', model = jsonb_set(model::jsonb, '{applications,app}', '{"access": {"ssh": "admin"}}')::json
      where project_id = ${projectId}`.execute(home.platform.db);
    expect(await statuses(at)).toEqual([403, 403, 200]);
    expect((await contributor?.send('GET', `${environment}/logs`))?.json).toEqual([]);
  });
});

describe('a log that is followed', () => {
  interface Followed {
    text: string;
    isOver: boolean;
    stop(): void;
  }

  const follow = (path: string, { accessToken } = owner): Promise<Followed> =>
    new Promise((resolve, reject) => {
      const { port } = home.http.server.address() as AddressInfo;
      const sent = request({ port, host: '127.0.0.1', path, headers: { authorization: `Bearer ${accessToken}` } }, (reply) => {
        const followed = { text: '', isOver: false, stop: () => sent.destroy() };
        reply.setEncoding('utf8').on('data', (text: string) => (followed.text += text));
        reply.on('end', () => (followed.isOver = true)).on('error', () => {});
        resolve(followed);
      });
      sent.on('error', reject).end();
    });

  test('comes line by line, to many, from one reader, which ends with the last of them', async () => {
    const { at, file } = await sample();
    const all = await Promise.all(Array.from({ length: 10 }, () => follow(`${at}?follow=true&tail=5`)));
    for (const each of all) await expect.poll(() => each.text).toBe('hello\n');
    await appendLog(file, 'news\n');
    for (const each of all) await expect.poll(() => each.text).toBe('hello\nnews\n');
    expect(home.platform.logFollowers.reading).toBe(1);
    for (const each of all) each.stop();
    await expect.poll(() => home.platform.logFollowers.reading).toBe(0);
  });

  test('ends when access is taken away, and with the environment', { timeout: 240_000 }, async () => {
    const { at, file, logs, projectId } = await sample();
    const contributor = await letIn(projectId, ['staging:contributor']);
    const [theirs, ours] = await Promise.all([follow(`${at}?follow=true`, contributor), follow(`${at}?follow=true`)]);
    await expect.poll(() => theirs.text).toBe('hello\n');
    await owner.send('DELETE', `/projects/${projectId}/user-access/${contributor.user.id}`);
    await expect.poll(() => theirs.isOver, { timeout: 90_000 }).toBe(true);
    expect(theirs.text).toBe('hello\n[You may no longer read this log.]\n');
    await appendLog(file, 'not for everybody\n');
    await expect.poll(() => ours.text).toContain('not for everybody');
    await removeLogs(logs);
    await expect.poll(() => ours.isOver, { timeout: 90_000 }).toBe(true);
    expect(ours.text).toMatch(/\[(?:This log is gone|You may no longer read this log)\.\]\n$/);
  });
});

test('logs of an environment that is no more are collected; those of others stay', async () => {
  const { logs } = await sample();
  const orphaned = join(logsFolder(home.platform.config), 'nobodysproject-main-abcdefg');
  mkdirSync(join(orphaned, 'app'), { recursive: true });
  await collectLogs.run(home.platform, new AbortController().signal);
  expect([existsSync(orphaned), existsSync(logs)]).toEqual([false, true]);
});
