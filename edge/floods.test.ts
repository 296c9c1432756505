/** Floods of WebSockets: bounded for each address and each environment, and neighbours are answered meanwhile. */
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { environmentOf, openClient, openTestEdge, statuses, upstreamRoute, type Client } from './test-edge.ts';
import { openRawUpstream, until } from './test-upstream.ts';
import { TunnelTurns } from './tunnel-turns.ts';

const upgrading = (host: string) => `GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const asking = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const application = (text: string) => {
  if (!text.includes('\r\n\r\n')) return undefined;
  return /^Upgrade:/im.test(text)
    ? 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    : 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
};
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

test('pieces of one environment are passed on a few at a time, in order, and another environment does not wait for them', async () => {
  const turns = new TunnelTurns();
  const wentOn: number[] = [];
  const mayReadOn = Array.from({ length: 50 }, (_, n) => turns.mayReadOn('flooded', () => void wentOn.push(n)));
  expect(mayReadOn.filter(Boolean)).toHaveLength(15);
  expect(turns.mayReadOn('neighbour', () => {})).toBe(true);
  await immediate();
  expect(wentOn).toEqual(Array.from({ length: 16 }, (_, n) => n + 15));
  for (let n = 0; n < 3; n += 1) await immediate();
  expect(wentOn).toEqual(Array.from({ length: 35 }, (_, n) => n + 15));
});

test('hundreds that talk at once are all heard, whole and in order', async () => {
  await using flood = await openFlood({});
  const opened = await Promise.all(Array.from({ length: 100 }, () => flood.say(upgrading('flooded.test'))));
  for (let piece = 0; piece < 20; piece += 1) for (const { client } of opened) client.say(`<${piece}>\r\n\r\n`);
  const whole = Array.from({ length: 20 }, (_, piece) => `<${piece}>`).join('\r\n\r\n');
  await expect.poll(() => flood.upstream.received.filter((text) => text.includes(whole)).length).toBe(100);
});
