/** Floods of connections and WebSockets: bounded for each address and each environment, and neighbours are answered meanwhile. */
import { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { Reader, ReadingTurns } from './reading-turns.ts';
import { SocketReading } from './socket-reading.ts';
import { environmentOf, openClient, openTestEdge, statuses, upstreamRoute, type Client, type TestEdge } from '../testing/edge.ts';
import { openRawUpstream, until } from '../testing/upstream.ts';

const upgrading = (host: string) => `GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const asking = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const application = (text: string) => {
  if (!text.includes('\r\n\r\n')) return undefined;
  return /^Upgrade:/im.test(text)
    ? 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    : 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
};
const { onRead: readOn } = Reader.prototype;
const flooded = { cluster: 'project-flooded', routes: [upstreamRoute('flooded.test')] };
const neighbour = { cluster: 'project-neighbour', routes: [upstreamRoute('neighbour.test')] };

async function openFlood(limits: Parameters<typeof openTestEdge>[1]) {
  const upstream = await openRawUpstream(application);
  const made = await openTestEdge([environmentOf([upstream.instance], flooded), environmentOf([upstream.instance], neighbour)], limits);
  const clients: Client[] = [];
  const say = async (text: string) => {
    const client = await openClient(made.port);
    clients.push(client);
    client.say(text);
    return { client, status: statuses(await client.heard(/\r\n\r\n/))[0] ?? 0 };
  };
  return {
    made,
    upstream,
    say,
    async [Symbol.asyncDispose]() {
      for (const { socket } of clients) socket.destroy();
      await made[Symbol.asyncDispose]();
      await upstream.close();
    },
  };
}

test('an environment has only so many open, neighbours are answered, and closing one makes room', async () => {
  await using flood = await openFlood({ requestsPerEnvironmentMax: 20 });
  const opened = [];
  for (let n = 0; n < 20; n += 1) opened.push(await flood.say(upgrading('flooded.test')));
  expect(opened.map(({ status }) => status)).toEqual(Array<number>(20).fill(101));
  expect((await flood.say(upgrading('flooded.test'))).status).toBe(503);
  expect((await flood.say(asking('flooded.test'))).status).toBe(503);
  expect((await flood.say(asking('neighbour.test'))).status).toBe(200);
  expect((await flood.say(upgrading('neighbour.test'))).status).toBe(101);
  opened[0]?.client.socket.destroy();
  await until(() => flood.made.edge.outstanding() === 20);
  expect((await flood.say(upgrading('flooded.test'))).status).toBe(101);
});

test('an address has only so many open, over all environments', async () => {
  await using flood = await openFlood({ requestsPerAddressMax: 10 });
  for (let n = 0; n < 10; n += 1) expect((await flood.say(upgrading('flooded.test'))).status).toBe(101);
  expect((await flood.say(upgrading('neighbour.test'))).status).toBe(503);
});

test('one that moves no byte is ended in time', async () => {
  await using flood = await openFlood({ idleSeconds: 0.5 });
  const { client, status } = await flood.say(upgrading('flooded.test'));
  expect(status).toBe(101);
  await client.closed();
  await until(() => flood.made.edge.outstanding() === 0);
});

const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, n) => n + from);

test('whoever has spent the share is not read from, and reads on a few at a time, in order; another does not wait for that', async () => {
  const turns = new ReadingTurns();
  const stopped: number[] = [];
  const wentOn: number[] = [];
  const readers = upTo(50).map((n) => new Reader(turns, { awaitTurn: () => void stopped.push(n), takeTurn: () => void wentOn.push(n) }));
  for (const reader of readers) reader.belongTo('flooded');
  const stoppedOfNeighbour = vi.fn<() => void>();
  const ofNeighbour = new Reader(turns, { awaitTurn: stoppedOfNeighbour, takeTurn() {} });
  ofNeighbour.belongTo('neighbour');
  ofNeighbour.onRead();
  await immediate();
  for (const reader of readers.slice(0, 16)) reader.onRead();
  expect(stopped).toEqual([]);
  readers[16]?.onRead();
  expect(stopped).toEqual(upTo(50));
  ofNeighbour.onRead();
  expect(stoppedOfNeighbour).not.toHaveBeenCalled();
  await immediate();
  expect(wentOn).toEqual(upTo(16));
  readers[20]?.close();
  // What they went on for is counted already; more than that is not.
  readers[0]?.onRead();
  expect(stopped).toHaveLength(50);
  readers[0]?.onRead();
  expect(stopped.slice(50)).toEqual([...upTo(16)]);
  for (let n = 0; n < 5; n += 1) await immediate();
  expect(wentOn.slice(16)).toEqual([...upTo(4, 16), ...upTo(29, 21), ...upTo(16)]);
});

test('a client who asks for what is being visited already is no neighbour: visitors are alone again with its first request', async () => {
  const turns = new ReadingTurns();
  const stopped = vi.fn<() => void>();
  const visitors = upTo(50).map(() => new Reader(turns, { awaitTurn: stopped, takeTurn() {} }));
  for (const visitor of visitors) visitor.belongTo('environment');
  for (const visitor of visitors) visitor.onRead();
  await immediate();
  const newcomer = new Reader(turns, { awaitTurn: stopped, takeTurn() {} });
  newcomer.belongTo('address');
  newcomer.onRead();
  newcomer.belongTo('environment');
  for (const visitor of visitors) visitor.onRead();
  await immediate();
  for (const visitor of [newcomer, ...visitors]) visitor.onRead();
  expect(stopped).not.toHaveBeenCalled();
});

test('one that changes hands while it waits goes on where it belongs now', async () => {
  const turns = new ReadingTurns();
  const wentOn = vi.fn<() => void>();
  const reader = new Reader(turns, { awaitTurn() {}, takeTurn: wentOn });
  reader.belongTo('address');
  for (let n = 0; n <= 128; n += 1) reader.onRead();
  expect(reader.isWaiting).toBe(true);
  reader.belongTo('environment');
  await immediate();
  expect(wentOn).toHaveBeenCalledTimes(1);
  expect(reader.isWaiting).toBe(false);
  for (let n = 0; n <= 129; n += 1) reader.onRead();
  expect(reader.isWaiting).toBe(true);
});

test('a socket that has no room is not read from for having its turn, nor one without a turn for having room', () => {
  const handle = { isStreamBase: true, readStart: vi.fn<() => number>(() => 0), readStop: vi.fn<() => number>(() => 0) };
  const reading = new SocketReading(Object.create(new Socket(), { _handle: { value: handle } }) as Socket);
  const times = () => [handle.readStop.mock.calls.length, handle.readStart.mock.calls.length];
  reading.pause();
  reading.awaitTurn();
  expect(times()).toEqual([1, 0]);
  reading.takeTurn();
  expect(times()).toEqual([1, 0]);
  reading.resume();
  expect(times()).toEqual([1, 1]);
  reading.awaitTurn();
  reading.pause();
  reading.resume();
  expect(times()).toEqual([2, 1]);
  reading.takeTurn();
  expect(times()).toEqual([2, 2]);
});

/** How often the edge, which is in this process, reads from sockets in one turn of the event loop, at most. */
function countReads() {
  const inTurn = new Map<number, number>();
  let turn = 0;
  let next = setImmediate(function count() {
    turn += 1;
    next = setImmediate(count);
  });
  const onRead = vi.spyOn(Reader.prototype, 'onRead');
  onRead.mockImplementation(function (this: Reader) {
    inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
    Reflect.apply(readOn, this, []);
  });
  return {
    atMost: () => Math.max(...inTurn.values()),
    inAll: () => onRead.mock.calls.length,
    [Symbol.dispose]() {
      clearImmediate(next);
      onRead.mockRestore();
    },
  };
}
const connectionsTo = ({ edge }: TestEdge) => promisify(edge.server.getConnections.bind(edge.server))();

/** A share, and the piece that finds it spent. */
const readsMax = 128 + 1;

test('of hundreds that talk at once, only a few are read from before everybody else has a turn', async () => {
  await using flood = await openFlood({});
  const opened = await Promise.all(upTo(300).map(() => flood.say(upgrading('flooded.test'))));
  using reads = countReads();
  // All of it is with the kernel before the edge comes to read any of it.
  for (const { client } of opened) client.say('a piece');
  await expect.poll(() => flood.upstream.received.filter((text) => text.endsWith('a piece')).length).toBe(300);
  expect(reads.inAll()).toBe(300);
  expect(reads.atMost()).toBeLessThanOrEqual(readsMax);
});

test('so it is with connections that were opened long ago and now all ask for the first time, or leave', async () => {
  await using flood = await openFlood({});
  const opened = await Promise.all(upTo(300).map(() => openClient(flood.made.port)));
  await expect.poll(() => connectionsTo(flood.made)).toBe(300);
  using reads = countReads();
  for (const client of opened) client.say(asking('flooded.test'));
  for (const client of opened) await client.heard(/hello/);
  expect(reads.atMost()).toBeLessThanOrEqual(2 * readsMax);
  for (const { socket } of opened) socket.destroy();
  await expect.poll(() => connectionsTo(flood.made)).toBe(0);
  expect(reads.inAll()).toBeGreaterThanOrEqual(3 * 300);
  expect(reads.atMost()).toBeLessThanOrEqual(2 * readsMax);
});

test('hundreds that talk at once are all heard, whole and in order', async () => {
  await using flood = await openFlood({});
  const opened = await Promise.all(Array.from({ length: 100 }, () => flood.say(upgrading('flooded.test'))));
  for (let piece = 0; piece < 20; piece += 1) for (const { client } of opened) client.say(`<${piece}>\r\n\r\n`);
  const whole = Array.from({ length: 20 }, (_, piece) => `<${piece}>`).join('\r\n\r\n');
  await expect.poll(() => flood.upstream.received.filter((text) => text.includes(whole)).length).toBe(100);
});
