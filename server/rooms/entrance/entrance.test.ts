/** The platform behind a real edge, which ends TLS for it. */
import { sql } from 'kysely';
import { request as requestPlain, type IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../edge/testing/ports.ts';
import { startRunningEdge, type RunningEdge } from '../../../edge/testing/running-edge.ts';
import { openMemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { forgetApiProcess, noteApiProcess } from './api-processes.ts';
import { keepPlatformReached } from './keep-reached.ts';
import { announceApi, openEntrance } from './work.ts';

const { signal } = new AbortController();
let running: RunningEdge;
let home: TestPlatform;
let ports: { http: number; https: number; api: number };

beforeAll(async () => {
  ports = { http: await freePort(), https: await freePort(), api: await freePort() };
  const host = '127.0.0.1';
  running = await startRunningEdge({
    listeners: [
      { host, port: ports.http, scheme: 'http' },
      { host, port: ports.https, scheme: 'https' },
    ],
  });
  const machine = { ...openMemoryMachine(tmpdir()), edge: running.edge, tls: true };
  home = await openTestPlatform(undefined, () => Promise.resolve(machine), {
    OFFSHOOT_TLS: 'on',
    OFFSHOOT_PORT: String(ports.api),
    OFFSHOOT_HTTPS_PORT: String(ports.https),
  });
  await home.http.listen({ host, port: ports.api });
});
afterAll(() => running[Symbol.asyncDispose]());

const answered = (message: IncomingMessage) =>
  text(message).then((body) => ({ status: message.statusCode, headers: message.headers, body }));

function visit(path: string, options: RequestOptions = {}) {
  return new Promise<Awaited<ReturnType<typeof answered>>>((resolve, reject) => {
    const ca = home.platform.authority.certificate;
    request({ host: 'localhost', port: ports.https, path, ca, agent: false, ...options })
      .on('response', (message) => void answered(message).then(resolve, reject))
      .on('error', reject)
      .end();
  });
}

test('is reached over https at its address while a process serves it, and by those that were not heard of for long no more', async () => {
  const { platform } = home;
  const announced = await announceApi(platform);
  await sql`insert into api_processes (host, port, seen_at) values ('127.0.0.1', 1, now() - interval '1 minute')`.execute(platform.db);
  await openEntrance(platform);
  expect(platform.config.url).toBe(`https://localhost:${ports.https}`);
  expect(await visit('/openapi.json')).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('json') } });
  expect(await sql`select port from api_processes`.execute(platform.db)).toMatchObject({ rows: [{ port: ports.api }] });
  expect((await visit('/openapi.json')).headers['strict-transport-security']).toBeUndefined();

  // One that was just killed is still there; whoever is led to it goes on to another.
  await noteApiProcess(platform.db, { host: '127.0.0.1', port: 1 });
  await keepPlatformReached.run(platform, signal);
  for (let visits = 0; visits < 4; visits += 1) expect((await visit('/openapi.json')).status).toBe(200);
  await forgetApiProcess(platform.db, { host: '127.0.0.1', port: 1 });

  await announced.close();
  await keepPlatformReached.run(platform, signal);
  expect(await visit('/openapi.json')).toMatchObject({ status: 502 });
  await announceApi(platform).then((again) => afterAll(() => again.close()));
  await keepPlatformReached.run(platform, signal);
});

test('over plain HTTP leads to the same place over https', async () => {
  await openEntrance(home.platform);
  const reply = await new Promise<IncomingMessage>((resolve) => {
    requestPlain(
      { host: '127.0.0.1', port: ports.http, path: '/users/me?x=1', headers: { host: 'localhost' }, agent: false },
      resolve,
    ).end();
  });
  expect([reply.statusCode, reply.headers.location]).toEqual([301, `${home.platform.config.url}/users/me?x=1`]);
});

test('knows where its callers come from, whatever they say about it, and calls their requests as the edge does', async () => {
  await openEntrance(home.platform);
  const { headers } = await visit('/users/me', { headers: { 'x-forwarded-for': '192.0.2.66', 'x-request-id': 'chosen-by-the-client' } });
  const line = home.logLines.findLast((each) => each.includes('"/users/me"')) ?? '';
  expect(JSON.parse(line)).toMatchObject({ address: '127.0.0.1', request_id: headers['x-request-id'] });
  expect(headers['x-request-id']).toMatch(/^[0-9a-f]{24}$/);
});

test('takes bodies of any length, and says by itself which are too large', async () => {
  await openEntrance(home.platform);
  const headers = { 'content-length': 300 * 1024 ** 2, expect: '100-continue' };
  const { body } = await visit('/oauth2/token', { method: 'POST', headers });
  expect(JSON.parse(body)).toMatchObject({ error_description: 'Request body is too large' });
});
