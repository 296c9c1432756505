import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  answerTo,
  clockOfTurns,
  environmentOf,
  locationWith,
  openClient,
  openTestEdge,
  statuses,
  upstreamOf,
  upstreamRoute,
} from '../testing/edge.ts';
import { freePort } from '../testing/ports.ts';
import { platformCluster } from '../routing/table.ts';
import { always, openHttpUpstream, openRawUpstream, standingStill, until } from '../testing/upstream.ts';

const hello = always('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-App: yes\r\n\r\nhello');
const asking = (path = '/', headers = '') => `GET ${path} HTTP/1.1\r\nHost: app.test\r\n${headers}\r\n`;

async function posted(
  port: number,
  headers: Record<string, string | number>,
  body: Buffer,
): Promise<{ reply: IncomingMessage; body: Buffer }> {
  const asked = request({ host: '127.0.0.1', port, agent: false, method: 'POST', headers: { host: 'app.test', ...headers } });
  asked.end(body);
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  return { reply, body: Buffer.concat(chunks) };
}

test('the application is told who asks and for what, and the client gets its reply with the names of the edge', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const answer = await answerTo(
    made.port,
    asking('/a%20b?c=d', 'User-Agent: test\r\nX-Forwarded-For: 6.6.6.6\r\nX_Client_IP: 6.6.6.6\r\nProxy: evil\r\nTE: trailers\r\n'),
  );
  const [record] = made.records;
  expect(upstream.received).toEqual([
    `GET /a%20b?c=d HTTP/1.1\r\nHost: app.test\r\nUser-Agent: test\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: app.test\r\nX-Client-IP: 127.0.0.1\r\nX-Original-Route: http://{default}/\r\nX-Request-Id: ${record?.request_id}\r\n\r\n`,
  ]);
  expect(answer).toBe(
    `HTTP/1.1 200 OK\r\nX-App: yes\r\nX-Platform-Cache: BYPASS\r\nX-Platform-Cluster: project-main\r\nX-Platform-Router: router-1\r\nX-Request-Id: ${record?.request_id}\r\nContent-Length: 5\r\n\r\nhello`,
  );
  expect(record).toMatchObject({
    cluster: 'project-main',
    route: 'http://{default}/',
    instance: 'raw',
    method: 'GET',
    host: 'app.test',
    path: '/a%20b',
    query: 'c=d',
    status: 200,
    bytes_in: 0,
    bytes_out: answer.length,
    user_agent: 'test',
    address: '127.0.0.1',
    cache: 'BYPASS',
    aborted: false,
  });
  await upstream.close();
});

