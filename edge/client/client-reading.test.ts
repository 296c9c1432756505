import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely, createServer as createSecureServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RequestParser } from './request-parser.ts';
import { environmentOf, openTestEdge, upstreamRoute, type TestEdge } from '../testing/edge.ts';
import { openHttpUpstream, openRawUpstream, standingStill, until, type RawUpstream } from '../testing/upstream.ts';

interface Way {
  open(made: TestEdge): Promise<Socket>;
  close(): void;
}

/** TLS with a key that both know needs no certificate. */
const sharedKey = randomBytes(32);
const ciphers = 'PSK-AES128-GCM-SHA256';
const onlyPsk = { ciphers, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;

const plainWay = (): Way => ({
  async open({ port }) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  },
  close() {},
});

/** As TLS will stand before the edge; such a socket is read as a stream. */
function secureWay(): Way {
  let edge: TestEdge['edge'] | undefined;
  const server = createSecureServer({ ...onlyPsk, allowHalfOpen: true, pskCallback: () => sharedKey }, (socket) =>
    edge?.accept(socket, 'https'),
  );
  return {
    async open(made) {
      edge = made.edge;
      if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const pskCallback = () => ({ psk: sharedKey, identity: 'test' });
      const socket = connectSecurely({ port, host: '127.0.0.1', ...onlyPsk, pskCallback, checkServerIdentity: () => undefined });
      await once(socket, 'secureConnect');
      return socket;
    },
    close: () => void server.close(),
  };
}

