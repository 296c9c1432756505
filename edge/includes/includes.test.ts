/** Pages that include others, through a whole edge: what clients get, what applications are asked, and what hostile pages cannot do. */
import { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { EdgeLimits } from '../limits.ts';
import type { Route } from '../routing/table.ts';
import { answerTo, environmentOf, locationWith, openClient, openTestEdge, upstreamOf, upstreamRoute } from '../testing/edge.ts';
import { openHttpUpstream, standingStill, until } from '../testing/upstream.ts';

const failed = '[an error occurred while processing the directive]';
const include = (path: string, more = '') => `<!--#include virtual="${path}"${more} -->`;
const cached = { enabled: true, default_ttl: 60, cookies: ['*'], headers: [] };

type Pages = Record<string, string | ((request: IncomingMessage, response: ServerResponse) => unknown)>;

/** An application of these pages at `app.test`; it remembers what was asked of it. */
async function openSite(pages: Pages, limits: Partial<EdgeLimits> = {}, routes: Route[] = [upstreamRoute('app.test', '/', { ssi: true })]) {
  const asked: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    asked.push(request);
    const page = pages[request.url ?? ''];
    if (typeof page === 'function') return void page(request, response);
    if (page === undefined) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<p>not here</p>');
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', etag: '"made"', 'last-modified': 'x' }).end(page);
  };
  const upstream = await openHttpUpstream(listener);
  const edge = await openTestEdge([environmentOf([upstream.instance], { routes })], limits);
  const say = (path: string, headers = '', method = 'GET') =>
    answerTo(edge.port, `${method} ${path} HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n${headers}\r\n`);
  return {
    ...edge,
    asked,
    say,
    paths: () => asked.map(({ url }) => url),
    body: async (path: string, headers = '') => bodyOf(await say(path, headers)),
    async [Symbol.asyncDispose]() {
      await edge.edge.close(0);
      await upstream.close();
    },
  };
}

/** The body of a reply in chunks, or of one with a length. */
function bodyOf(text: string): string {
  const start = text.indexOf('\r\n\r\n') + 4;
  if (!/^transfer-encoding: chunked\r$/im.test(text.slice(0, start))) return text.slice(start);
  let body = '';
  for (let at = start; ;) {
    const end = text.indexOf('\r\n', at);
    const bytes = Number.parseInt(text.slice(at, end), 16);
    if (!(bytes > 0)) return body;
    body += text.slice(end + 2, end + 2 + bytes);
    at = end + 2 + bytes + 2;
  }
}

test('what a page includes stands in it, whatever its path is written like', async () => {
  await using site = await openSite({
    '/shop/page': `<p>${include('/nav')}|${include('part.html?a=b')}|<!--#include file="../foot" -->|${include('/caf\u{e9}')}</p>`,
    '/nav': 'NAV',
    '/shop/part.html?a=b': 'PART',
    '/foot': 'FOOT',
    '/caf%C3%A9': 'CAFE',
  });
  expect(await site.body('/shop/page')).toBe('<p>NAV|PART|FOOT|CAFE</p>');
  expect(site.records).toHaveLength(1);
  expect(site.records[0]).toMatchObject({ path: '/shop/page', status: 200, instance: 'http', note: null });
});

test('without ssi on the route nothing is touched', async () => {
  await using site = await openSite({ '/': include('/nav') }, {}, [upstreamRoute('app.test')]);
  const reply = await site.say('/');
  expect(reply).toContain('etag: "made"');
  expect(bodyOf(reply)).toBe(include('/nav'));
});

test('a page says nothing of its length or version; what is no page passes as it is', async () => {
  await using site = await openSite({
    '/': `a${include('/part')}b`,
    '/part': 'P',
    '/text': (_, response) => response.writeHead(200, { 'content-type': 'text/plain', etag: '"t"', 'content-length': '4' }).end('<!--'),
    '/zip': (_, response) => response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(include('/part')),
  });
  const page = await site.say('/');
  expect(page).not.toMatch(/^(?:etag|last-modified|content-length):/im);
  const text = await site.say('/text');
  expect(text).toMatch(/^etag: "t"\r$/m);
  expect(text).toMatch(/^content-length: 4\r$/im);
  expect(bodyOf(await site.say('/zip'))).toBe(include('/part'));
  const head = await site.say('/', '', 'HEAD');
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  expect(head).not.toMatch(/^(?:etag|content-length|transfer-encoding):/im);
  expect(head.endsWith('\r\n\r\n')).toBe(true);
  expect(site.paths()).toEqual(['/', '/part', '/text', '/zip', '/']);
});

test('a client of HTTP/1.0 gets the page up to the end of its connection', async () => {
  await using site = await openSite({ '/': `a${include('/part')}b`, '/part': 'P' });
  expect(bodyOf(await answerTo(site.port, 'GET / HTTP/1.0\r\nHost: app.test\r\n\r\n'))).toBe('aPb');
});

