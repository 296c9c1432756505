/** Floods of WebSockets: bounded for each address and each environment, and neighbours are answered meanwhile. */
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { environmentOf, openClient, openTestEdge, statuses, upstreamRoute, type Client } from './test-edge.ts';
import { openRawUpstream, until } from './test-upstream.ts';
import { TunnelSide, TunnelTurns } from './tunnel-turns.ts';
import { Turns } from './turns.ts';

const upgrading = (host: string) => `GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const asking = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const application = (text: string) => {
  if (!text.includes('\r\n\r\n')) return undefined;
  return /^Upgrade:/im.test(text)
    ? 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    : 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
};
const { onPiece: passOn } = TunnelSide.prototype;
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

test('an environment that has spent its share is not read from, and reads on a few at a time, in order; another does not wait for it', async () => {
  const turns = new Turns();
  const tunnels = new TunnelTurns(turns);
  const paused: number[] = [];
  const resumed: number[] = [];
  const sides = Array.from(
    { length: 50 },
    (_, n) => new TunnelSide(tunnels, 'flooded', { pause: () => void paused.push(n), resume: () => void resumed.push(n) }),
  );
  const pausedOfNeighbour = vi.fn<() => void>();
  const ofNeighbour = new TunnelSide(tunnels, 'neighbour', { pause: pausedOfNeighbour, resume() {} });
  ofNeighbour.onPiece(true);
  await immediate();
  for (const side of sides.slice(0, 16)) side.onPiece(true);
  expect(paused).toEqual([]);
  sides[16]?.onPiece(true);
  expect(paused).toEqual(Array.from({ length: 50 }, (_, n) => n));
  ofNeighbour.onPiece(true);
  expect(pausedOfNeighbour).not.toHaveBeenCalled();
  await immediate();
  expect(resumed).toEqual(Array.from({ length: 16 }, (_, n) => n));
  sides[20]?.close();
  // What they were resumed for is counted already; more than that is not.
  sides[0]?.onPiece(true);
  expect(paused).toHaveLength(50);
  sides[0]?.onPiece(true);
  expect(paused.slice(50)).toEqual(Array.from({ length: 16 }, (_, n) => n));
  for (let n = 0; n < 4; n += 1) await immediate();
  expect(resumed.slice(16)).toEqual([
    ...Array.from({ length: 33 }, (_, n) => n + (n < 4 ? 16 : 17)),
    ...Array.from({ length: 16 }, (_, n) => n),
  ]);
});

test('one that waits for room is not read from for having its turn', async () => {
  const tunnels = new TunnelTurns(new Turns());
  const source = { pause: vi.fn<() => void>(), resume: vi.fn<() => void>() };
  const side = new TunnelSide(tunnels, 'flooded', source);
  side.onPiece(false);
  for (let n = 0; n < 64; n += 1) side.onPiece(true);
  await immediate();
  expect([source.pause.mock.calls.length, source.resume.mock.calls.length]).toEqual([1, 0]);
  side.goOnWithout('room');
  expect(source.resume).toHaveBeenCalledTimes(1);
});

test('of hundreds that talk at once, only a few are read from before everybody else has a turn', async () => {
  await using flood = await openFlood({});
  const opened = await Promise.all(Array.from({ length: 200 }, () => flood.say(upgrading('flooded.test'))));
  const readInTurn = new Map<number, number>();
  let turn = 0;
  let counting = setImmediate(function count() {
    turn += 1;
    counting = setImmediate(count);
  });
  using onPiece = vi.spyOn(TunnelSide.prototype, 'onPiece');
  onPiece.mockImplementation(function (this: TunnelSide, hasRoom) {
    readInTurn.set(turn, (readInTurn.get(turn) ?? 0) + 1);
    return Reflect.apply(passOn, this, [hasRoom]);
  });
  // All of it is with the kernel before the edge, which is in this process, comes to read any of it.
  for (const { client } of opened) client.say('a piece');
  await expect.poll(() => flood.upstream.received.filter((text) => text.endsWith('a piece')).length).toBe(200);
  clearImmediate(counting);
  expect(onPiece).toHaveBeenCalledTimes(200);
  // A share, and the one piece that finds it spent.
  expect(Math.max(...readInTurn.values())).toBeLessThanOrEqual(64 + 1);
});

test('hundreds that talk at once are all heard, whole and in order', async () => {
  await using flood = await openFlood({});
  const opened = await Promise.all(Array.from({ length: 100 }, () => flood.say(upgrading('flooded.test'))));
  for (let piece = 0; piece < 20; piece += 1) for (const { client } of opened) client.say(`<${piece}>\r\n\r\n`);
  const whole = Array.from({ length: 20 }, (_, piece) => `<${piece}>`).join('\r\n\r\n');
  await expect.poll(() => flood.upstream.received.filter((text) => text.includes(whole)).length).toBe(100);
});
