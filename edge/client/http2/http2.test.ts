import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testAuthority } from '../../testing/certificates.ts';
import { environmentOf, upstreamRoute } from '../../testing/edge.ts';
import { frame, openRawHttp2, requestBlock } from '../../testing/http2-frames.ts';
import { openSecureTestEdge, type SecureTestEdge } from '../../testing/secure-edge.ts';
import { always, openHttpUpstream, openRawUpstream } from '../../testing/upstream.ts';
import type { Instance } from '../../routing/table.ts';
import { flags, frameTypes } from './frames.ts';
import type { EdgeLimits } from '../../limits.ts';

const authority = testAuthority();
const certificate = authority.issue(['a.test']);

async function openHttp2Edge(instance: Instance, limits: Partial<EdgeLimits> = {}): Promise<SecureTestEdge> {
  const routes = [upstreamRoute('a.test', '/', { scheme: 'https', original_url: 'https://{default}/' })];
  const made = await openSecureTestEdge([environmentOf([instance], { routes })], limits);
  made.present('a', ['a.test'], certificate);
  return made;
}

interface Http2Client extends AsyncDisposable {
  session: ClientHttp2Session;
  ask(headers: OutgoingHttpHeaders, body?: Buffer): Promise<{ headers: IncomingHttpHeaders; body: Buffer; trailers: IncomingHttpHeaders }>;
}

async function openHttp2Client({ securePort }: SecureTestEdge): Promise<Http2Client> {
  const session = connect(`https://a.test:${securePort}`, { ca: authority.certificate, servername: 'a.test', host: '127.0.0.1' } as object);
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  return {
    session,
    async ask(headers, body) {
      const stream = session.request({ ':authority': 'a.test', ...headers }, { endStream: body === undefined });
      let trailers: IncomingHttpHeaders = {};
      stream.on('trailers', (told) => (trailers = told));
      if (body) stream.end(body);
      const [reply] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      return { headers: reply, body: await buffer(stream), trailers };
    },
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  };
}

test('an application gets a request of HTTP/2 as one of HTTP/1.1, and its reply goes back', async () => {
  const upstream = await openRawUpstream((text) =>
    text.includes('\r\n\r\n')
      ? 'HTTP/1.1 200 OK\r\nX-App: yes\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nKeep-Alive: timeout=5\r\nContent-Length: 5\r\n\r\nhello'
      : undefined,
  );
  await using made = await openHttp2Edge(upstream.instance);
  await using client = await openHttp2Client(made);
  const { headers, body } = await client.ask({ ':path': '/x?y=z', cookie: ['a=1', 'b=2'], 'x-forwarded-for': '6.6.6.6', te: 'trailers' });
  expect(String(body)).toBe('hello');
  expect(headers).toMatchObject({ ':status': 200, 'x-app': 'yes', 'set-cookie': ['a=1', 'b=2'], 'content-length': '5' });
  expect(headers).not.toHaveProperty('keep-alive');
  const [record] = made.records;
  expect(upstream.received).toEqual([
    `GET /x?y=z HTTP/1.1\r\nHost: a.test\r\ncookie: a=1; b=2\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a.test\r\nX-Client-IP: 127.0.0.1\r\nX-Client-SSL: on\r\nX-Original-Route: https://{default}/\r\nX-Request-Id: ${record?.request_id}\r\n\r\n`,
  ]);
  expect(record).toMatchObject({ status: 200, scheme: 'https', host: 'a.test', path: '/x', query: 'y=z', aborted: false });
});

test('bodies pass in both directions, with a length and without, larger than any buffer', async () => {
  const upstream = await openHttpUpstream((request, response) => {
    if (request.headers['content-length'] !== undefined) response.setHeader('content-length', request.headers['content-length']);
    request.pipe(response);
  });
  await using made = await openHttp2Edge(upstream.instance);
  await using client = await openHttp2Client(made);
  const bytes = randomBytes(3_000_000);
  const [told, untold] = await Promise.all([
    client.ask({ ':method': 'POST', ':path': '/', 'content-length': bytes.length }, bytes),
    client.ask({ ':method': 'POST', ':path': '/' }, bytes),
  ]);
  expect(told?.body.equals(bytes)).toBe(true);
  expect(untold?.body.equals(bytes)).toBe(true);
  expect(told?.headers['content-length']).toBe(String(bytes.length));
  expect(made.records.map(({ bytes_in, status }) => [bytes_in, status])).toEqual([
    [bytes.length, 200],
    [bytes.length, 200],
  ]);
});

