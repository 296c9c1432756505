/**
 * Request smuggling, systematically: the mutations that the public tools for it try (smuggler's lists of single and double bytes around the name and the
 * value of Transfer-Encoding, as CL.TE, TE.CL and CL.0; PortSwigger's for lengths, chunks and trailers), made here anew.
 *
 * The application is one that believes in nothing but the bytes: what reaches it is cut into requests as RFC 9112 has it, and anything that could be
 * cut in two ways fails. However a mutation is meant, the request inside its body must never arrive as a request.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environmentOf, openClient, openTestEdge, type TestEdge } from '../testing/edge.ts';
import { openRawUpstream, type RawUpstream } from '../testing/upstream.ts';

let upstream: RawUpstream;
let edge: TestEdge;
beforeAll(async () => {
  // Of connections that close, so that each request comes on one of its own; whole or not, it is answered.
  upstream = await openRawUpstream((text) =>
    text.includes('\r\n\r\n') ? 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok' : undefined,
  );
  edge = await openTestEdge([environmentOf([upstream.instance])]);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await upstream.close();
});

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: app.test\r\nX-Ignored: x';

/** The body as one who goes by the chunks sees its end early, as one who goes by the length does, and with nothing in it but a request. */
const bodies = {
  'CL.TE': () => ({ length: `0\r\n\r\n${smuggled}`.length, body: `0\r\n\r\n${smuggled}` }),
  'TE.CL': () => ({ length: 4, body: `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n` }),
  'CL.0': () => ({ length: smuggled.length, body: smuggled }),
};

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
/** All bytes that some parser takes for a blank, an end or nothing at all. */
const oddBytes = [...range(0x00, 0x20), ...range(0x7f, 0xff)].map((code) => String.fromCharCode(code));
const hex = (byte: string) => byte.charCodeAt(0).toString(16).padStart(2, '0');

const named: Record<string, string> = {
  plain: 'Transfer-Encoding: chunked',
  'in capitals': 'TRANSFER-ENCODING: CHUNKED',
  'in both cases': 'tRANSFER-eNCODING: cHUNKED',
  'a blank for a dash': 'Transfer Encoding: chunked',
  'an underscore for a dash': 'Transfer_Encoding: chunked',
  'another dash': 'Transfer\u2010Encoding: chunked',
  'no blank': 'Transfer-Encoding:chunked',
  'many blanks': `Transfer-Encoding:${' '.repeat(500)}chunked`,
  'two colons': 'Transfer-Encoding:: chunked',
  xchunked: 'Transfer-Encoding: xchunked',
  'a part of the word': 'Transfer-Encoding: chunk',
  'more than the word': 'Transfer-Encoding: chunkedd',
  'a parameter': 'Transfer-Encoding: chunked;x=y',
  'a quality': 'Transfer-Encoding: chunked;q=0.5',
  'in quotes': 'Transfer-Encoding: "chunked"',
  'in apostrophes': "Transfer-Encoding: 'chunked'",
  'in brackets': 'Transfer-Encoding: [chunked]',
  'first of a list': 'Transfer-Encoding: chunked, x',
  'last of a list': 'Transfer-Encoding: x, chunked',
  'in a list of blanks': 'Transfer-Encoding: x chunked y',
  'after an empty one': 'Transfer-Encoding: , chunked',
  'before an empty one': 'Transfer-Encoding: chunked,',
  'twice in a list': 'Transfer-Encoding: chunked, chunked',
  'with identity': 'Transfer-Encoding: identity, chunked',
  identity: 'Transfer-Encoding: identity',
  empty: 'Transfer-Encoding:',
  'as a content encoding': 'Content-Encoding: chunked',
  'as TE': 'TE: chunked',
  'twice, the first good': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
  'twice, the last good': 'Transfer-Encoding: x\r\nTransfer-Encoding: chunked',
  'twice, in two cases': 'Transfer-Encoding: chunked\r\ntransfer-encoding: chunked',
  'twice, one empty': 'Transfer-Encoding:\r\nTransfer-Encoding: chunked',
  'folded by CRLF': 'Transfer-Encoding:\r\n chunked',
  'folded by LF': 'Transfer-Encoding:\n chunked',
  'folded by a tab': 'Transfer-Encoding:\r\n\tchunked',
  'as the fold of another': 'X: x\r\n Transfer-Encoding: chunked',
  'after LF in another': 'X: x\nTransfer-Encoding: chunked',
  'after CR in another': 'X: x\rTransfer-Encoding: chunked',
  'after two CR': 'X: x\r\r\nTransfer-Encoding: chunked',
  'after LF CR': 'X: x\n\rTransfer-Encoding: chunked',
  'ending in two CR': 'Transfer-Encoding: chunked\r',
  'a CR in the name': 'Transfer\r-Encoding: chunked',
  'a LF in the name': 'Transfer\n-Encoding: chunked',
  'an accent in the name': 'Transf\xe9r-Encoding: chunked',
  'an accent in the value': 'Transfer-Encoding: ch\xfcnked',
  'a name without a value before it': 'Foo\r\nTransfer-Encoding: chunked',
  'a colon alone before it': ':\r\nTransfer-Encoding: chunked',
  'named by Connection': 'Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked',
  'with a length named by Connection': 'Connection: Content-Length\r\nTransfer-Encoding: chunked',
};

