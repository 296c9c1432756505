import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { answerTo, arrivals, environmentOf, openClient, openTestEdge, statuses, upstreamRoute, type TestEdge } from '../testing/edge.ts';
import { freePort } from '../testing/ports.ts';
import { always, openRawUpstream, until } from '../testing/upstream.ts';

const ok = always('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
const asking = (path: string) => `GET ${path} HTTP/1.1\r\nHost: app.test\r\n\r\n`;

async function askEach(made: TestEdge, count: number) {
  const clients = [];
  for (let index = 0; index < count; index++) {
    const [client, before] = [await openClient(made.port), arrivals(made)];
    client.say(asking(`/${index}`));
    // The order in which they arrive is what counts.
    await until(() => arrivals(made) > before);
    clients.push(client);
  }
  return clients;
}

test('requests wait while their environment is held, and go on in order to what is there then', async () => {
  const [before, after] = await Promise.all([openRawUpstream(ok, 'before'), openRawUpstream(ok, 'after')]);
  await using made = await openTestEdge([environmentOf([before.instance], { state: 'holding' })]);
  const clients = await askEach(made, 20);
  await sleep(100);
  expect([before.received, made.records]).toEqual([[], []]);
  made.table.put(environmentOf([after.instance]));
  for (const client of clients) expect(statuses(await client.heard(/ok$/))).toEqual([200]);
  expect(before.received).toEqual([]);
  expect(made.records.map(({ path }) => path).toSorted()).toEqual(clients.map((_, index) => `/${index}`).toSorted());
  expect(after.received.map((text) => /\/\d+/.exec(text)?.[0])).toEqual(clients.map((_, index) => `/${index}`));
  expect(made.records.every(({ held_ms, instance }) => held_ms > 90 && instance === 'after')).toBe(true);
  await Promise.all([before.close(), after.close()]);
});

test('also a POST waits; its body stays with the client until somebody takes it', async () => {
  const body = `${'x'.repeat(20_000_000)}the end`;
  // How it ends is looked at once: each look costs as much as all that has come.
  const upstream = await openRawUpstream((text) =>
    text.length > body.length && text.endsWith('the end') ? 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' : undefined,
  );
  await using made = await openTestEdge([environmentOf([upstream.instance], { state: 'holding' })]);
  const client = await openClient(made.port);
  client.say(`POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await sleep(300);
  expect(client.socket.writableLength).toBeGreaterThan(10_000_000);
  made.table.put(environmentOf([upstream.instance]));
  expect(statuses(await client.heard(/ok$/))).toEqual([200]);
  expect(upstream.received[0]?.endsWith(body)).toBe(true);
  await upstream.close();
});

test('a request to an environment that sleeps asks for it once, and waits', async () => {
  const upstream = await openRawUpstream(ok);
  await using made = await openTestEdge([environmentOf([], { state: 'sleeping' })]);
  const clients = await askEach(made, 3);
  expect(made.wakes).toEqual(['project-main']);
  made.table.put(environmentOf([], { state: 'holding' }));
  made.table.put(environmentOf([upstream.instance]));
  for (const client of clients) expect(statuses(await client.heard(/ok$/))).toEqual([200]);
  made.table.put(environmentOf([], { state: 'sleeping' }));
  await askEach(made, 1);
  await until(() => made.wakes.length > 1);
  expect(made.wakes).toEqual(['project-main', 'project-main']);
  await upstream.close();
});

/** Longer than the edge takes to look again who may go on. */
const lookedAgainMs = 600;

test('a hold for a while ends by itself, for those who wait and those who come; told again in time it goes on', async () => {
  const upstream = await openRawUpstream(ok);
  // Of a clock that goes when it is told to: a machine that stands still ends no hold.
  vi.useFakeTimers({ toFake: ['Date'] });
  using _clock = { [Symbol.dispose]: () => void vi.useRealTimers() };
  const holding = (milliseconds: number) =>
    environmentOf([upstream.instance], { state: 'holding', holds_until: Date.now() + milliseconds });
  await using made = await openTestEdge([holding(1500)]);
  const clients = await askEach(made, 3);
  const heldSince = performance.now();
  vi.advanceTimersByTime(300);
  made.table.put(holding(2500));
  for (const milliseconds of [1700, 799]) {
    vi.advanceTimersByTime(milliseconds);
    await sleep(lookedAgainMs);
    expect([upstream.received, made.records]).toEqual([[], []]);
  }
  const heldMs = performance.now() - heldSince;
  vi.advanceTimersByTime(1);
  for (const client of clients) expect(statuses(await client.heard(/ok$/))).toEqual([200]);
  expect(upstream.received.map((text) => /\/\d+/.exec(text)?.[0])).toEqual(['/0', '/1', '/2']);
  expect(made.records.every(({ held_ms }) => held_ms > heldMs)).toBe(true);
  expect(statuses(await answerTo(made.port, asking('/late'), 50))).toEqual([200]);
  expect(made.records.at(-1)?.held_ms).toBe(0);
  made.table.put(environmentOf([upstream.instance], { state: 'holding' }));
  const [waiting] = await askEach(made, 1);
  await sleep(400);
  expect(waiting?.text()).toBe('');
  made.table.put(environmentOf([upstream.instance]));
  expect(statuses((await waiting?.heard(/ok$/)) ?? '')).toEqual([200]);
  await upstream.close();
});

test('those who leave are forgotten, those who wait too long are told, and no more wait than may', async () => {
  // Only what is waited for here takes time.
  vi.useFakeTimers({ toFake: ['performance'] });
  using _clock = { [Symbol.dispose]: () => void vi.useRealTimers() };
  await using made = await openTestEdge([environmentOf([], { state: 'holding' })], { heldRequestsPerEnvironmentMax: 2, heldSeconds: 1.5 });
  const [leaving, staying] = await askEach(made, 2);
  expect(statuses(await answerTo(made.port, asking('/'), 50))).toEqual([503]);
  leaving?.socket.destroy();
  await until(() => made.records.some(({ status }) => status === 499));
  const [next] = await askEach(made, 1);
  vi.advanceTimersByTime(1500);
  expect(statuses((await staying?.heard(/\r\n\r\n/)) ?? '')).toEqual([503]);
  expect(statuses((await next?.heard(/\r\n\r\n/)) ?? '')).toEqual([503]);
  expect(made.edge.outstanding()).toBe(0);
});

test('an environment that is paused, broken or gone after all says so to those who waited', async () => {
  await using made = await openTestEdge([environmentOf([], { state: 'holding' })]);
  const [paused] = await askEach(made, 1);
  made.table.put(environmentOf([], { state: 'paused' }));
  expect(statuses((await paused?.heard(/\r\n\r\n/)) ?? '')).toEqual([503]);
  made.table.put(environmentOf([], { state: 'holding' }));
  const [gone] = await askEach(made, 1);
  made.table.remove('project-main');
  expect(statuses((await gone?.heard(/\r\n\r\n/)) ?? '')).toEqual([404]);
});

test('redirects and the door do not wait', async () => {
  const http_access = { is_enabled: true, addresses: [], basic_auth: { ada: 'secret-word' } };
  const routes = [
    upstreamRoute('app.test'),
    upstreamRoute('app.test', '/old/', { type: 'redirect', to: 'http://app.test/new/' } as object),
  ];
  await using made = await openTestEdge([environmentOf([], { state: 'holding', routes })]);
  expect(statuses(await answerTo(made.port, asking('/old/'), 50))).toEqual([301]);
  made.table.put(environmentOf([], { state: 'holding', http_access }));
  expect(statuses(await answerTo(made.port, asking('/'), 50))).toEqual([401]);
});

test('draining an instance ends with its last request; its connections close when the table forgets it', async () => {
  let finish = () => {};
  const upstream = await openRawUpstream((text, socket) => {
    if (!text.startsWith('GET /slow')) return ok(text);
    finish = () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');
    return '';
  }, 'old');
  const fresh = await openRawUpstream(ok, 'new');
  await using made = await openTestEdge([environmentOf([upstream.instance])], { idleConnectionSeconds: 60 });
  await answerTo(made.port, asking('/'), 50);
  expect(upstream.connections.size).toBe(1);
  const client = await openClient(made.port);
  client.say(asking('/slow'));
  await until(() => upstream.received.join('').includes('/slow'));
  made.table.put(environmentOf([fresh.instance]));
  expect(statuses(await answerTo(made.port, asking('/'), 50))).toEqual([200]);
  expect(made.records.at(-1)?.instance).toBe('new');
  expect(await made.edge.drain('project-main', 'old', 0.1)).toBe(1);
  const drained = made.edge.drain('project-main', 'old', 60);
  finish();
  expect(await client.heard(/late$/)).toContain('200 OK');
  expect(await drained).toBe(0);
  await until(() => upstream.connections.size === 0);
  expect(await made.edge.drain('project-main', 'nobody', 1)).toBe(0);
  await Promise.all([upstream.close(), fresh.close()]);
});

test('a request that found its instance gone waits with the rest, when the environment was held meanwhile', async () => {
  const gone = { id: 'gone', address: { host: '127.0.0.1', port: await freePort() } };
  const fresh = await openRawUpstream(ok, 'fresh');
  await using made = await openTestEdge([environmentOf([gone])]);
  const client = await openClient(made.port);
  client.say(asking('/'));
  // The request is on its way, and that nobody listens there is not known yet.
  while (made.edge.outstanding() === 0) await nextTurn();
  made.table.put(environmentOf([gone], { state: 'holding' }));
  await sleep(100);
  expect(made.records).toEqual([]);
  made.table.put(environmentOf([fresh.instance]));
  expect(statuses(await client.heard(/ok$/))).toEqual([200]);
  await fresh.close();
});