const asking = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: app.test\r\n${headers}\r\n`;
const posting = (path: string, body: string, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: app.test\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Answers each request with its path and body; in chunks there must be no letter that is a digit of sizes. */
function echo(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [head, body] = [text.slice(0, end), text.slice(end + 4)];
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const isChunked = /\r\ntransfer-encoding: chunked/i.test(head);
  if (isChunked ? !body.endsWith('0\r\n\r\n') : body.length < length) return undefined;
  const said = `<${head.split(' ')[1]} ${isChunked ? body.replaceAll(/[\da-f]+\r\n|\r\n/g, '') : body}>`;
  return `HTTP/1.1 200 OK\r\nContent-Length: ${said.length}\r\n\r\n${said}`;
}

const answersIn = (text: string) => [...text.matchAll(/<(\S+ [^>]*)>/g)].map(([, answer]) => answer);

describe.each([
  ['below streams', plainWay],
  ['as a stream, through TLS', secureWay],
])('a client that is read %s', (_how, wayOf) => {
  const way = wayOf();
  let upstream: RawUpstream;
  let made: TestEdge;
  beforeAll(async () => {
    upstream = await openRawUpstream(echo);
    const routes = [upstreamRoute('app.test'), upstreamRoute('app.test', '/', { scheme: 'https' })];
    made = await openTestEdge([environmentOf([upstream.instance], { routes })]);
  });
  afterAll(async () => {
    way.close();
    await Promise.all([made.edge.close(0), upstream.close()]);
  });

  async function open(): Promise<Socket> {
    const socket = await way.open(made);
    return socket.on('error', () => {});
  }

  /** Says these pieces one after another, each in a packet of its own, and answers what came when that many replies are there. */
  async function said(pieces: string[], replies: number): Promise<string> {
    const socket = await open();
    socket.setNoDelay(true);
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    for (const piece of pieces) {
      socket.write(piece, 'latin1');
      await sleep(1);
    }
    await until(() => (text.match(/HTTP\/1\.1 /g)?.length ?? 0) >= replies && (answersIn(text).length >= replies || socket.closed));
    socket.destroy();
    return text;
  }

  const inARow = [
    asking('/one'),
    posting('/two', 'with a body'),
    'POST /three HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthis \r\n5\r\nthing\r\n0\r\n\r\n',
    // What the edge lets no one change to; the parser stops behind it all the same.
    posting('/four', 'asks in vain', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'),
    asking('/five', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'),
    asking('/six'),
  ].join('');
  const answered = ['/one ', '/two with a body', '/three this thing', '/four asks in vain', '/five ', '/six '];

  test('may say its requests at once, byte by byte, or in pieces that end anywhere', async () => {
    expect(answersIn(await said([inARow], 6))).toEqual(answered);
    expect(answersIn(await said(inARow.split(''), 6))).toEqual(answered);
    for (let length = 7; length < inARow.length; length += 23) {
      const pieces = inARow.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
      expect(answersIn(await said(pieces, 6))).toEqual(answered);
    }
  });

  test('hears of what is wrong after what was right before it, and is not read any further', async () => {
    const socket = await open();
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.write(`${asking('/right')}GET / HTTP/1.1\r\nHost : app.test\r\n\r\n${asking('/after')}`);
    await until(() => text.includes('HTTP/1.1 400'));
    socket.write(asking('/much-later'));
    await until(() => socket.closed);
    expect(answersIn(text)).toEqual(['/right ']);
    expect(upstream.received.join('')).not.toMatch(/after|much-later/);
  });

  test('that leaves in the middle of a body, or does not wait for the answer, has left', async () => {
    const before = made.records.length;
    for (const words of [`POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 9\r\n\r\nhalf`, posting('/slow', '')]) {
      const socket = await open();
      socket.on('error', () => {});
      socket.write(words.replace('Content-Length: 0', 'Content-Length: 1'));
      await sleep(50);
      socket.end();
      socket.resume();
      await until(() => socket.closed);
    }
    await until(() => made.records.length === before + 2);
    expect(made.records.slice(before).map(({ status, aborted }) => [status, aborted])).toEqual([
      [499, true],
      [499, true],
    ]);
  });

  test('that says no more when all is answered is said goodbye to', async () => {
    const socket = await open();
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.write(asking('/last'));
    await until(() => answersIn(text).length === 1);
    socket.end();
    await until(() => socket.closed);
    expect(made.records.at(-1)).toMatchObject({ path: '/last', status: 200, aborted: false });
  });

  test('is not read while its requests wait, and all of them are answered when they no longer do', async () => {
    const count = 2000;
    const held: (() => void)[] = [];
    let isOpen = false;
    const slow = await openHttpUpstream(({ url }, reply) => {
      const answer = () => reply.end(`<${url} >`);
      if (isOpen) answer();
      else held.push(answer);
    });
    made.table.put(environmentOf([slow.instance], { cluster: 'slow', routes: slowRoutes }));
    const socket = await open();
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    const padding = `X-Padding: ${'x'.repeat(12_000)}\r\n`;
    for (let number = 0; number < count; number++) socket.write(asking(`/${number}`, padding).replace('app.test', 'slow.test'));
    await until(() => held.length > 0);
    expect(await standingStill(() => socket.writableLength)).toBeGreaterThan(0);
    expect(held).toHaveLength(1);
    isOpen = true;
    held[0]?.();
    await until(() => text.includes(`</${count - 1} >`));
    expect(answersIn(text)).toEqual(Array.from({ length: count }, (_, number) => `/${number} `));
    socket.destroy();
    await slow.close();
  });
  const slowRoutes = (['http', 'https'] as const).map((scheme) => upstreamRoute('slow.test', '/', { scheme }));

  test('may change the protocol, and waits then as before for an application that does not read', async () => {
    const sent = randomBytes(24 * 1024 ** 2);
    const heard = createHash('sha256');
    const readers: Socket[] = [];
    let bytes = 0;
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nwelcome');
        socket.pause();
        socket.on('data', (chunk) => {
          bytes += chunk.length;
          heard.update(chunk);
        });
        socket.pause();
        readers.push(socket);
      });
      socket.on('error', () => {});
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
    made.table.put(environmentOf([{ id: 'tunnel', address }], { cluster: 'tunnel', routes: tunnelRoutes }));
    const socket = await open();
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.write(asking('/', 'Connection: Upgrade\r\nUpgrade: test\r\n').replace('app.test', 'tunnel.test'));
    await until(() => text.endsWith('welcome'));
    socket.write(sent);
    expect(await standingStill(() => socket.writableLength)).toBeGreaterThan(0);
    readers[0]?.resume();
    await until(() => bytes === sent.length);
    expect(heard.digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'));
    socket.destroy();
    readers[0]?.destroy();
    server.close();
  });
  const tunnelRoutes = (['http', 'https'] as const).map((scheme) => upstreamRoute('tunnel.test', '/', { scheme }));
});

describe('a parser reads by itself', () => {
  const nothing = { onHead: () => false, onBody() {}, onEnd() {}, onRead() {}, onRefused() {} };
  const parser = () => new RequestParser(nothing, 8192, 100);

  test('a plain socket, but none that a stream has begun to read, that is closed, or that is no socket of the system', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const accepted = once(server, 'connection');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await accepted) as [Socket];
    const isReadBelow = (some: Socket) => parser().readFrom(some).isBelowStreams;
    expect(isReadBelow(new Socket())).toBe(false);
    const reading = parser().readFrom(socket);
    expect(reading.isBelowStreams).toBe(true);
    reading.leaveToStream();
    expect(reading.isBelowStreams).toBe(false);
    client.write('as a stream');
    await until(() => socket.readableLength > 0);
    expect(isReadBelow(socket)).toBe(false);
    socket.destroy();
    expect(isReadBelow(socket)).toBe(false);
    client.destroy();
    server.close();
  });
});