test('the application is asked for the whole page, uncompressed; pictures and the like may be asked for in parts', async () => {
  const parts =
    'Accept-Encoding: gzip\r\nRange: bytes=0-1\r\nIf-None-Match: "made"\r\nIf-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\nCookie: a=b\r\nAuthorization: Basic eDp5\r\n';
  await using site = await openSite({
    '/': include('/part'),
    '/part': 'P',
    '/picture': (request, response) => response.writeHead(request.headers['if-none-match'] === '"made"' ? 304 : 200).end(),
  });
  expect(await site.body('/', parts)).toBe('P');
  for (const { headers } of site.asked) {
    expect(headers).toMatchObject({ cookie: 'a=b', authorization: 'Basic eDp5', host: 'app.test', 'x-client-ip': '127.0.0.1' });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(?:accept-encoding|range|if-.*)$/)]));
  }
  expect(await site.say('/picture', `${parts}Sec-Fetch-Dest: image\r\n`)).toMatch(/^HTTP\/1\.1 304 /);
});

test('a request with a body has its page put together; what it includes is asked for without one', async () => {
  const bodies: string[] = [];
  const collect = (request: IncomingMessage, response: ServerResponse, reply: string) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(`${request.method} ${body}`);
      response.writeHead(200, { 'content-type': 'text/html' }).end(reply);
    });
  };
  await using site = await openSite({
    '/': (request, response) => collect(request, response, include('/part')),
    '/part': (request, response) => collect(request, response, 'P'),
  });
  expect(
    await site.body('/').then(() => answerTo(site.port, 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\n\r\nhello')),
  ).toContain('P');
  expect(bodies).toEqual(['GET ', 'GET ', 'POST hello', 'GET ']);
});

