import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { platformCluster, type Route } from '../../../edge/routing/table.ts';
import { testAuthority } from '../../../edge/testing/certificates.ts';
import { freePort } from '../../../edge/testing/ports.ts';
import { environmentWith, startRunningEdge, type RunningEdge } from '../../../edge/testing/running-edge.ts';
import { openHttpUpstream } from '../../../edge/testing/upstream.ts';
import type { Kind, Metrics, Records, RequestRecord, TransactionRecord } from '../../drivers/metrics/metrics.ts';
import type { Machine } from '../../machine.ts';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { recordRequestsUnless } from './edge-requests.ts';
import { heldMilliseconds, openHeldTransactions } from './held-transactions.ts';
import { transactionNameOf } from './transaction-name.ts';

const container = 'abcdefghijklm-app-shop-3-1';
let home: TestPlatform;
let running: RunningEdge;
let upstream: Awaited<ReturnType<typeof openHttpUpstream>>;
let projectId: string;
let environment: string;
let securePort: number;
const waiting = Promise.withResolvers<void>();

beforeAll(async () => {
  securePort = await freePort();
  const plainPort = await freePort();
  const listeners = [
    { host: '127.0.0.1', port: plainPort, scheme: 'http' as const },
    { host: '127.0.0.1', port: securePort, scheme: 'https' as const },
  ];
  [home, running, upstream] = await Promise.all([openTestPlatform(), startRunningEdge({ listeners, processes: 2 }), openUpstream()]);
  ({ projectId } = await sampleProject(await home.person()));
  const stack = await deploySample(home.platform, { projectId, environmentId: 'main' });
  environment = stack.environment.machine_name;
  await tellEdge();
});
afterAll(async () => {
  await Promise.all([running[Symbol.asyncDispose](), upstream.close()]);
});

/** As its paths say: found, missing, broken, kept by the cache, or never. */
const openUpstream = () =>
  openHttpUpstream((asked, response) => {
    const path = asked.url ?? '';
    asked.resume();
    if (path.startsWith('/missing')) response.writeHead(404).end('no');
    else if (path.startsWith('/broken')) response.writeHead(500).end('oh');
    else if (path.startsWith('/cached')) response.writeHead(200, { 'cache-control': 'max-age=60' }).end('kept');
    else if (path.startsWith('/slow')) waiting.resolve();
    else response.writeHead(200).end('found');
  }, container);

async function tellEdge() {
  const cluster = `${projectId}-${environment}`;
  const told = environmentWith(cluster, 1, [upstream.instance]);
  const first = { ...(told.routes[0] as Route & { type: 'upstream' }), upstream: 'shop' };
  const upstreams = { shop: told.upstreams['app']! };
  const cache = { enabled: true, default_ttl: 0, cookies: ['*'], headers: [] };
  const { upstream: _, cache: __, sticky: ___, ...common } = first;
  const routes: Route[] = [
    { ...first, host: 'shop.localhost', cache },
    { ...first, original_url: 'https://{default}/', scheme: 'https', host: 'shop.localhost', cache },
    { ...common, type: 'redirect', original_url: 'http://old/', host: 'old.localhost', to: 'http://shop.localhost/' },
  ];
  await running.edge.put({ ...told, upstreams, routes });
  await running.edge.put({ ...told, cluster: platformCluster, upstreams, routes: [{ ...first, host: 'api.localhost' }] });
  const { certificate, key } = testAuthority().issue(['shop.localhost']);
  await running.edge.putCertificate({ id: 'shop', version: 1, names: ['shop.localhost'], certificate, chain: [], key, is_default: true });
}

