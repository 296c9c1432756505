import { expect, test } from 'vitest';
import { encodeRequest, FastcgiReplyReader } from './fastcgi.ts';
import { answerTo, environmentOf, openTestEdge, statuses } from '../testing/edge.ts';
import { openPhp } from '../testing/php.ts';

function record(type: number, content: string, padding = 0): Buffer {
  const head = Buffer.from([1, type, 0, 1, content.length >> 8, content.length & 255, padding, 0]);
  return Buffer.concat([head, Buffer.from(content, 'latin1'), Buffer.alloc(padding)]);
}
const end = record(3, '\0'.repeat(8));

function readAll(pieces: Buffer[], isHeadRequest = false) {
  const told: unknown[] = [];
  let body = '';
  const sink = {
    onHead: ({
      status,
      reason,
      passed,
      contentLength,
    }: {
      status: number;
      reason: string;
      passed: string;
      contentLength: number | undefined;
    }) => void told.push([status, reason, passed, contentLength]),
    onReplyBody: (bytes: Buffer) => void (body += bytes.toString('latin1')),
    onReplyEnd: () => void told.push('end'),
    onBadReply: (reason: string) => void told.push(reason),
  };
  const stderr: string[] = [];
  const reader = new FastcgiReplyReader(sink, isHeadRequest, 65_536, (text) => stderr.push(text));
  for (const piece of pieces) reader.read(Buffer.from(piece));
  return { told, body, stderr: stderr.join('') };
}