test('the cache keeps the page and its parts each by themselves', async () => {
  let count = 0;
  const part = (_: IncomingMessage, response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(String(++count));
  await using site = await openSite({ '/': `${include('/fresh/')} ${include('/kept')}`, '/fresh/': part, '/kept': part }, {}, [
    upstreamRoute('app.test', '/', { ssi: true, cache: cached }),
    upstreamRoute('app.test', '/fresh/'),
  ]);
  expect(await site.body('/')).toBe('1 2');
  const again = await site.say('/');
  expect(bodyOf(again)).toBe('3 2');
  expect(again).toContain('X-Platform-Cache: HIT');
  expect(site.paths()).toEqual(['/', '/fresh/', '/kept', '/fresh/']);
  expect(site.records.map(({ cache }) => cache)).toEqual(['MISS', 'HIT']);
});

test('static files include, and are included', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-includes-'));
  try {
    await writeFile(join(folder, 'page.html'), `[${include('/part.html')}|${include('/app')}]`);
    await writeFile(join(folder, 'part.html'), 'FILE');
    const upstream = await openHttpUpstream((_, response) => void response.end('APP'));
    const environment = environmentOf([], {
      routes: [upstreamRoute('app.test', '/', { ssi: true })],
      upstreams: {
        'app:http': upstreamOf([upstream.instance], {
          locations: { '/': locationWith({ root: '' }) },
          files: [{ at: '/app', folder, below: '', is_immutable: true }],
        }),
      },
    });
    await using edge = await openTestEdge([environment]);
    const reply = await answerTo(edge.port, 'GET /page.html HTTP/1.1\r\nHost: app.test\r\nRange: bytes=0-1\r\n\r\n');
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodyOf(reply)).toBe('[FILE|APP]');
    await upstream.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.each<[string, string, string]>([
  ['echo encodes', `<!--#echo var="arg_x" -->`, '&#60;b&#62;'],
  ['echo as it is', `<!--#echo var="arg_x" encoding="none" -->`, '<b>'],
  ['echo for addresses', `<!--#echo var='arg_x' encoding='url' -->`, '%3Cb%3E'],
  ['echo of nothing', `<!--#echo var="no" -->,<!--#echo var="no" default="d" -->,<!--#echo var="constructor" -->`, '(none),d,(none)'],
  [
    'the request',
    `<!--#echo var="REQUEST_METHOD" --> <!--#echo var="host" --> <!--#echo var="cookie_c" --> <!--#echo var="http_x_own" -->`,
    'GET app.test d own',
  ],
  ['time', `<!--#config timefmt="%%%Y" --><!--#echo var="date_gmt" -->`, `%${new Date().getUTCFullYear()}`],
  ['set', `<!--#set var="a" value="1" --><!--#set var="a" value="\${a}2\\$" --><!--#echo var="a" -->`, '12$'],
  ['if', `<!--#if expr="$cookie_c = d" -->yes<!--#else -->no<!--#endif -->`, 'yes'],
  ['if not', `<!--#if expr="$cookie_c != d" -->yes<!--#else -->no<!--#endif -->`, 'no'],
  ['elif', `<!--#if expr="$no" -->a<!--#elif expr="$host" -->b<!--#elif expr="$host" -->c<!--#else -->d<!--#endif -->e`, 'be'],
  ['if inside of if', `<!--#if expr="$no" --><!--#if expr="$host" -->a<!--#else -->b<!--#endif --><!--#else -->c<!--#endif -->`, 'c'],
  [
    'regular expressions',
    `<!--#if expr="$host = /^(?<Site>\\w+)\\.(.*)$/" --><!--#echo var="site" -->:<!--#echo var="2" --><!--#endif -->`,
    'app:test',
  ],
  [
    'hidden commands',
    `<!--#if expr="$no" -->${include('/x')}<!--#nonsense --><!--#set var="a" value="1" --><!--#endif --><!--#echo var="a" -->`,
    '(none)',
  ],
  ['variables of parts', `<!--#set var="p" value="ho" -->${include('/e$p')}`, 'ho'],
  ['include into a variable', `${include('/echo', ' set="v"')}<!--#if expr="$v = (none)" -->kept<!--#endif -->`, 'kept'],
  [
    'blocks for what is missing',
    `<!--#block name="b" --><i><!--#echo var="host" --></i><!--#endblock -->${include('/no', ' stub="b"')}`,
    '<i>app.test</i>',
  ],
  ['blocks for what is empty', `<!--#block name="b" -->B<!--#endblock -->${include('/empty', ' stub="b"')}${include('/empty')}`, 'B'],
  ['wait changes nothing', include('/echo', ' wait="yes"'), '(none)'],
  ['ends inside of quotes', `<!--#set var="a" value="-->" --><!--#echo var="a" encoding="none" -->`, '-->'],
  ['what is missing', `a${include('/no')}b`, `a${failed}b`],
  ['a message of its own', `<!--#config errmsg="oops" -->${include('/no')}`, 'oops'],
  ['unknown commands', `a<!--#exec cmd="ls" -->b<!--#-->c<!--# include -->`, `a${failed}b${failed}c${failed}`],
  ['unreadable ones', `<!--#echo var=host --><!--#echo --><!--#endif --><!--#if expr="$a ! b" -->x<!--#endif -->`, failed.repeat(4)],
  ['other comments', `<!-- # --><!--[if IE]><![endif]--><!-`, `<!-- # --><!--[if IE]><![endif]--><!-`],
  ['one without an end', `a<!--#echo var="host" --`, `a${failed}`],
])('directives: %s', async (_, page, shown) => {
  await using site = await openSite({
    '/?x=<b>': page,
    '/echo': '<!--#echo var="p" -->',
    '/eho': '<!--#echo var="p" -->',
    '/empty': (__, response) => response.writeHead(204).end(),
  });
  expect(await site.body('/?x=<b>', 'Cookie: c=d\r\nX-Own: own\r\n')).toBe(shown);
});

test.each(['http://other.test/x', '//other.test/x', '\\\\other.test\\x', 'javascript:x', '', '/a\r\nX: y', '?x', '/a#b'])(
  'nothing is included from %j',
  async (place) => {
    await using site = await openSite({ '/': `[${include(place)}]` });
    expect(await site.body('/')).toBe(`[${failed}]`);
    expect(site.paths()).toEqual(['/']);
  },
);

test('redirects are not followed, and what cannot be read is not put in', async () => {
  await using site = await openSite({
    '/': `${include('/moved')}|${include('/zip')}|${include('/cut')}`,
    '/moved': (_, response) => response.writeHead(302, { location: '/no' }).end('moved'),
    '/zip': (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('zip'),
    '/cut': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write('begun');
      setTimeout(() => response.destroy(), 20);
    },
  });
  expect(await site.body('/')).toBe(`${failed}|${failed}|begun${failed}`);
  expect(site.records[0]).toMatchObject({ status: 200, note: 'what is included from /moved answered 302', aborted: false });
});

test('a page that breaks off is seen to be not whole', async () => {
  await using site = await openSite({
    '/': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write(`a${include('/part')}`);
      setTimeout(() => response.destroy(), 50);
    },
    '/part': 'P',
  });
  const reply = await site.say('/');
  expect(reply).toContain('\r\nP\r\n');
  expect(reply).not.toContain('\r\n0\r\n');
  expect(site.records[0]?.aborted).toBe(true);
});

test('however a page is cut into pieces, it is the same', async () => {
  const page = `a<!-<!--#set var="v" value="-->" -->b${include('/part')}<!--<!--#echo var="v" encoding="none" -->c<`;
  const cut = (bytes: number) => async (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.socket?.setNoDelay(true);
    for (let at = 0; at < page.length; at += bytes) {
      response.write(page.slice(at, at + bytes));
      await sleep(0);
    }
    response.end();
  };
  await using site = await openSite({ '/1': cut(1), '/2': cut(2), '/3': cut(3), '/7': cut(7), '/part': 'P', '/whole': page });
  for (const path of ['/1', '/2', '/3', '/7', '/whole']) expect(await site.body(path)).toBe('a<!-bP<!---->c<');
});

test('pages that include themselves end: by their depth, and by their number', async () => {
  await using site = await openSite(
    { '/once': `<${include('/once')}>`, '/twice': `${include('/twice')}${include('/twice')}` },
    { includesPerRequestMax: 50, includeDepthMax: 5 },
  );
  expect(await site.body('/once')).toBe(`<<<<<<${failed}>>>>>>`);
  expect(site.asked).toHaveLength(6);
  await site.body('/twice');
  expect(site.asked.length).toBeLessThanOrEqual(6 + 51);
  expect(site.records[1]?.note).toContain('too many includes');
});

test('what is included is bounded in bytes', async () => {
  const bytes = 600 * 1024;
  await using site = await openSite(
    { '/': `${include('/large')}${include('/large')}!`, '/large': 'x'.repeat(bytes) },
    { includedBytesMax: 1024 * 1024 },
  );
  const body = await site.body('/');
  expect(body.endsWith(`${failed}!`)).toBe(true);
  expect(body.length).toBeLessThan(1024 * 1024 + failed.length + 2);
});

test('a directive that is too long is passed over, up to its end', async () => {
  await using site = await openSite({ '/': `a<!--#echo var="${'x'.repeat(100_000)}" -->b<!--#${'y'.repeat(9000)}-->c` });
  expect(await site.body('/')).toBe(`a${failed}b${failed}c`);
});

test('variables do not grow without end, and slow regular expressions are not tried again', async () => {
  const slow = `<!--#if expr="$arg_x = /^(a+)+$/" -->y<!--#endif -->`;
  await using site = await openSite({
    '/grow': `<!--#set var="v" value="0123456789" -->${'<!--#set var="v" value="$v$v" -->'.repeat(40)}<!--#echo var="v" -->`,
    [`/slow?x=${'a'.repeat(40)}b`]: slow.repeat(500),
  });
  expect((await site.body('/grow')).length).toBeLessThan(70_000 + 40 * failed.length);
  expect(await site.body(`/slow?x=${'a'.repeat(40)}b`)).toBe(failed.repeat(500));
});

test('text before an include is sent while the included part is still awaited', async () => {
  let answer: (() => void) | undefined;
  await using site = await openSite({
    '/': `before${include('/part')}after`,
    '/part': (_, response) => {
      answer = () => response.end('P');
    },
  });
  const client = await openClient(site.port);
  client.say('GET / HTTP/1.1\r\nHost: app.test\r\n\r\n');
  await client.heard(/before/);
  await until(() => answer !== undefined);
  expect(client.text()).not.toContain('after');
  answer?.();
  expect(bodyOf(await client.heard(/\r\n0\r\n/))).toBe('beforePafter');
  client.socket.destroy();
});

test('a client that leaves ends what is fetched for it; one that does not read makes the application wait', async () => {
  let [sent, closed] = [0, 0];
  await using site = await openSite(
    {
      '/': include('/endless'),
      '/endless': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        const more = () => {
          while (response.write('x'.repeat(16_384))) sent += 16_384;
        };
        response.on('drain', more).on('close', () => closed++);
        more();
      },
    },
    { includedBytesMax: Number.MAX_SAFE_INTEGER },
  );
  const client = await openClient(site.port);
  client.socket.pause();
  client.say('GET / HTTP/1.1\r\nHost: app.test\r\n\r\n');
  await until(() => sent > 0);
  const before = await standingStill(() => sent);
  expect(before).toBeLessThan(64 * 1024 * 1024);
  client.socket.destroy();
  await until(() => closed === 1 && site.edge.outstanding() === 0);
});

test('what is read ahead of an include is bounded', async () => {
  let sent = 0;
  await using site = await openSite(
    {
      '/': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).write(include('/never'));
        const more = () => {
          while (response.write('x'.repeat(16_384))) sent += 16_384;
        };
        response.on('drain', more);
        more();
      },
      '/never': () => {},
    },
    { pageAheadBytesMax: 64 * 1024 },
  );
  const client = await openClient(site.port);
  client.say('GET / HTTP/1.1\r\nHost: app.test\r\n\r\n');
  await until(() => sent > 0);
  expect(await standingStill(() => sent)).toBeLessThan(64 * 1024 * 1024);
  client.socket.destroy();
  await until(() => site.edge.outstanding() === 0);
});
