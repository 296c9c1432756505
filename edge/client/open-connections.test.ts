/** Slow connections: whoever opens many and asks for nothing takes places from himself alone. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { OpenConnections } from './open-connections.ts';
import { environmentOf, openClient, openTestEdge, statuses } from '../testing/edge.ts';
import { openRawUpstream, until } from '../testing/upstream.ts';

const asking = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n';
const hello = (text: string) => (text.includes('\r\n\r\n') ? 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello' : undefined);
const [placesMax, slowNumber] = [100, 300];

/** They say nothing, or half of a head. */
function openSlowly(port: number, number: number) {
  const told: string[] = [];
  let closed = 0;
  const sockets = Array.from({ length: number }, (_, index) => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    if (index % 2 === 0) socket.write('GET / HTTP/1.1\r\nHost: ');
    return socket
      .on('data', (text) => void told.push(String(text)))
      .on('error', () => {})
      .on('close', () => void closed++);
  });
  return { told, closed: () => closed, end: () => sockets.forEach((socket) => socket.destroy()) };
}

test('of three times as many slow connections as an address has places, those that talk keep theirs, and a neighbour gets one', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])], { connectionsPerAddressMax: placesMax });
  const talking = await Promise.all(Array.from({ length: 20 }, () => openClient(made.port)));
  for (const client of talking) client.say(asking);
  await Promise.all(talking.map((client) => client.heard(/hello/)));
  const slow = openSlowly(made.port, slowNumber);
  await until(() => slow.closed() === slowNumber - (placesMax - talking.length));

  for (const client of talking) client.say(asking);
  for (const client of talking) expect(statuses(await client.heard(/hello[^]*hello/))).toEqual([200, 200]);
  const neighbour = await openClient(made.port);
  neighbour.say(asking);
  expect(statuses(await neighbour.heard(/hello/))).toEqual([200]);
  expect(slow.told.length).toBeGreaterThan(0);
  for (const text of slow.told) expect(text).toMatch(/^HTTP\/1\.1 429 [^]*Retry-After: \d+\r\n[^]*\r\n\r\nToo many connections .*\n$/);
  slow.end();
  for (const client of [...talking, neighbour]) client.socket.destroy();
  await upstream.close();
});

test('when every place is taken by somebody who talks, the next is told so, with what it asked for still unread', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])], { connectionsMax: 3 });
  const talking = await Promise.all(Array.from({ length: 3 }, () => openClient(made.port)));
  for (const client of talking) client.say(asking);
  await Promise.all(talking.map((client) => client.heard(/hello/)));
  const refused = connect(made.port, '127.0.0.1').setEncoding('latin1');
  refused.write(asking.repeat(100));
  const [text] = await once(refused, 'data');
  expect(text).toMatch(/^HTTP\/1\.1 503 [^]*Too many connections are open here; try again in a moment\.\n$/);
  for (const client of talking) client.socket.destroy();
  refused.destroy();
  await upstream.close();
});

test('places are given up once, and the oldest that never asked is the first to go', () => {
  const dismissed: string[] = [];
  const connections = new OpenConnections<string>({ connectionsMax: 5, connectionsPerAddressMax: 3 }, (name) => dismissed.push(name));
  for (const name of ['a1', 'a2', 'a3']) connections.take(name, 'a');
  connections.keep('a1');
  expect([connections.makeRoom('a'), dismissed, connections.size]).toEqual([undefined, ['a2'], 2]);
  connections.take('a4', 'a');
  for (const name of ['a3', 'a4']) connections.keep(name);
  expect([connections.makeRoom('a'), connections.makeRoom('a', false), connections.makeRoom('b')]).toEqual([
    'address',
    undefined,
    undefined,
  ]);
  for (const name of ['b1', 'b2']) connections.take(name, 'b');
  expect([connections.makeRoom('c'), dismissed]).toEqual([undefined, ['a2', 'b1']]);
  connections.take('c1', 'c');
  for (const name of ['b2', 'c1']) connections.keep(name);
  expect(connections.makeRoom('d')).toBe('all');
  for (const name of ['a1', 'a1', 'a2', 'c1']) connections.giveUp(name);
  expect([connections.size, [...connections], connections.makeRoom('d')]).toEqual([3, ['a3', 'a4', 'b2'], undefined]);
});
