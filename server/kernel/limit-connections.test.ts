import fastify from 'fastify';
import { createConnection, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { drainOnClose } from './drain-on-close.ts';
import { limitConnections } from './limit-connections.ts';

const sockets: Socket[] = [];
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

async function openApi(trustedProxies: string[], connectionsPerAddressMax: number) {
  const http = fastify({ forceCloseConnections: true });
  drainOnClose(http);
  limitConnections(http, trustedProxies, { connectionsMax: 20, connectionsPerAddressMax });
  http.get('/', async () => 'whole');
  await http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = http.server.address() as AddressInfo;
  return {
    connect(said = '', localAddress = '127.0.0.1') {
      const socket = createConnection({ port, host: '127.0.0.1', localAddress });
      const heard = { text: '', isClosed: false, socket };
      sockets.push(socket);
      socket
        .setEncoding('utf8')
        .on('data', (text: string) => (heard.text += text))
        .on('error', () => {})
        .on('close', () => (heard.isClosed = true));
      if (said !== '') socket.write(said);
      return heard;
    },
    [Symbol.asyncDispose]: () => http.close(),
  };
}

const asking = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('slow connections give way to those that talk, and whoever finds no place is told so', async () => {
  await using api = await openApi([], 5);
  const talking = [api.connect(asking), api.connect(asking)];
  for (const each of talking) await expect.poll(() => each.text).toContain('whole');
  const slow = Array.from({ length: 12 }, (_, index) => api.connect(index % 2 === 0 ? 'GET / HT' : ''));
  await expect.poll(() => slow.filter(({ isClosed }) => isClosed).length).toBe(9);
  const more = [api.connect(asking), api.connect(asking), api.connect(asking)];
  for (const each of more) await expect.poll(() => each.text).toContain('whole');
  const refused = api.connect(asking);
  await expect.poll(() => refused.text).toMatch(/^HTTP\/1\.1 429 [^]*Too many connections are open from your address/);
  expect(refused.text).not.toContain('whole');
  expect([...talking, ...more].some(({ isClosed }) => isClosed)).toBe(false);
  const elsewhere = api.connect(asking, '127.0.0.2');
  await expect.poll(() => elsewhere.text).toContain('whole');
});

test('a trusted proxy has as many as there are', async () => {
  await using api = await openApi(['127.0.0.0/8'], 1);
  const all = Array.from({ length: 20 }, () => api.connect(asking));
  for (const each of all) await expect.poll(() => each.text).toContain('whole');
  const refused = api.connect(asking);
  await expect.poll(() => refused.text).toContain('HTTP/1.1 503 ');
});