test('both connections are used again and again, and requests that are sent ahead are answered in order', async () => {
  const upstream = await openRawUpstream((text) => {
    const path = /^GET (\S+)/.exec(text)?.[1] ?? '';
    return text.includes('\r\n\r\n') ? `HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}` : undefined;
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const paths = Array.from({ length: 100 }, (_, index) => `/number-${index}`);
  const answer = await answerTo(made.port, paths.map((path) => asking(path)).join(''));
  expect([...answer.matchAll(/\/number-\d+/g)].map(String)).toEqual(paths);
  expect(upstream.received).toHaveLength(1);
  await upstream.close();
});

test('large bodies stream both ways, whole, with a length and in chunks', async () => {
  const upstream = await openHttpUpstream((request, reply) => {
    if (request.headers['content-length']) reply.setHeader('content-length', request.headers['content-length']);
    request.pipe(reply);
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const sent = randomBytes(9_000_001);
  const { body } = await posted(made.port, { 'content-length': sent.length }, sent);
  expect(body.equals(sent)).toBe(true);
  const chunked = await posted(made.port, { 'transfer-encoding': 'chunked' }, sent);
  expect(chunked.reply.headers['transfer-encoding']).toBe('chunked');
  expect(chunked.body.equals(sent)).toBe(true);
  await upstream.close();
});

test('a client that does not read makes the application wait', async () => {
  let written = 0;
  const upstream = await openHttpUpstream((_request, reply) => {
    const chunk = Buffer.alloc(65_536);
    const more = () => {
      while (written < 400_000_000 && !reply.destroyed) {
        written += chunk.length;
        if (!reply.write(chunk)) return void reply.once('drain', more);
      }
    };
    more();
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const socket = connect(made.port, '127.0.0.1');
  socket.pause();
  socket.write(asking());
  await until(() => written > 0);
  expect(await standingStill(() => written)).toBeLessThan(60_000_000);
  socket.destroy();
  await until(() => made.records.length === 1);
  expect(made.records[0]).toMatchObject({ status: 200, aborted: true });
  await upstream.close();
});

test('an application that does not read makes the client wait', async () => {
  let reads = false;
  const upstream = await openRawUpstream((_text, socket) => (reads ? undefined : void socket.pause()));
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 200000000\r\n\r\n');
  let said = 0;
  const chunk = Buffer.alloc(1_000_000);
  const more = () => {
    while (said < 200 && !client.socket.destroyed) {
      said++;
      if (!client.socket.write(chunk)) return void client.socket.once('drain', more);
    }
  };
  more();
  expect(await standingStill(() => said)).toBeLessThan(60);
  client.socket.destroy();
  // Whoever is not read from cannot be seen leaving; when it moves again, it is.
  reads = true;
  for (const socket of upstream.connections) socket.resume();
  await until(() => made.records.length === 1);
  expect(made.records[0]).toMatchObject({ status: 499, aborted: true });
  await upstream.close();
});

test('events of a server reach the client one by one', async () => {
  let events: ServerResponse | undefined;
  const upstream = await openHttpUpstream((_request, reply) => void (events = reply));
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say(asking());
  await until(() => events !== undefined);
  events?.writeHead(200, { 'content-type': 'text/event-stream' });
  // Each is heard before there is anything that could push it on its way.
  for (const count of [1, 2, 3]) {
    events?.write(`data: ${count}\n\n`);
    expect(await client.heard(new RegExp(`data: ${count}\n\n`))).not.toContain(`data: ${count + 1}`);
  }
  events?.end();
  await client.heard(/0\r\n\r\n$/);
  client.socket.destroy();
  await upstream.close();
});

test('trailers and early hints pass; a trailer cannot say what only a head may', async () => {
  const reply =
    'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;ext=1\r\nabc\r\n0\r\nX-Sum: 9\r\nContent-Length: 7\r\nX-Request-Id: fake\r\n\r\n';
  const upstream = await openRawUpstream((text) => (text.endsWith('0\r\nX-Check: 1\r\n\r\n') ? reply : undefined));
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const answer = await answerTo(
    made.port,
    'POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-Check: 1\r\nX-Forwarded-For: 6.6.6.6\r\nCookie: a=b\r\n\r\n',
  );
  expect(upstream.received[0]).toMatch(/\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Check: 1\r\n\r\n$/);
  expect(answer).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>\r\n\r\nHTTP\/1\.1 200 OK\r\nTrailer: X-Sum\r\n/);
  expect(answer).toMatch(/\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n$/);
  await upstream.close();
});

test('HEAD, 204 and 304 have no body, whatever their headers say, and the connection goes on', async () => {
  const upstream = await openRawUpstream((text) => {
    if (text.startsWith('HEAD')) return 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n';
    if (text.startsWith('GET /none')) return 'HTTP/1.1 204 No Content\r\n\r\n';
    if (text.startsWith('GET /same')) return 'HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\nETag: "a"\r\n\r\n';
    return 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast';
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const head = 'HEAD / HTTP/1.1\r\nHost: app.test\r\n\r\n';
  const answer = await answerTo(made.port, head + asking('/none') + asking('/same') + asking('/last'));
  expect(statuses(answer)).toEqual([200, 204, 304, 200]);
  expect(answer.endsWith('\r\n\r\nlast')).toBe(true);
  expect(upstream.received).toHaveLength(1);
  await upstream.close();
});

test('a reply that ends with its connection becomes chunks; for HTTP/1.0 it stays what it is', async () => {
  const upstream = await openRawUpstream((text, socket) => {
    if (text.includes('\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end');
    return undefined;
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  expect(await answerTo(made.port, asking())).toMatch(/Transfer-Encoding: chunked\r\n\r\nd\r\nuntil the end\r\n0\r\n\r\n$/);
  const old = await answerTo(made.port, 'GET / HTTP/1.0\r\nHost: app.test\r\n\r\n');
  expect(old).not.toContain('Transfer-Encoding');
  expect(old).toMatch(/Connection: close\r\n\r\nuntil the end$/);
  await upstream.close();
});

test('HTTP/1.0 keeps its connection only when it asks to', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const kept = 'GET / HTTP/1.0\r\nHost: app.test\r\nConnection: keep-alive\r\n\r\n';
  expect(statuses(await answerTo(made.port, kept + kept))).toEqual([200, 200]);
  const once = 'GET / HTTP/1.0\r\nHost: app.test\r\n\r\n';
  expect(statuses(await answerTo(made.port, once + once))).toEqual([200]);
  await upstream.close();
});

test('who expects 100 hears it when an instance is there to take the body, and not before', async () => {
  const upstream = await openRawUpstream((text) => (text.endsWith('body!') ? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' : undefined));
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
  expect(await client.heard(/\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  client.say('body!');
  expect(statuses(await client.heard(/200 OK[^]*\r\n\r\n/))).toEqual([100, 200]);
  expect(upstream.received[0]).not.toMatch(/expect/i);
  const other = await openClient(made.port);
  other.say('POST / HTTP/1.1\r\nHost: nobody.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
  expect(statuses(await other.closed())).toEqual([404]);
  client.socket.destroy();
  await upstream.close();
});

test('a body that is larger than its location allows gets 413, told beforehand or found out on the way', async () => {
  const upstream = await openRawUpstream(() => undefined);
  const locations = { '/': locationWith({ request_buffering: { enabled: true, max_request_size: '1k' } }) };
  await using made = await openTestEdge([environmentOf([], { upstreams: { 'app:http': upstreamOf([upstream.instance], { locations }) } })]);
  const told = await answerTo(made.port, `POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1025\r\n\r\n${'x'.repeat(1025)}`);
  expect(statuses(told)).toEqual([413]);
  expect(upstream.received).toEqual([]);
  const chunk = `200\r\n${'x'.repeat(512)}\r\n`;
  const found = await answerTo(
    made.port,
    `POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}0\r\n\r\n`,
  );
  expect(statuses(found)).toEqual([413]);
  await until(() => upstream.connections.size === 0);
  await upstream.close();
});

test('a reply that comes before the body was read ends the connection, and reaches the client', async () => {
  const upstream = await openRawUpstream(always('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno'));
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1000000\r\n\r\nbeginning');
  const answer = await client.closed();
  expect(statuses(answer)).toEqual([401]);
  expect(answer).toContain('Connection: close');
  await upstream.close();
});

test('a WebSocket goes through as it is, also what is said before the answer and in the same breath', async () => {
  const upstream = await openRawUpstream((text) => {
    if (text.startsWith('GET'))
      return 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nfirst';
    return text.toUpperCase();
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say(`${asking('/chat', 'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n')}early`);
  expect(await client.heard(/EARLY/)).toMatch(
    /^HTTP\/1\.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n[^]*Upgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirstEARLY$/,
  );
  expect(upstream.received[0]).toContain('\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  client.say('more');
  await client.heard(/MORE$/);
  client.socket.end();
  await until(() => upstream.connections.size === 0 && made.records.length === 1);
  expect(made.records[0]).toMatchObject({ status: 101, path: '/chat' });
  expect(made.edge.outstanding()).toBe(0);
  await upstream.close();
});

test('when the application ends a WebSocket, the client sees the end', async () => {
  const upstream = await openRawUpstream((text, socket) => {
    if (text.startsWith('GET')) return 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
    socket.end('bye');
    return undefined;
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say(asking('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  await client.heard(/101/);
  client.say('x');
  expect(await client.closed()).toMatch(/bye$/);
  await upstream.close();
});

test('an application that declines to change the protocol answers as usual', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const answer = await answerTo(made.port, asking('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  expect(statuses(answer)).toEqual([200]);
  expect(answer).toMatch(/hello$/);
  await upstream.close();
});

test('a client that talks on after its protocol was declined is not read any more, and keeps nobody else waiting', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say(asking('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  await client.heard(/hello$/);
  client.say(asking('/later'));
  expect(statuses(await answerTo(made.port, asking('/')))).toEqual([200]);
  expect(statuses(await client.closed())).toEqual([200]);
  expect(upstream.received.join('')).not.toContain('/later');
  await upstream.close();
});

test('what was said early to a protocol that is declined is no request; the connection ends', async () => {
  const upstream = await openRawUpstream(hello);
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  const client = await openClient(made.port);
  client.say(asking('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n') + asking('/early'));
  const answer = await client.closed();
  expect(statuses(answer)).toEqual([200]);
  expect(answer).toContain('Connection: close');
  expect(upstream.received.join('')).not.toContain('/early');
  await upstream.close();
});

test('an instance that refuses connections is passed over; nothing is lost', async () => {
  const gone = { id: 'gone', address: { host: '127.0.0.1', port: await freePort() } };
  const upstream = await openRawUpstream(hello, 'there');
  await using made = await openTestEdge([environmentOf([gone, upstream.instance])]);
  for (let count = 0; count < 8; count++) {
    expect(statuses(await answerTo(made.port, 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 2\r\n\r\nok', 100))).toEqual([200]);
  }
  expect(made.records.every(({ instance }) => instance === 'there')).toBe(true);
  await upstream.close();
});

test('without any instance, or with one that breaks off before its head, a page says 502', async () => {
  const upstream = await openRawUpstream((text, socket) => (text.includes('\r\n\r\n') ? void socket.destroy() : undefined));
  await using made = await openTestEdge([
    environmentOf([upstream.instance]),
    environmentOf([], { cluster: 'empty', routes: [upstreamRoute('empty.test')] }),
  ]);
  expect(statuses(await answerTo(made.port, asking()))).toEqual([502]);
  expect(statuses(await answerTo(made.port, asking().replace('app.test', 'empty.test')))).toEqual([502]);
  expect(upstream.received).toHaveLength(1);
  await upstream.close();
});

test('a kept connection that was closed meanwhile is replaced for who can ask twice, and never used for others', async () => {
  let asked = 0;
  const upstream = await openRawUpstream((text, socket) => {
    if (!text.includes('\r\n\r\n')) return undefined;
    asked++;
    if (asked === 2) return void socket.destroy();
    return 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])], { idleConnectionSeconds: 60 });
  expect(statuses(await answerTo(made.port, asking(), 80))).toEqual([200]);
  expect(statuses(await answerTo(made.port, asking(), 50))).toEqual([200]);
  expect(asked).toBe(3);
  await sleep(1100);
  expect(statuses(await answerTo(made.port, 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 2\r\n\r\nok', 50))).toEqual([200]);
  expect(upstream.received).toHaveLength(3);
  await upstream.close();
});

test('a reply that breaks off is cut off for the client too, and never looks whole', async () => {
  const upstream = await openRawUpstream((text, socket) => {
    const isLength = text.startsWith('GET /length');
    if (text.includes('\r\n\r\n'))
      socket.end(`HTTP/1.1 200 OK\r\n${isLength ? 'Content-Length: 50' : 'Transfer-Encoding: chunked'}\r\n\r\n5\r\nhello\r\n`);
    return undefined;
  });
  await using made = await openTestEdge([environmentOf([upstream.instance])]);
  for (const path of ['/length', '/chunks']) {
    const client = await openClient(made.port);
    client.say(asking(path));
    expect(await client.closed()).not.toMatch(/0\r\n\r\n$/);
  }
  expect(made.records.map(({ aborted, status }) => [aborted, status])).toEqual([
    [true, 200],
    [true, 200],
  ]);
  await upstream.close();
});

test('requests go to the instance with the least to do', async () => {
  const slow = await openRawUpstream(() => undefined, 'slow');
  const quick = await openRawUpstream(hello, 'quick');
  await using made = await openTestEdge([environmentOf([slow.instance, quick.instance])]);
  const waiting = await Promise.all([openClient(made.port), openClient(made.port)]);
  for (const client of waiting) client.say(asking());
  await until(() => slow.received.length === 1 && made.records.length === 1);
  for (let count = 0; count < 10; count++) await answerTo(made.port, asking(), 80);
  expect(slow.received.length).toBeLessThanOrEqual(2);
  expect(made.records.every(({ instance }) => instance === 'quick')).toBe(true);
  for (const client of waiting) client.socket.destroy();
  await Promise.all([slow.close(), quick.close()]);
});

test('what the cache keeps says HIT and names no instance, no other request and nothing that only the edge may say', async () => {
  const kept =
    'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nX-Robots-Tag: all\r\nX-Request-Id: forged\r\nX-Platform-Cluster: forged\r\nContent-Length: 2\r\n\r\nok';
  const upstream = await openRawUpstream(always(kept));
  const cache = { enabled: true, default_ttl: 0, cookies: ['*'], headers: [] };
  const routes = [upstreamRoute('app.test', '/', { sticky: true, cache })];
  await using made = await openTestEdge([environmentOf([upstream.instance], { routes, restrict_robots: true })]);
  const missed = await answerTo(made.port, asking('/', 'Cookie: offshoot-instance=x\r\n'), 30);
  const hit = await answerTo(made.port, asking('/', 'Cookie: offshoot-instance=y\r\n'), 30);
  expect([missed, hit].map((answer) => /X-Platform-Cache: (.*)\r/.exec(answer)?.[1])).toEqual(['MISS', 'HIT']);
  for (const answer of [missed, hit]) {
    expect(answer).not.toMatch(/set-cookie|forged|all/i);
    expect(answer.match(/^X-(?:Request-Id|Platform-Cluster|Robots-Tag):/gm)).toHaveLength(3);
  }
  expect(upstream.received.join('').match(/GET/g)).toHaveLength(1);
  // The port goes into what applications answer: nobody gets what was answered to another one.
  expect(await answerTo(made.port, asking().replace('app.test', 'app.test:666'), 30)).toContain('X-Platform-Cache: MISS');
  await upstream.close();
});

test('a client that reads slowly gets all of it, also out of the cache and on a connection that is to end', async () => {
  const body = 'x'.repeat(6_000_000);
  const upstream = await openRawUpstream(
    always(`HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
  );
  const cache = { enabled: true, default_ttl: 0, cookies: ['*'], headers: [] };
  await using made = await openTestEdge([environmentOf([upstream.instance], { routes: [upstreamRoute('app.test', '/', { cache })] })], {
    keepAliveSeconds: 0.5,
  });
  await answerTo(made.port, asking(), 100);
  for (const connection of ['close', 'keep-alive']) {
    const client = await openClient(made.port);
    client.socket.pause();
    client.say(asking('/', `Connection: ${connection}\r\n`));
    // Longer than what a client that is done is given to leave.
    await sleep(3000);
    client.socket.resume();
    await until(() => client.text().length > body.length || client.socket.closed);
    expect(client.text().endsWith(`\r\n\r\n${body}`)).toBe(true);
    expect(made.records.at(-1)).toMatchObject({ cache: 'HIT', aborted: false });
    client.socket.destroy();
  }
  await upstream.close();
});

test('each time limit ends what takes too long: connecting is 502, waiting for the head 504, silence in the body a cut', async () => {
  using _clock = clockOfTurns();
  const silent = await openRawUpstream(() => undefined, 'silent');
  const stalling = await openRawUpstream(always('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'), 'stalling');
  await using made = await openTestEdge(
    [
      environmentOf([silent.instance]),
      environmentOf([stalling.instance], { cluster: 'stalling', routes: [upstreamRoute('stalling.test')] }),
      environmentOf([{ id: 'far', address: { host: '192.0.2.1', port: 9 } }], { cluster: 'far', routes: [upstreamRoute('far.test')] }),
    ],
    { connectSeconds: 0.3, firstByteSeconds: 0.3, idleSeconds: 0.3 },
  );
  const answerFrom = async (host: string) => {
    const client = await openClient(made.port);
    client.say(asking('/', 'Connection: close\r\n').replace('app.test', host));
    return client.closed();
  };
  const answers = await Promise.all(['app.test', 'stalling.test', 'far.test'].map(answerFrom));
  expect(answers.map(statuses)).toEqual([[504], [200], [502]]);
  expect(made.records.find(({ cluster }) => cluster === 'stalling')).toMatchObject({ aborted: true });
  await Promise.all([silent.close(), stalling.close()]);
});

test('whoever follows a log of the platform hears of it after a silence that ends replies of apps', async () => {
  using _clock = clockOfTurns();
  const waiting: ServerResponse[] = [];
  const upstream = await openHttpUpstream((_request, response) => {
    response.write('silence, ');
    waiting.push(response);
  });
  await using made = await openTestEdge(
    [
      environmentOf([upstream.instance]),
      environmentOf([upstream.instance], { cluster: platformCluster, routes: [upstreamRoute('platform.test')] }),
    ],
    { idleSeconds: 0.3, platformIdleSeconds: 60 },
  );
  const follower = await openClient(made.port);
  follower.say(asking('/', 'Connection: close\r\n').replace('app.test', 'platform.test'));
  await until(() => waiting.length === 1);
  expect(await answerTo(made.port, asking('/', 'Connection: close\r\n'))).toContain('silence, ');
  waiting[0]?.end('and a line');
  expect(await follower.closed()).toMatch(/silence, [^]*and a line/);
  expect(made.records.map(({ cluster, aborted }) => [cluster, aborted])).toEqual([
    ['project-main', true],
    [platformCluster, false],
  ]);
  await upstream.close();
});

test('what a proxy says about the client is believed only of configured ones', async () => {
  const upstream = await openRawUpstream(hello);
  const said = 'X-Forwarded-For: 203.0.113.9, 198.51.100.7, 10.0.0.2\r\nX-Forwarded-Proto: https\r\nX-Request-Id: given-by-proxy\r\n';
  const environment = environmentOf([upstream.instance], {
    routes: [upstreamRoute('app.test'), upstreamRoute('app.test', '/', { scheme: 'https' })],
  });
  await using trusting = await openTestEdge([environment], {}, { trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
  await answerTo(trusting.port, asking('/', said), 30);
  expect(upstream.received[0]).toContain('X-Forwarded-For: 203.0.113.9, 198.51.100.7, 10.0.0.2, 127.0.0.1\r\nX-Forwarded-Proto: https\r\n');
  expect(upstream.received[0]).toContain('X-Client-IP: 198.51.100.7\r\nX-Client-SSL: on\r\n');
  expect(trusting.records[0]).toMatchObject({ address: '198.51.100.7', scheme: 'https', request_id: 'given-by-proxy' });
  await upstream.close();
});

test('robots are kept out and browsers held to TLS where the table says so, whatever the application answers', async () => {
  const upstream = await openRawUpstream(
    always('HTTP/1.1 200 OK\r\nX-Robots-Tag: all\r\nStrict-Transport-Security: max-age=0\r\nContent-Length: 0\r\n\r\n'),
  );
  const security = { enabled: true, include_subdomains: true, preload: false };
  const routes = [upstreamRoute('app.test'), upstreamRoute('app.test', '/', { scheme: 'https', strict_transport_security: security })];
  await using made = await openTestEdge(
    [environmentOf([upstream.instance], { routes, restrict_robots: true })],
    {},
    { trustedProxies: ['127.0.0.1'] },
  );
  const answer = await answerTo(made.port, asking('/', 'X-Forwarded-Proto: https\r\n'), 30);
  expect(answer.match(/^X-Robots-Tag: .*$/gim)).toEqual(['X-Robots-Tag: noindex, nofollow']);
  expect(answer.match(/^Strict-Transport-Security: .*$/gim)).toEqual(['Strict-Transport-Security: max-age=31536000; includeSubDomains']);
  await upstream.close();
});

test('headers that a location sets for its files frame nothing, and say nothing in the name of the edge', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-headers-'));
  await writeFile(join(folder, 'a.txt'), 'hello');
  const headers = {
    'Content-Length': '1',
    'Transfer-Encoding': 'chunked',
    Connection: 'close',
    'X-Platform-Cluster': 'forged',
    'X-Request-Id': 'forged',
    'X-Robots-Tag': 'all',
    'X-Odd': '\u010a\u0001b',
  };
  const upstream = upstreamOf([], {
    files: [{ at: '/app', folder, is_immutable: false }],
    locations: { '/': locationWith({ root: '', headers }) },
  });
  await using made = await openTestEdge([environmentOf([], { restrict_robots: true, upstreams: { 'app:http': upstream } })]);
  const answer = await answerTo(made.port, asking('/a.txt') + asking('/a.txt'), 50);
  expect(statuses(answer)).toEqual([200, 200]);
  expect(answer.match(/^(?:Content-Length|X-Robots-Tag|X-Odd): .*$/gm)?.slice(0, 3)).toEqual([
    'X-Odd: %C4%8A%01b',
    'X-Robots-Tag: noindex, nofollow',
    'Content-Length: 5',
  ]);
  expect(answer).not.toMatch(/forged|chunked|close|: all/);
  await rm(folder, { recursive: true });
});

test('a route of type proxy leads elsewhere, with the path that it says, but never into the machine', async () => {
  const upstream = await openRawUpstream(hello);
  const { address } = upstream.instance;
  const there = 'port' in address ? `http://127.0.0.1:${address.port}` : '';
  const proxy = (path: string, to: string) => upstreamRoute('app.test', path, { type: 'proxy', to } as object);
  const routes = [proxy('/kept/', there), proxy('/replaced/', `${there}/other/`)];
  await using made = await openTestEdge([environmentOf([], { routes })], {}, { mayProxyTo: () => true });
  await answerTo(made.port, asking('/kept/a?b') + asking('/replaced/a?b'), 50);
  expect(
    upstream.received
      .join('')
      .match(/^GET .*$|^Host: .*$/gm)
      ?.map((line) => line.trim()),
  ).toEqual([
    'GET /kept/a?b HTTP/1.1',
    `Host: ${there.slice('http://'.length)}`,
    'GET /other/a?b HTTP/1.1',
    `Host: ${there.slice('http://'.length)}`,
  ]);
  await using strict = await openTestEdge([
    environmentOf([], { routes: [...routes, proxy('/named/', there.replace('127.0.0.1', 'localhost'))] }),
  ]);
  expect(statuses(await answerTo(strict.port, asking('/kept/') + asking('/named/'), 100))).toEqual([502, 502]);
  await upstream.close();
});

test('a client with too many requests or connections is refused, and others are not', async () => {
  const upstream = await openRawUpstream((text) => (text.includes('/slow') ? undefined : hello(text)));
  await using made = await openTestEdge(
    [environmentOf([upstream.instance])],
    { requestsPerAddressMax: 2, connectionsPerAddressMax: 4 },
    { trustedProxies: ['127.0.0.2'] },
  );
  const slow = await Promise.all([openClient(made.port), openClient(made.port)]);
  for (const client of slow) client.say(asking('/slow'));
  await until(() => upstream.received.length === 2);
  const third = await openClient(made.port);
  third.say(asking());
  expect(statuses(await third.heard(/\r\n\r\n/))[0]).toBeGreaterThanOrEqual(429);
  const fourth = await openClient(made.port);
  fourth.say(asking());
  await fourth.heard(/\r\n\r\n/);
  const fifth = await openClient(made.port);
  expect(await fifth.closed()).toMatch(/^HTTP\/1\.1 429 [^]*\r\n\r\nToo many connections are open from your address; [^]*\n$/);
  slow[0]?.socket.destroy();
  await until(() => made.edge.outstanding() === 1);
  fourth.say(asking());
  expect(statuses(await fourth.heard(/hello/)).at(-1)).toBe(200);
  for (const client of [...slow, third, fourth]) client.socket.destroy();
  await upstream.close();
});

test('closing lets what runs finish, tells it that it is the last, and takes no more', async () => {
  let running: ServerResponse | undefined;
  const upstream = await openHttpUpstream((_request, reply) => void (running = reply));
  const made = await openTestEdge([environmentOf([upstream.instance])]);
  const idle = await openClient(made.port);
  const asked = get({ host: '127.0.0.1', port: made.port, headers: { host: 'app.test' }, agent: false });
  const replied = once(asked, 'response') as Promise<[IncomingMessage]>;
  await until(() => running !== undefined);
  const closed = made.edge.close(60);
  running?.end('done');
  const [reply] = await replied;
  expect([reply.statusCode, reply.headers.connection]).toEqual([200, 'close']);
  await closed;
  expect(await idle.closed()).toBe('');
  await upstream.close();
});
