/**
 * Bytes of people who mean harm, said raw. For each: what the client gets, and what reached the application, byte for byte. What must never happen
 * is that the edge and the application disagree where a request ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { standardLimits } from '../limits.ts';
import {
  answerTo,
  clockOfTurns,
  environmentOf,
  openClient,
  openTestEdge,
  statuses,
  upstreamRoute,
  type TestEdge,
} from '../testing/edge.ts';
import { openRawUpstream, until, type RawUpstream } from '../testing/upstream.ts';

let upstream: RawUpstream;
let edge: TestEdge;
beforeAll(async () => {
  // Answers heads, whatever body is said to follow, so that whatever is smuggled would be answered too.
  upstream = await openRawUpstream((text) => (text.includes('\r\n\r\n') ? 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' : undefined));
  edge = await openTestEdge([environmentOf([upstream.instance])]);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await upstream.close();
});

async function said(bytes: string): Promise<{ answers: number[]; reached: string }> {
  // Not on a connection that was kept, so that all of what reaches it is seen from its beginning.
  for (const socket of upstream.connections) socket.destroy();
  await sleep(20);
  upstream.received.length = 0;
  const answers = statuses(await answerTo(edge.port, bytes, 60));
  return { answers, reached: upstream.received.join('') };
}

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n';
const post = (headers: string, body: string) => `POST / HTTP/1.1\r\nHost: app.test\r\n${headers}\r\n${body}`;
const chunked = 'Transfer-Encoding: chunked\r\n';

const refused: Record<string, string> = {
  'two lengths': post('Content-Length: 5\r\nContent-Length: 6\r\n', `hello${smuggled}`),
  'the same length twice': post('Content-Length: 5\r\nContent-Length: 5\r\n', `hello${smuggled}`),
  'a list of lengths': post('Content-Length: 5, 5\r\n', `hello${smuggled}`),
  'a length with a sign': post('Content-Length: +5\r\n', `hello${smuggled}`),
  'a negative length': post('Content-Length: -1\r\n', smuggled),
  'a length in hexadecimal': post('Content-Length: 0x5\r\n', `hello${smuggled}`),
  'a length with letters': post('Content-Length: 5a\r\n', `hello${smuggled}`),
  'an empty length': post('Content-Length: \r\n', smuggled),
  'a length with an underscore': post('Content-Length: 1_0\r\n', smuggled),
  'a length that no number holds': post('Content-Length: 99999999999999999999999\r\n', smuggled),
  'a blank before the colon of a length': post('Content-Length : 5\r\n', `hello${smuggled}`),
  'a length and chunks': post(`Content-Length: 5\r\n${chunked}`, `0\r\n\r\n${smuggled}`),
  'chunks and a length': post(`${chunked}Content-Length: 5\r\n`, `0\r\n\r\n${smuggled}`),
  'chunks with a blank before the colon': post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunks with a tab before the colon': post('Transfer-Encoding\t: chunked\r\n', `0\r\n\r\n${smuggled}`),
  xchunked: post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunked with a vertical tab': post('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunked with a form feed': post('Transfer-Encoding: chunked\x0c\r\n', `0\r\n\r\n${smuggled}`),
  'chunked, identity': post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${smuggled}`),
  'identity, chunked': post('Transfer-Encoding: identity, chunked\r\n', `0\r\n\r\n${smuggled}`),
  'gzip, chunked': post('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${smuggled}`),
  identity: post('Transfer-Encoding: identity\r\n', smuggled),
  'chunked twice': post(`${chunked}${chunked}`, `0\r\n\r\n${smuggled}`),
  'chunked, then something': post(`${chunked}Transfer-Encoding: x\r\n`, `0\r\n\r\n${smuggled}`),
  'something, then chunked': post(`Transfer-Encoding: x\r\n${chunked}`, `0\r\n\r\n${smuggled}`),
  'chunked in quotes': post('Transfer-Encoding: "chunked"\r\n', `0\r\n\r\n${smuggled}`),
  'chunked with a NUL': post('Transfer-Encoding: chunked\0\r\n', `0\r\n\r\n${smuggled}`),
  'chunked after a bare CR': post('X: y\rTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunked after a bare LF': post('X: y\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunked, folded': post('Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunked, after a folded line': post('X: y\r\n Transfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunks in HTTP/1.0': `POST / HTTP/1.0\r\nHost: app.test\r\n${chunked}\r\n0\r\n\r\n${smuggled}`,
  'a header that begins with a blank': ` GET / HTTP/1.1\r\nHost: app.test\r\n\r\n`,
  'a first header that is folded': `GET / HTTP/1.1\r\n Host: app.test\r\n\r\n`,
  'a NUL in a value': `GET / HTTP/1.1\r\nHost: app.test\r\nX: a\0b\r\n\r\n`,
  'a NUL in a name': `GET / HTTP/1.1\r\nHost: app.test\r\nX\0Y: a\r\n\r\n`,
  'a bare CR in a value': `GET / HTTP/1.1\r\nHost: app.test\r\nX: a\rb\r\n\r\n`,
  'lines that end in LF': `GET / HTTP/1.1\nHost: app.test\n\n`,
  'a header without a colon': `GET / HTTP/1.1\r\nHost: app.test\r\nnonsense\r\n\r\n`,
  'an empty name': `GET / HTTP/1.1\r\nHost: app.test\r\n: x\r\n\r\n`,
  'no host': 'GET / HTTP/1.1\r\n\r\n',
  'two hosts': 'GET / HTTP/1.1\r\nHost: app.test\r\nHost: other.test\r\n\r\n',
  'the same host twice': 'GET / HTTP/1.1\r\nHost: app.test\r\nHost: app.test\r\n\r\n',
  'a host with a path': 'GET / HTTP/1.1\r\nHost: app.test/x\r\n\r\n',
  'a host with a user': 'GET / HTTP/1.1\r\nHost: a@app.test\r\n\r\n',
  'a list of hosts': 'GET / HTTP/1.1\r\nHost: app.test, other.test\r\n\r\n',
  'a host with a blank': 'GET / HTTP/1.1\r\nHost: app.test x\r\n\r\n',
  'a host with a port that is none': 'GET / HTTP/1.1\r\nHost: app.test:80x\r\n\r\n',
  'a host with a backslash': 'GET / HTTP/1.1\r\nHost: app.test\\x\r\n\r\n',
  'a target with a user': 'GET http://evil@app.test/ HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'a target of another scheme': 'GET ftp://app.test/ HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'a target without a slash': 'GET index.html HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'a target with a fragment': 'GET /#x HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'a target with a blank': 'GET /a b HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'a target with a NUL': 'GET /a\0b HTTP/1.1\r\nHost: app.test\r\n\r\n',
  CONNECT: 'CONNECT app.test:443 HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'an asterisk for GET': 'GET * HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'HTTP/0.9': 'GET /\r\n\r\n',
  'HTTP/2.0': 'GET / HTTP/2.0\r\nHost: app.test\r\n\r\n',
  'HTTP/1.2': 'GET / HTTP/1.2\r\nHost: app.test\r\n\r\n',
  'HTTP with leading zeros': 'GET / HTTP/01.1\r\nHost: app.test\r\n\r\n',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a hello of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a method in lower case': 'get / HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'a method that is none': 'SMUGGLE / HTTP/1.1\r\nHost: app.test\r\n\r\n',
  'an expectation that is none': post('Expect: 200-maybe\r\nContent-Length: 0\r\n', ''),
};

test.each(Object.entries(refused))('%s: refused, and nothing reaches the application', async (_name, bytes) => {
  expect(await said(bytes)).toEqual({ answers: [400], reached: '' });
});

const brokenBodies: Record<string, string> = {
  'a chunk size that is none': 'xyz\r\nhello\r\n0\r\n\r\n',
  'a chunk size in 0x': '0x5\r\nhello\r\n0\r\n\r\n',
  'a chunk size with a sign': '+5\r\nhello\r\n0\r\n\r\n',
  'a negative chunk size': '-5\r\nhello\r\n0\r\n\r\n',
  'a chunk size with blanks before': ' 5\r\nhello\r\n0\r\n\r\n',
  'a chunk size that overflows': 'ffffffffffffffffff\r\nhello\r\n0\r\n\r\n',
  'a chunk size line that ends in LF': '5\nhello\r\n0\r\n\r\n',
  'a chunk that ends in LF': '5\r\nhello\n0\r\n\r\n',
  'a chunk that is longer than its size': '5\r\nhello!\r\n0\r\n\r\n',
  'an extension with a bare LF': '5;a\nGET /smuggled HTTP/1.1\r\nhello\r\n0\r\n\r\n',
  'an extension with a bare CR': '5;a\rb\r\nhello\r\n0\r\n\r\n',
  'an extension without end': `5;${'a'.repeat(100_000)}\r\nhello\r\n0\r\n\r\n`,
  'a last chunk that ends in LF': '5\r\nhello\r\n0\n\r\n',
  'trailers with a NUL': '5\r\nhello\r\n0\r\nX: \0\r\n\r\n',
  'trailers with a length': '5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n',
};

test.each(Object.entries(brokenBodies))(
  '%s: the application never takes the body for whole, nor what follows for a request',
  async (_name, body) => {
    const { answers, reached } = await said(post(chunked, `${body}${smuggled}`));
    expect(answers).toHaveLength(1);
    expect(answers[0]).toBeGreaterThanOrEqual(400);
    expect(reached).not.toContain('smuggled');
    expect(reached).not.toMatch(/\r\n0\r\n/);
  },
);

test('bodies that are right are framed anew, and what follows is a request of its own', async () => {
  const { answers, reached } = await said(post(chunked, `5;ext="x"\r\nhello\r\n0006\r\n world\r\n0\r\n\r\n${smuggled}`));
  expect(answers).toEqual([200, 200]);
  expect(reached.match(/^(?:GET|POST) .*$/gm)?.map((line) => line.trim())).toEqual(['POST / HTTP/1.1', 'GET /smuggled HTTP/1.1']);
  expect(reached).toMatch(/Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n|\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n/);
});

test('a body that GET announces is a body', async () => {
  const { reached } = await said(`GET / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`);
  expect(reached).toContain(`Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`);
  expect(reached.endsWith(smuggled)).toBe(true);
});

test('the absolute form overrules Host, also for the application; a scheme in it decides nothing', async () => {
  const { answers, reached } = await said('GET https://app.test/x?y HTTP/1.1\r\nHost: other.test\r\n\r\n');
  expect(answers).toEqual([200]);
  expect(reached).toMatch(/^GET \/x\?y HTTP\/1\.1\r\nHost: app\.test\r\n/);
  expect(reached).not.toContain('other.test');
  expect(reached).toContain('X-Forwarded-Proto: http\r\n');
  expect((await said('GET http://nobody.test/ HTTP/1.1\r\nHost: app.test\r\n\r\n')).reached).toBe('');
});

test('hosts are found in any case, with a port and with a dot at the end', async () => {
  for (const host of ['APP.test', 'app.test:80', 'app.test.', 'app.test.:8080']) {
    expect((await said(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).answers).toEqual([200]);
  }
});

test('OPTIONS for the server as a whole is answered here', async () => {
  expect(await said('OPTIONS * HTTP/1.1\r\nHost: app.test\r\n\r\n')).toEqual({ answers: [204], reached: '' });
});

test('a change to HTTP/2 is not passed on, and what follows stays HTTP/1', async () => {
  const { answers, reached } = await said(
    `GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n${smuggled}`,
  );
  expect(answers).toEqual([200, 200]);
  expect(reached).not.toMatch(/upgrade|http2|h2c/i);
});

test('an upgrade with a body, or of another method, is a plain request', async () => {
  const { answers, reached } = await said(post('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n', `hello${smuggled}`));
  expect(answers).toEqual([200, 200]);
  expect(reached).not.toMatch(/upgrade/i);
});

test('headers of one connection do not go on; naming them cannot take away what the edge says', async () => {
  const { reached } = await said(
    'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close, X-Drop, X-Client-IP, X-Forwarded-For, Host, Content-Length, Cookie\r\nX-Drop: 1\r\nX-Keep: 1\r\nCookie: a=b\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nTE: trailers\r\nProxy-Authorization: secret\r\n\r\n',
  );
  expect(reached).toMatch(/Host: app\.test\r\nX-Keep: 1\r\nCookie: a=b\r\nX-Forwarded-For: 127\.0\.0\.1\r\n/);
  expect(reached).toContain('X-Client-IP: 127.0.0.1\r\n');
  expect(reached).not.toMatch(/drop|keep-alive|proxy-|^te:|secret|^connection/im);
});

test('what only the edge may say is dropped in every spelling', async () => {
  const names = [
    'X-Forwarded-For',
    'x-forwarded-proto',
    'X-FORWARDED-HOST',
    'X_Forwarded_For',
    'X-Client-IP',
    'X-Client-SSL',
    'X-Client-Cert',
    'X-Original-Route',
    'Forwarded',
    'X-Real-IP',
    'Proxy',
    'X-Request-Id',
    'X-Client_IP',
    'Client-IP',
    'CLIENT-ip',
    'Client_IP',
    'True-Client-IP',
    'X-Cluster-Client-IP',
    'X-Originating-IP',
    'X-Remote-Addr',
    'CF-Connecting-IP',
    'CF-IPCountry',
    'Fastly-Client-IP',
    'Fly-Client-IP',
    'X-Forwarded',
    'X-Forwarded-By',
    'X-Forwarded-Scheme',
    'X-Forwarded-Client-Cert',
    'X-Original-URL',
    'X-Original-Host',
    'X-Rewrite-URL',
    'X-Host',
    'Front-End-Https',
    'X-Client-Verify',
    'X-Platform-Cluster',
    'X-SSL-Client-Cert',
    'SSL-Client-Verify',
  ];
  for (let from = 0; from < names.length; from += 10) {
    const forged = names.slice(from, from + 10).map((name) => `${name}: forged\r\n`);
    const { reached } = await said(`GET / HTTP/1.1\r\nHost: app.test\r\n${forged.join('')}\r\n`);
    expect(reached).toMatch(/^GET \/ HTTP\/1\.1\r\n/);
    expect(reached).not.toContain('forged');
  }
});

test('what applications and their clients agree on between themselves goes on', async () => {
  const names = [
    'X-Client-Info',
    'X-Client-Version',
    'X-Platform',
    'X-Hub-Signature',
    'X-HTTP-Method-Override',
    'X-Requested-With',
    'Origin',
  ];
  const { reached } = await said(`GET / HTTP/1.1\r\nHost: app.test\r\n${names.map((name) => `${name}: theirs\r\n`).join('')}\r\n`);
  for (const name of names) expect(reached).toContain(`${name}: theirs\r\n`);
});

test('heads that are too large or have too many lines get 431', async () => {
  expect(await said(`GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: app.test\r\n\r\n`)).toEqual({ answers: [431], reached: '' });
  expect(await said(`GET / HTTP/1.1\r\nHost: app.test\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`)).toEqual({ answers: [431], reached: '' });
  expect(await said(`GET / HTTP/1.1\r\nHost: app.test\r\n${'X: y\r\n'.repeat(150)}\r\n`)).toEqual({ answers: [431], reached: '' });
});

test('a head without end is cut off', async () => {
  const client = await openClient(edge.port);
  client.say('GET / HTTP/1.1\r\nHost: app.test\r\n');
  for (let count = 0; count < 200 && !client.socket.destroyed; count++) {
    client.say(`X-${count}: ${'a'.repeat(500)}\r\n`);
    await sleep(1);
  }
  expect(statuses(await client.closed())).toEqual([431]);
});

test('one who sends a byte now and then is shown the door in time; one who says nothing, too', async () => {
  using _clock = clockOfTurns();
  await using made = await openTestEdge([environmentOf([upstream.instance])], {
    headSeconds: 0.5,
    keepAliveSeconds: 0.5,
    bodyIdleSeconds: 0.5,
  });
  const start = performance.now();
  const slow = await openClient(made.port);
  const silent = await openClient(made.port);
  const stopping = await openClient(made.port);
  stopping.say(post('Content-Length: 100\r\n', 'begin'));
  const timer = setInterval(() => slow.say('a'), 100);
  slow.say('GET /');
  expect(statuses(await slow.closed())).toEqual([408]);
  clearInterval(timer);
  expect(await silent.closed()).toBe('');
  await stopping.closed();
  // By these limits, and not by the usual ones.
  expect(performance.now() - start).toBeLessThan(standardLimits.headSeconds * 1000);
});

test('after a request that was refused nothing more of that connection is read', async () => {
  const { answers, reached } = await said(`GET / HTTP/1.1\r\n\r\n${smuggled}`);
  expect({ answers, reached }).toEqual({ answers: [400], reached: '' });
  const after = await said(`${smuggled}GET / HTTP/1.1\r\n\r\n${smuggled}`);
  expect(after.answers).toEqual([200, 400]);
  expect(after.reached.match(/smuggled/g)).toHaveLength(1);
});

const hostileReplies: Record<string, string> = {
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
  'a list of lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok',
  'a length that is none': 'HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok',
  'a length and chunks': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'an encoding that is not chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok',
  'chunked with a vertical tab': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n',
  'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a bare LF in a value': 'HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok',
  'a bare CR in a value': 'HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok',
  'a NUL in a value': 'HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok',
  'a folded line': 'HTTP/1.1 200 OK\r\nX: a\r\n Set-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok',
  'a blank before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok',
  'an invalid name': 'HTTP/1.1 200 OK\r\nX Y: a\r\nContent-Length: 2\r\n\r\nok',
  'a header without a colon': 'HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nok',
  'a status that is none': 'HTTP/1.1 20x OK\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/2': 'HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'a first line with a CR': 'HTTP/1.1 200 O\rK\r\nContent-Length: 2\r\n\r\nok',
  'no HTTP at all': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
  'a head that is too large': `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`,
  'too many headers': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(300)}\r\n`,
  'a change of protocol that nobody asked for': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  'a change of protocol, and a reply to nobody in it':
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil',
};

test.each(Object.entries(hostileReplies))(
  'an application that answers with %s: 502, and nothing of it reaches the client',
  async (_name, reply) => {
    const hostile = await openRawUpstream((text) => (text.includes('\r\n\r\n') ? reply : undefined));
    await using made = await openTestEdge([environmentOf([hostile.instance])]);
    const answer = await answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 60);
    expect(statuses(answer)).toEqual([502]);
    expect(answer).not.toMatch(/evil|nonsense|^X:/m);
    await until0(hostile);
    await hostile.close();
  },
);

const until0 = async (hostile: RawUpstream) => {
  while (hostile.connections.size > 0) await sleep(5);
};

const brokenChunks: Record<string, string> = {
  'a size that is none': 'zz\r\nok\r\n0\r\n\r\n',
  'a chunk longer than its size': '2\r\nokay\r\n0\r\n\r\n',
  'bare line feeds': '2\nok\n0\n\n',
  'a size line without end': `2;${'x'.repeat(1000)}\r\nok\r\n0\r\n\r\n`,
};

test.each(Object.entries(brokenChunks))(
  'chunks of an application with %s: the client sees that the reply is not whole',
  async (_name, body) => {
    const hostile = await openRawUpstream((text) => (text.includes('\r\n\r\n') ? `HTTP/1.1 200 OK\r\n${chunked}\r\n${body}` : undefined));
    await using made = await openTestEdge([environmentOf([hostile.instance])]);
    expect(await answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 60)).not.toMatch(/0\r\n\r\n$/);
    expect(made.records[0]).toMatchObject({ aborted: true });
    await hostile.close();
  },
);

test('an application that announces a reply for ever is cut off, also when one comes at last', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'.repeat(1000);
  const hostile = await openRawUpstream((text) =>
    text.includes('\r\n\r\n') ? `${hints}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil` : undefined,
  );
  await using made = await openTestEdge([environmentOf([hostile.instance])]);
  const answer = await answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 60);
  expect(statuses(answer).filter((status) => status !== 103)).toEqual([502]);
  expect(statuses(answer).length).toBeLessThan(50);
  await hostile.close();
});

test('what an application says beyond its reply answers nobody', async () => {
  const extra = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
  const hostile = await openRawUpstream((text) => (text.includes('\r\n\r\n') ? extra : undefined));
  await using made = await openTestEdge([environmentOf([hostile.instance])]);
  const request = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n';
  expect(await answerTo(made.port, request + request, 80)).not.toContain('evil');
  const late = await openRawUpstream((text, socket) => {
    if (!text.includes('\r\n\r\n')) return undefined;
    setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'), 20);
    return 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  });
  made.table.put(environmentOf([late.instance]));
  const client = await openClient(made.port);
  client.say(request);
  await client.heard(/ok$/);
  await until(() => late.connections.size === 0);
  client.say(request);
  expect(await client.heard(/ok[^]*ok$/)).not.toContain('evil');
  client.socket.destroy();
  await Promise.all([hostile.close(), late.close()]);
});

test('an application cannot speak in the name of the edge', async () => {
  const reply =
    'HTTP/1.1 200 OK\r\nX-Platform-Cluster: forged\r\nx-platform-cache: forged\r\nX-Request-Id: forged\r\nConnection: X-Kept-Back, X-Platform-Router\r\nX-Kept-Back: 1\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\nok';
  const hostile = await openRawUpstream((text) => (text.includes('\r\n\r\n') ? reply : undefined));
  await using made = await openTestEdge([environmentOf([hostile.instance])]);
  const answer = await answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 60);
  expect(answer).not.toMatch(/forged|kept-back|keep-alive/i);
  expect(answer).toContain('X-Platform-Router: router-1');
  await hostile.close();
});

test('a route with characters past Latin-1 cannot break a line', async () => {
  const route = upstreamRoute('app.test', '/', { original_url: 'http://{default}/\u010d\u010a' });
  const plain = await openRawUpstream((text) => (text.includes('\r\n\r\n') ? 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' : undefined));
  await using made = await openTestEdge([environmentOf([plain.instance], { routes: [route] })]);
  await answerTo(made.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n', 60);
  expect(plain.received[0]).toContain('X-Original-Route: http://{default}/%C4%8D%C4%8A\r\n');
  await plain.close();
});
