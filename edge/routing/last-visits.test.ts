import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { visitsOfAll } from './last-visits.ts';
import { answerTo, environmentOf, openClient, openTestEdge } from '../testing/edge.ts';
import { always, openRawUpstream, until } from '../testing/upstream.ts';

const ok = always('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
const asking = 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n';

test('a visit counts while it is under way, and is remembered when it has ended, until the environment is gone', async () => {
  const upstream = await openRawUpstream(ok);
  await using made = await openTestEdge([environmentOf([upstream.instance], { state: 'sleeping' })]);
  expect(made.edge.visits().seconds_ago).toEqual({});
  const client = await openClient(made.port);
  client.say(asking);
  await until(() => made.edge.outstanding() === 1);
  await sleep(200);
  expect(made.edge.visits().seconds_ago).toEqual({ 'project-main': 0 });
  made.table.put(environmentOf([upstream.instance]));
  await client.heard(/ok$/);
  await client.closed();
  await sleep(100);
  const { known_seconds, seconds_ago } = made.edge.visits();
  expect(known_seconds).toBeGreaterThan(0.25);
  expect(seconds_ago['project-main']).toBeGreaterThan(0.05);
  expect(seconds_ago['project-main']).toBeLessThan(known_seconds);
  made.table.remove('project-main');
  expect(made.edge.visits().seconds_ago).toEqual({});
  await upstream.close();
});

test('a connection that was taken over counts as long as it is open', async () => {
  const upgraded = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const upstream = await openRawUpstream(always(upgraded));
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say('GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await client.heard(/101/);
  await sleep(200);
  expect(made.edge.visits().seconds_ago).toEqual({ 'project-main': 0 });
  client.socket.destroy();
  await until(() => made.records.length === 1);
  await sleep(100);
  expect(made.edge.visits().seconds_ago['project-main']).toBeGreaterThan(0);
  await upstream.close();
});

test('whoever may not enter keeps nobody awake', async () => {
  const http_access = { is_enabled: true, addresses: [], basic_auth: { ada: 'secret' } };
  await using made = await openTestEdge([environmentOf([], { http_access })]);
  expect(await answerTo(made.port, asking)).toMatch(/^HTTP\/1\.1 401 /);
  expect(made.edge.visits().seconds_ago).toEqual({});
});

test('of several processes the last visit to any counts, and what the youngest can know', () => {
  const one = { known_seconds: 100, seconds_ago: { a: 50, b: 0 } };
  const other = { known_seconds: 7, seconds_ago: { a: 3, c: 5 } };
  expect(visitsOfAll([one, other])).toEqual({ known_seconds: 7, seconds_ago: { a: 3, b: 0, c: 5 } });
  expect(visitsOfAll([])).toEqual({ known_seconds: 0, seconds_ago: {} });
});