function* mutations(): Generator<[string, string]> {
  yield* Object.entries(named);
  for (const byte of oddBytes) {
    const around = (before: string, after: string, first: string, last: string) =>
      `${before}Transfer-Encoding${after}:${first}chunked${last}`;
    const places: [string, string][] = [
      ['before the name', around(byte, '', ' ', '')],
      ['after the name', around('', byte, ' ', '')],
      ['before the value', around('', '', byte, '')],
      ['after the value', around('', '', ' ', byte)],
      ['before and after the name', around(byte, byte, ' ', '')],
      ['before name and value', around(byte, '', byte, '')],
      ['before all and after all', around(byte, '', ' ', byte)],
      ['on both sides of the colon', around('', byte, byte, '')],
      ['after name and value', around('', byte, ' ', byte)],
      ['around the value', around('', '', byte, byte)],
      ['in the value', `Transfer-Encoding: chun${byte}ked`],
    ];
    for (const [place, line] of places) yield [`${hex(byte)} ${place}`, line];
  }
}

const lengths: Record<string, (length: number) => string> = {
  plain: (length) => `Content-Length: ${length}`,
  'with a sign': (length) => `Content-Length: +${length}`,
  'with zeros': (length) => `Content-Length: 000${length}`,
  'in hexadecimal': (length) => `Content-Length: 0x${length.toString(16)}`,
  'with a fraction': (length) => `Content-Length: ${length}.0`,
  'with an exponent': (length) => `Content-Length: ${length}e0`,
  'as a list': (length) => `Content-Length: ${length},${length}`,
  'as a list with zero': (length) => `Content-Length: 0,${length}`,
  'twice, zero first': (length) => `Content-Length: 0\r\nContent-Length: ${length}`,
  'twice, zero last': (length) => `Content-Length: ${length}\r\nContent-Length: 0`,
  folded: (length) => `Content-Length:\r\n ${length}`,
  'after LF in another': (length) => `X: x\nContent-Length: ${length}`,
  'with an underscore': (length) => `Content_Length: ${length}`,
  'named by Connection': (length) => `Connection: Content-Length\r\nContent-Length: ${length}`,
  'with a blank in it': (length) => `Content-Length: ${String(length).split('').join(' ')}`,
  ...Object.fromEntries(
    oddBytes.flatMap((byte) => [
      [`${hex(byte)} before the name`, (length: number) => `${byte}Content-Length: ${length}`],
      [`${hex(byte)} after the name`, (length: number) => `Content-Length${byte}: ${length}`],
      [`${hex(byte)} before the value`, (length: number) => `Content-Length:${byte}${length}`],
      [`${hex(byte)} after the value`, (length: number) => `Content-Length: ${length}${byte}`],
    ]),
  ),
};

/** Each on a connection of its own, so many at a time; a good request at the end of all shows that the edge has dealt with those before. */
async function reachedBy(attempts: [name: string, bytes: string][]): Promise<string[]> {
  upstream.received.length = 0;
  const atOnce = 40;
  for (let start = 0; start < attempts.length; start += atOnce) {
    const some = attempts.slice(start, start + atOnce);
    await Promise.all(
      some.map(async ([, bytes]) => {
        const client = await openClient(edge.port);
        client.say(bytes);
        await client.heard(/HTTP\/1\.1 \d{3}/);
        await sleep(30);
        client.socket.destroy();
      }),
    );
  }
  return upstream.received;
}