test('requests do not wait for each other, and one that is given up is given up at the application', async () => {
  const { promise: leftSlow, resolve } = Promise.withResolvers<void>();
  const upstream = await openHttpUpstream((request, response) => {
    if (request.url === '/slow') response.once('close', resolve);
    else response.end(request.url);
  });
  await using made = await openHttp2Edge(upstream.instance);
  await using client = await openHttp2Client(made);
  const slow = client.session.request({ ':path': '/slow', ':authority': 'a.test' });
  slow.on('error', () => {});
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => client.ask({ ':path': `/${index}` })));
  expect(answers.map(({ body }) => String(body))).toEqual(Array.from({ length: 50 }, (_, index) => `/${index}`));
  slow.close(constants.NGHTTP2_CANCEL);
  await leftSlow;
  await expect.poll(() => made.records.find(({ path }) => path === '/slow')).toMatchObject({ status: 499, aborted: true });
  expect(String((await client.ask({ ':path': '/after' })).body)).toBe('/after');
});

test('what an application says after its body arrives after the body', async () => {
  const upstream = await openRawUpstream((text) =>
    text.includes('\r\n\r\n')
      ? 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: grpc-status\r\n\r\n5\r\nhello\r\n0\r\ngrpc-status: 0\r\n\r\n'
      : undefined,
  );
  await using made = await openHttp2Edge(upstream.instance);
  await using client = await openHttp2Client(made);
  const { body, trailers } = await client.ask({ ':path': '/' });
  expect(String(body)).toBe('hello');
  expect(trailers).toMatchObject({ 'grpc-status': '0' });
});

test('a WebSocket goes through, as a stream that both sides write to', async () => {
  const upstream = await openRawUpstream((text, socket) => {
    if (!text.includes('\r\n\r\n')) return undefined;
    socket.removeAllListeners('data').on('data', (chunk) => void socket.write(chunk));
    return 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: chat\r\n\r\nwelcome ';
  });
  await using made = await openHttp2Edge(upstream.instance);
  await using client = await openHttp2Client(made);
  const stream = client.session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'https',
    ':path': '/chat',
    ':authority': 'a.test',
    'sec-websocket-version': '13',
  });
  const [reply] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  expect(reply).toMatchObject({ ':status': 200, 'sec-websocket-protocol': 'chat' });
  expect(reply).not.toHaveProperty('sec-websocket-accept');
  expect(upstream.received[0]).toMatch(/^GET \/chat HTTP\/1\.1\r\n/);
  expect(upstream.received[0]).toMatch(/\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/);
  expect(upstream.received[0]).toMatch(/\r\nsec-websocket-key: [\w+/]{22}==\r\n/i);
  let heard = '';
  stream.on('data', (chunk) => (heard += String(chunk)));
  stream.write('ping');
  await expect.poll(() => heard).toBe('welcome ping');
  stream.end();
  await expect.poll(() => upstream.connections.size).toBe(0);
});

test('a request that nobody may send is refused, and the connection goes on', async () => {
  const upstream = await openHttpUpstream((_, response) => response.end('ok'));
  await using made = await openHttp2Edge(upstream.instance, { headerLinesMax: 50 });
  await using client = await openHttp2Client(made);
  expect((await client.ask({ ':path': '/', ':authority': 'b.test' })).headers[':status']).toBe(421);
  expect((await client.ask({ ':method': 'CONNECT', ':authority': 'a.test:443' })).headers[':status']).toBe(400);
  expect((await client.ask({ ':path': '/', host: 'b.test' })).headers[':status']).toBe(421);
  expect(String((await client.ask({ ':path': '/' })).body)).toBe('ok');
});

test('an edge that closes answers what was asked, and takes no more on that connection', async () => {
  let answer: (() => void) | undefined;
  const upstream = await openHttpUpstream((_, response) => (answer = () => response.end('late')));
  const made = await openHttp2Edge(upstream.instance);
  await using client = await openHttp2Client(made);
  const asked = client.ask({ ':path': '/' });
  await expect.poll(() => answer).toBeDefined();
  const closing = made.edge.close(30);
  await once(client.session, 'goaway');
  answer?.();
  expect(String((await asked).body)).toBe('late');
  await closing;
});

test.for([
  { headers: { ':path': '/a b' } },
  { headers: { ':path': '/ HTTP/1.1\r\nHost: evil\r\n\r\n' } },
  { headers: { ':method': 'GET / HTTP/1.1\r\nX: y' } },
  { headers: { 'x-one': 'a\r\nx-two: b' } },
  { headers: { 'x one': 'a' } },
  { headers: { 'x-one\r\nx-two': 'a' } },
  { headers: { 'transfer-encoding': 'chunked' } },
  { headers: { 'content-length': '10' } },
  { headers: { connection: 'x-forwarded-for' } },
])('what HTTP/1.1 would take for something else reaches no application: %j', async ({ headers }) => {
  const upstream = await openRawUpstream(always('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  await using made = await openHttp2Edge(upstream.instance);
  await using client = await openRawHttp2(made, authority.certificate);
  client.socket.write(frame(frameTypes.headers, flags.endHeaders | flags.endStream, 1, requestBlock(headers)));
  // It is refused with a reply, or with the end of the stream or of the connection.
  await expect.poll(() => client.answerOf(1) ?? client.resetWith(1) ?? client.goneWith()).toBeDefined();
  expect(upstream.received).toEqual([]);
});