/** Records while `work` is done, until `stop`; answers all that was appended. */
function recording(reports = { has: (_scope: object, _application: string) => false }) {
  const appended: { [K in Kind]?: Records[K][] } = {};
  const append: Metrics['append'] = (kind, records) => void ((appended[kind] ??= []) as unknown[]).push(...records);
  const machine = { edge: running.edge } as unknown as Machine;
  const stopping = new AbortController();
  const platform = { ...home.platform, metrics: { ...home.platform.metrics, append }, machine: async () => machine };
  const over = recordRequestsUnless(reports, platform, stopping.signal);
  return {
    requests: (): RequestRecord[] => appended.requests ?? [],
    async stop(): Promise<TransactionRecord[]> {
      stopping.abort();
      await over;
      return appended.transactions ?? [];
    },
  };
}

const post = (path: string, body: string) =>
  new Promise<void>((resolve, reject) => {
    const headers = { host: 'shop.localhost', 'user-agent': 'tester', 'content-length': body.length };
    request({ port: running.port, host: '127.0.0.1', method: 'POST', path, headers, agent: false }, (response) =>
      response.resume().on('end', resolve),
    )
      .on('error', reject)
      .end(body);
  });

async function overHttp2(path: string): Promise<number> {
  const session = connectHttp2(`https://127.0.0.1:${securePort}`, { servername: 'shop.localhost', rejectUnauthorized: false });
  const stream = session.request({ ':path': path, ':authority': 'shop.localhost' });
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  stream.resume();
  await once(stream, 'end');
  session.close();
  return headers[':status'];
}

async function leaveEarly(path: string) {
  const client = connect(running.port, '127.0.0.1').on('error', () => {});
  client.write(`GET ${path} HTTP/1.1\r\nHost: shop.localhost\r\n\r\n`);
  await waiting.promise;
  client.destroy();
}

test('each request is recorded once, however it was answered, and those that an instance was asked are transactions of its app', async () => {
  const recorded = recording();
  await running.get('shop.localhost', '/users/17?token=secret&page=2');
  await post('/missing', 'hello');
  await running.get('shop.localhost', '/broken');
  await running.get('shop.localhost', '/cached');
  await running.get('old.localhost', '/moved');
  expect(await overHttp2('/second')).toBe(200);
  await leaveEarly('/slow');
  await running.get('nobody.localhost', '/unknown');
  await running.get('api.localhost', '/platform');
  // Each process of the edge has a cache of its own.
  let cachedCount = 1;
  for (const isHit = () => recorded.requests().some((each) => each.isFromCache); !isHit(); await sleep(50)) {
    await running.get('shop.localhost', '/cached');
    cachedCount += 1;
  }
  await expect.poll(() => recorded.requests().length).toBe(6 + cachedCount);
  const requests = recorded.requests();
  const transactions = await recorded.stop();
  const { answered } = await running.edge.status();
  for (const [statusClass, count] of Object.entries(answered))
    expect(count).toBeGreaterThanOrEqual(requests.filter(({ status }) => statusClass.startsWith(String(status).slice(0, 1))).length);

  const known = { project: projectId, environment, application: 'shop', ip: '127.0.0.1' };
  const byUrl = (url: string) => requests.filter((each) => each.url === url);
  expect(byUrl('/users/17?token&page')).toMatchObject([
    { ...known, instance: 'shop.1', domain: 'shop.localhost', method: 'GET', status: 200, requestBytes: 0, isFromCache: false },
  ]);
  expect(byUrl('/missing')).toMatchObject([{ ...known, method: 'POST', status: 404, requestBytes: 5, userAgent: 'tester' }]);
  expect(byUrl('/broken')).toMatchObject([{ ...known, status: 500 }]);
  expect(byUrl('/moved')).toMatchObject([{ application: '', instance: '', domain: 'old.localhost', status: 301 }]);
  expect(byUrl('/second')).toMatchObject([{ ...known, instance: 'shop.1', domain: 'shop.localhost', status: 200 }]);
  expect(byUrl('/slow')).toMatchObject([{ ...known, instance: 'shop.1', status: 499 }]);
  expect(byUrl('/cached').find(({ isFromCache }) => isFromCache)).toMatchObject({ ...known, instance: '', status: 200 });
  expect(requests.filter(({ url }) => url === '/unknown' || url === '/platform')).toEqual([]);
  for (const each of requests) {
    expect(Math.abs(Date.now() - each.time)).toBeLessThan(60_000);
    expect(each.wallTime).toBeGreaterThan(0);
    expect(each.responseBytes).toBeGreaterThan(each.status === 499 ? -1 : 50);
  }

  expect(transactions).toHaveLength(requests.filter(({ instance }) => instance !== '').length);
  expect(transactions.find(({ transaction }) => transaction === '/users/{id}')).toMatchObject({
    project: projectId,
    environment,
    context: 'web',
    application: 'shop',
    instance: 'shop.1',
    host: 'shop.1',
    httpHost: 'shop.localhost',
    method: 'get',
    status: 200,
    language: 'nodejs',
    runtime: expect.stringMatching(/^nodejs \d+$/),
    os: 'Linux',
    peakMemory: 0,
    output: byUrl('/users/17?token&page')[0]?.responseBytes,
  });
});