test('a reply is the same wherever its bytes are cut', () => {
  const bytes = Buffer.concat([
    record(7, 'PHP Warning: x'),
    record(6, 'Status: 404 Not Found\r\nX-A: b\r\n', 3),
    record(6, '\r\n'),
    record(6, 'body', 4),
    record(6, ' more', 1),
    record(6, ''),
    end,
  ]);
  const whole = readAll([bytes]);
  expect(whole).toEqual({ told: [[404, 'Not Found', 'X-A: b\r\n', undefined], 'end'], body: 'body more', stderr: 'PHP Warning: x' });
  for (let cut = 1; cut < bytes.length; cut++) expect(readAll([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
  expect(readAll([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
});

test('heads with bare line feeds are read, a Location without a status is 302, and HEAD has no body', () => {
  expect(readAll([record(6, 'Content-type: text/plain\n\nhi'), end]).told).toEqual([
    [200, 'OK', 'Content-type: text/plain\r\n', undefined],
    'end',
  ]);
  expect(readAll([record(6, 'Location: /x\r\n\r\n'), end]).told[0]).toEqual([302, 'Found', 'Location: /x\r\n', undefined]);
  expect(readAll([record(6, 'Content-Length: 9\r\n\r\n123456789'), end], true)).toMatchObject({
    told: [[200, 'OK', '', 9], 'end'],
    body: '',
  });
});

test('what is no reply is refused with a reason', () => {
  const reasonFor = (...pieces: Buffer[]) => readAll(pieces).told.at(-1);
  expect([
    reasonFor(Buffer.from('HTTP/1.1 200 OK\r\n\r\n')),
    reasonFor(record(6, 'X-A: b\r\n'), end),
    reasonFor(record(6, 'nonsense\r\n\r\n'), end),
    reasonFor(record(6, 'X-A: b\0c\r\n\r\n'), end),
    reasonFor(record(6, 'Status: 99 x\r\n\r\n'), end),
    reasonFor(record(6, 'Content-Length: 5\r\n\r\nabc'), end),
    reasonFor(record(6, 'Content-Length: 2\r\n\r\nabc'), end),
    reasonFor(record(6, `X-A: ${'b'.repeat(60_000)}`), record(6, 'b'.repeat(60_000))),
  ]).toEqual([
    'not a record of FastCGI',
    'no whole head',
    'a header without a colon',
    'forbidden characters in x-a',
    'a status that is none',
    'fewer bytes than the reply has',
    'more bytes than the reply has',
    'the head is too large',
  ]);
});

test('a head that comes in tiny records costs no more than one that comes at once', () => {
  const text = `X-A: ${'b'.repeat(60_000)}\r\n\r\n`;
  const bytes = Buffer.concat([...Array.from(text, (character) => record(6, character)), end]);
  const start = process.threadCpuUsage();
  expect(readAll([bytes]).told.at(-1)).toBe('end');
  expect(process.threadCpuUsage(start).user / 1000).toBeLessThan(2000);
});

test('long names and values are told with long lengths', () => {
  const encoded = encodeRequest([['A', 'b'.repeat(200)]]);
  expect(encoded.subarray(16 + 8, 16 + 8 + 7)).toEqual(Buffer.from([1, 0x80, 0, 0, 200, 65, 98]));
});

const script = `<?php if (isset($_GET['warn'])) error_log('a warning');
  header('X-Php: yes'); if (isset($_GET['status'])) http_response_code((int) $_GET['status']);
  if (isset($_GET['large'])) { echo str_repeat('x', (int) $_GET['large']); exit; }
  ksort($_SERVER); echo json_encode(['server' => $_SERVER, 'input' => strlen(file_get_contents('php://input')), 'get' => $_GET]);`;

test('PHP is told what other servers tell it', async () => {
  await using php = await openPhp({ 'index.php': script, 'plain.txt': 'a file' }, 2);
  await using made = await openTestEdge([environmentOf([], { upstreams: { 'app:http': php.upstream } })]);
  const ask = async (head: string, body = '') => {
    const answer = await answerTo(made.port, `${head}\r\nHost: app.test:8080\r\nConnection: close\r\n${body}`, 300);
    return { answer, status: statuses(answer)[0], json: /\{"server"[^]*\}/.exec(answer)?.[0] };
  };
  const got = await ask(
    'GET /some/page?a=b HTTP/1.1\r\nProxy: evil\r\nCookie: c=d\r\nX-Client-IP: 6.6.6.6\r\nClient-IP: 6.6.6.6\r\nTrue-Client-IP: 6.6.6.6',
    '\r\n',
  );
  expect(got.answer).toContain('X-Php: yes');
  expect(JSON.parse(got.json ?? '{}').server).toMatchObject({
    REQUEST_URI: '/some/page?a=b',
    QUERY_STRING: 'a=b',
    REQUEST_METHOD: 'GET',
    SCRIPT_FILENAME: `${php.folder}/public/index.php`,
    SCRIPT_NAME: '/index.php',
    DOCUMENT_ROOT: `${php.folder}/public`,
    SERVER_NAME: 'app.test',
    SERVER_PORT: '8080',
    HTTP_HOST: 'app.test:8080',
    HTTP_COOKIE: 'c=d',
    HTTP_X_CLIENT_IP: '127.0.0.1',
    REMOTE_ADDR: '127.0.0.1',
  });
  expect(got.json).not.toContain('HTTP_PROXY');
  expect(got.json).not.toContain('6.6.6.6');
  expect((await ask('GET /plain.txt HTTP/1.1', '\r\n')).answer).toMatch(/a file$/);
  expect((await ask('GET /?status=418&warn=1 HTTP/1.1', '\r\n')).status).toBe(418);
  expect(made.stderr.join('')).toContain('a warning');
  const posted = await ask('POST /x HTTP/1.1\r\nContent-Type: text/plain', `Content-Length: 300000\r\n\r\n${'y'.repeat(300_000)}`);
  expect(JSON.parse(posted.json ?? '{}')).toMatchObject({
    input: 300_000,
    server: { CONTENT_LENGTH: '300000', CONTENT_TYPE: 'text/plain' },
  });
  const chunks = await ask('POST /x HTTP/1.1', `Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`);
  expect(JSON.parse(chunks.json ?? '{}')).toMatchObject({ input: 11, server: { CONTENT_LENGTH: '11' } });
  expect((await ask('GET /?large=3000000 HTTP/1.1', '\r\n')).answer.match(/x{1000}/g)?.length).toBeGreaterThan(2000);
  expect(statuses((await ask('HEAD / HTTP/1.1', '\r\n')).answer)).toEqual([200]);
});