/** The paths of the requests in these bytes, or why they are not to be cut into requests in one way only. */
function requestsIn(bytes: string): string[] {
  const paths: string[] = [];
  for (let rest = bytes; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return [...paths, `no end of a head: ${JSON.stringify(rest)}`];
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const path = /^[A-Z]+ (\/[\x21-\x7e\x80-\xff]*) HTTP\/1\.1$/.exec(first)?.[1];
    const odd = lines.find((line) => !/^[!#$%&'*+.^`|~0-9A-Za-z-]+: [\t\x20-\x7e\x80-\xff]*$/.test(line));
    if (path === undefined || odd !== undefined) return [...paths, `an odd line: ${JSON.stringify(odd ?? first)}`];
    const framing = lines.filter((line) => /^(?:content-length|transfer-encoding)/i.test(line));
    const [length] = framing.map((line) => /^Content-Length: (\d+)$/.exec(line)?.[1]);
    const isChunked = framing[0] === 'Transfer-Encoding: chunked';
    if (framing.length > 1 || (framing.length === 1 && length === undefined && !isChunked))
      return [...paths, `framed by ${framing.join()}`];
    paths.push(path);
    const body = rest.slice(end + 4);
    // A body that the client did not send whole ends with the connection.
    rest = isChunked ? afterChunks(body) : body.slice(Number(length ?? 0));
  }
  return paths;
}

function afterChunks(body: string): string {
  let rest = body;
  for (;;) {
    const [line, size] = /^([0-9a-f]+)\r\n/.exec(rest) ?? [];
    if (line === undefined || size === undefined) return '';
    rest = rest.slice(line.length);
    const bytes = Number.parseInt(size, 16);
    if (bytes === 0) return rest.replace(/^(?:[^\r\n]+\r\n)*\r\n/, '');
    rest = rest.slice(bytes + 2);
  }
}

const outcomes = (received: string[]) => [...new Set(received.filter((bytes) => bytes !== '').flatMap(requestsIn))];

test.each(Object.entries(bodies))(
  '%s: no spelling of Transfer-Encoding beside a length smuggles a request',
  async (_kind, made) => {
    const { length, body } = made();
    const attempts = [...mutations()].flatMap(([name, line]): [string, string][] => [
      [name, `POST /outer HTTP/1.1\r\nHost: app.test\r\n${line}\r\nContent-Length: ${length}\r\n\r\n${body}`],
      [`${name}, after the length`, `POST /outer HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${length}\r\n${line}\r\n\r\n${body}`],
    ]);
    expect(attempts.length).toBeGreaterThan(3000);
    expect(outcomes(await reachedBy(attempts))).toEqual(['/outer']);
  },
  240_000,
);

test('no spelling of Transfer-Encoding alone is taken for chunks but the right one', async () => {
  const attempts = [...mutations()].map(([name, line]): [string, string] => [
    name,
    `POST /outer HTTP/1.1\r\nHost: app.test\r\n${line}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  ]);
  expect(outcomes(await reachedBy(attempts))).toEqual(['/outer']);
});

test('no spelling of Content-Length smuggles a request, with or without chunks beside it', async () => {
  const attempts = Object.entries(lengths).flatMap(([name, line]): [string, string][] => [
    [
      `${name}, chunks before`,
      `POST /outer HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n${line(4)}\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      `${name}, chunks after`,
      `POST /outer HTTP/1.1\r\nHost: app.test\r\n${line(4)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [name, `POST /outer HTTP/1.1\r\nHost: app.test\r\n${line(smuggled.length)}\r\n\r\n${smuggled}`],
    [`${name}, of a GET`, `GET /outer HTTP/1.1\r\nHost: app.test\r\n${line(smuggled.length)}\r\n\r\n${smuggled}`],
  ]);
  expect(outcomes(await reachedBy(attempts))).toEqual(['/outer']);
});

test('chunks with odd sizes, ends, extensions or trailers smuggle no request', async () => {
  const request = `${smuggled}\r\n\r\n`;
  const ends = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\n', '\r \n', ' \r\n', '\t\r\n', '\0\r\n', '\x0b\r\n', '\x0c\r\n', '\x85', '\u2028'];
  const sizes = ['0x0', '+0', '-0', '0_0', '0,0', '0.0', '', ' 0', '\t0', '10000000000000000', 'fffffffffffffff0', 'ffffffff00000000'];
  const made = [
    ...ends.flatMap((end) => [
      `0${end}\r\n${request}`,
      `0\r\n${end}${request}`,
      `5${end}hello\r\n0\r\n\r\n${request}`,
      `5\r\nhello${end}0\r\n\r\n${request}`,
      `5;x${end}hello\r\n0\r\n\r\n${request}`,
      `5;x="${end}"\r\nhello\r\n0\r\n\r\n${request}`,
      `5;${end}${request}`,
      `0\r\nX: y${end}${request}`,
      `0\r\nX: y${end}\r\n${request}`,
    ]),
    ...sizes.map((size) => `${size}\r\n\r\n${request}`),
    ...oddBytes.flatMap((byte) => [`5${byte}\r\nhello\r\n0${byte}\r\n\r\n${request}`, `${byte}5\r\nhello\r\n${byte}0\r\n\r\n${request}`]),
    ...['Content-Length: 50', 'Transfer-Encoding: chunked', 'Host: evil.test', 'X : y', ' X: y', 'X\0: y', 'X: \0', 'X'].map(
      (trailer) => `0\r\n${trailer}\r\n\r\n`,
    ),
  ];
  // Bodies that end as they should, after which a request is one of its own.
  const isRight = (body: string) => /^(?:5;x="[\x20-\xff]*"\r\nhello\r\n)?0\r\n\r\n/.test(Buffer.from(body, 'latin1').toString('latin1'));
  const attempts = made
    .filter((body) => !isRight(body))
    .map((body): [string, string] => [body, `POST /outer HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n${body}`]);
  expect(outcomes(await reachedBy(attempts))).toEqual(['/outer']);
  expect(upstream.received.join('')).not.toMatch(/evil|^Content-Length: 50/m);
});

test('no first line and no Host is two things at once', async () => {
  const rest = 'X-Ignored: x\r\n\r\n';
  const attempts = [
    ...oddBytes.flatMap((byte) => [
      `GET${byte}/smuggled HTTP/1.1\r\nHost: app.test\r\n`,
      `GET /outer HTTP/1.1${byte}\r\nHost: app.test\r\n`,
      `GET /outer HTTP/1.1\r\nHost: app.test${byte}\r\n`,
      `GET /outer HTTP/1.1\r\nHost:${byte}app.test\r\n`,
      `GET /outer HTTP/1.1\r\nHost${byte}: app.test\r\nHost: evil.test\r\n`,
      `GET /outer HTTP/1.1\r\n${byte}Host: evil.test\r\nHost: app.test\r\n`,
      `${byte}GET /outer HTTP/1.1\r\nHost: app.test\r\n`,
    ]),
    'GET http://evil.test/smuggled HTTP/1.1\r\nHost: app.test\r\n',
    'GET http://app.test@evil.test/smuggled HTTP/1.1\r\nHost: app.test\r\n',
    'GET http://evil.test\\@app.test/smuggled HTTP/1.1\r\nHost: app.test\r\n',
    'GET //evil.test/smuggled@app.test HTTP/1.0\r\n',
    'GET @evil.test/smuggled HTTP/1.1\r\nHost: app.test\r\n',
    'GET :80/smuggled HTTP/1.1\r\nHost: app.test\r\n',
    'GET /outer HTTP/1.1\r\nHost: app.test:80@evil.test\r\n',
    'GET /outer HTTP/1.1\r\nHost: evil.test\r\nHost: app.test\r\n',
    'GET /outer HTTP/1.1\nHost: app.test\n',
    'GET /outer HTTP/1.1 HTTP/1.1\r\nHost: app.test\r\n',
  ].map((head): [string, string] => [head, head + rest]);
  const seen = outcomes(await reachedBy(attempts));
  // A blank where a blank belongs is the only one that makes that line right.
  expect(seen.toSorted()).toEqual(['/outer', '/smuggled']);
  expect(
    upstream.received
      .filter((bytes) => bytes.includes('/smuggled'))
      .every((bytes) => bytes.startsWith('GET /smuggled HTTP/1.1\r\nHost: app.test\r\n')),
  ).toBe(true);
  expect(upstream.received.join('')).not.toContain('evil');
});