test('the edge goes on while nobody listens, and tells what it answered when somebody does; of apps that report themselves no transaction is taken', async () => {
  for (let nth = 0; nth < 5; nth += 1) await running.get('shop.localhost', `/meanwhile/${nth}`);
  const asked: unknown[] = [];
  const recorded = recording({
    has: (scope, application) => {
      asked.push([scope, application]);
      return true;
    },
  });
  const meanwhile = () => recorded.requests().filter(({ url }) => url.startsWith('/meanwhile/'));
  await expect.poll(() => meanwhile().length).toBe(5);
  expect(await recorded.stop()).toEqual([]);
  expect(asked).toHaveLength(5);
  expect(asked[0]).toMatchObject([{ project: projectId, environment }, 'shop']);
});

test('transactions wait ten seconds for the report of their app, and no more of them than there is room for', () => {
  let now = 0;
  const reporting = new Set<string>();
  const handedOn: string[] = [];
  const held = openHeldTransactions(
    { has: (_scope, application) => reporting.has(application) },
    (records) => records.forEach(({ application }) => handedOn.push(application)),
    () => now,
  );
  const of = (application: string) => ({ project: 'p', environment: 'main', application }) as unknown as TransactionRecord;
  held.hold([of('silent'), of('telling')]);
  now = heldMilliseconds - 1;
  held.hold([of('later')]);
  held.release();
  expect(handedOn).toEqual([]);
  reporting.add('telling');
  now = heldMilliseconds;
  held.release();
  expect(handedOn).toEqual(['silent']);
  expect(held.hold(Array.from({ length: 200_010 }, () => of('flood')))).toBe(11);
  held.end();
  expect(handedOn.length).toBe(200_001);
});

test.each([
  ['/', '/'],
  ['/about?utm', '/about'],
  ['/users/17/orders/2026-11-16', '/users/{id}/orders/{date}'],
  ['/v1/things/9F8C1E0A-0b1c-4d2e-8f3a-123456789abc', '/v1/things/{uuid}'],
  ['/commits/3f2c9d7be01a44', '/commits/{hash}'],
  ['/facade/decade/abcdefabcdef', '/facade/decade/abcdefabcdef'],
  ['/reset/eyJhbGciOi1JIUzI1NiIsInR5cCI6', '/reset/{token}'],
  ['/a-long-title-of-an-article-that-says-something', '/a-long-title-of-an-article-that-says-something'],
  [`/files/${'x'.repeat(65)}`, '/files/{token}'],
  ['/assets/app.3f2c9d7b.js', '/assets/app.{hash}.js'],
  [`/${'a/'.repeat(50)}`, `/${'a/'.repeat(12)}…`],
])('what %s is called', (url, name) => {
  expect(transactionNameOf(url)).toBe(name);
});
