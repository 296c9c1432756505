import { expect, test, vi } from 'vitest';
import { openCache, type EdgeCache, type Lookup, type Store } from './cache.ts';
import { freshnessOf, keyOf, readingOf, type ReplyHeaders } from './cache-rules.ts';
import type { Exchange } from '../exchange.ts';
import type { CacheRules } from '../routing/table.ts';

const standard: CacheRules = { enabled: true, default_ttl: 0, cookies: ['*'], headers: ['Accept', 'Accept-Language'] };
const minute: CacheRules = { ...standard, default_ttl: 60 };
const environment = { cluster: 'p-main', deployment: 'one' };
const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Exchange => ({
  method,
  scheme: 'http',
  host: 'example.com',
  authority: 'example.com',
  path,
  query: '',
  headers,
  address: '192.0.2.1',
});

/** As the reader of a reply tells them. */
const said = (...lines: [string, string][]): ReplyHeaders => ({
  names: lines.map(([name]) => name.toLowerCase()),
  values: lines.map(([, value]) => value),
});
const missed = (lookup: Lookup): Store => {
  if (lookup.kind !== 'miss' || !lookup.store) throw new Error(`not a miss to be stored but ${lookup.kind}`);
  return lookup.store;
};
const fill = (cache: EdgeCache, rules: CacheRules, exchange: Exchange, body: string, headers: [string, string][] = [], status = 200) => {
  const store = missed(cache.lookup(environment, rules, exchange));
  if (!store.begin(status, said(...headers))) return false;
  store.write(Buffer.from(body));
  store.end();
  return true;
};
const seen = (lookup: Lookup) =>
  lookup.kind === 'hit' ? (lookup.reply.body instanceof Buffer ? lookup.reply.body.toString() : lookup.reply.status) : lookup.kind;
const maxAge: [string, string][] = [['Cache-Control', 'max-age=60']];

test('what an application gives a life is kept for as long, and given out with its age', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  try {
    const cache = openCache();
    expect(
      fill(cache, standard, get('/a'), 'hello', [
        ...maxAge,
        ['X-Own', '1'],
        ['Date', 'x'],
        ['Connection', 'X-Hop'],
        ['X-Hop', '1'],
        ['Content-Length', '5'],
        ['X-Platform-Cache', 'MISS'],
      ]),
    ).toBe(true);
    vi.advanceTimersByTime(42_500);
    const hit = cache.lookup(environment, standard, get('/a'));
    expect(hit.kind === 'hit' && hit.reply).toEqual({
      status: 200,
      headers: [
        ['cache-control', 'max-age=60'],
        ['x-own', '1'],
        ['Age', '42'],
      ],
      body: Buffer.from('hello'),
    });
    vi.advanceTimersByTime(18_000);
    expect(cache.lookup(environment, standard, get('/a')).kind).toBe('miss');
  } finally {
    vi.useRealTimers();
  }
});

test('without a life of its own a reply is kept for default_ttl, by default not at all', () => {
  expect(fill(openCache(), standard, get('/a'), 'hello')).toBe(false);
  const cache = openCache();
  expect(fill(cache, minute, get('/a'), 'hello')).toBe(true);
  expect(seen(cache.lookup(environment, minute, get('/a')))).toBe('hello');
});

test.each<[number, [string, string][], number | undefined]>([
  [200, [['Cache-Control', 'max-age=10']], 10],
  [200, [['cache-control', 'public, s-maxage=20, max-age=10']], 20],
  [
    200,
    [
      ['Cache-Control', 'public'],
      ['Cache-Control', 'max-age="30"'],
    ],
    30,
  ],
  [200, [['Cache-Control', 'public']], undefined],
  [200, [['Cache-Control', 'private, max-age=10']], undefined],
  [200, [['Cache-Control', 'No-Cache']], undefined],
  [200, [['Cache-Control', 'max-age=10, no-store']], undefined],
  [200, [['Cache-Control', 'private="set-cookie", max-age=10']], undefined],
  [200, [['Cache-Control', 'max-age=0']], undefined],
  [200, [['Cache-Control', 'x-max-age=10']], undefined],
  [
    200,
    [
      ['Cache-Control', 'max-age=100'],
      ['Age', '40'],
    ],
    60,
  ],
  [
    200,
    [
      ['Expires', 'Thu, 01 Jan 2026 00:10:00 GMT'],
      ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
    ],
    600,
  ],
  [200, [['Expires', '0']], undefined],
  [
    200,
    [
      ['Cache-Control', 'max-age=10'],
      ['Expires', '0'],
    ],
    10,
  ],
  [
    200,
    [
      ['Cache-Control', 'max-age=10'],
      ['Set-Cookie', 'a=b'],
    ],
    undefined,
  ],
  [
    200,
    [
      ['Cache-Control', 'max-age=10'],
      ['Vary', '*'],
    ],
    undefined,
  ],
  [200, [], 60],
  [404, [], 60],
  [302, [], 60],
  [200, [['Set-Cookie', 'a=b']], undefined],
  [206, [['Cache-Control', 'max-age=10']], undefined],
  [500, [['Cache-Control', 'max-age=10']], undefined],
  [503, [], undefined],
  [304, [['Cache-Control', 'max-age=10']], undefined],
])('a reply %d with %j lives for %s seconds', (status, headers, seconds) => {
  expect(freshnessOf(minute, status, said(...headers))?.seconds).toBe(seconds);
});

test('only what reads, and says nothing of who asks, has to do with the cache', () => {
  const cache = openCache();
  fill(cache, minute, get('/a'), 'hello');
  const kind = (headers: Record<string, string>, method = 'GET') => cache.lookup(environment, minute, get('/a', headers, method)).kind;
  expect(kind({})).toBe('hit');
  expect(kind({}, 'HEAD')).toBe('hit');
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PURGE']) expect(kind({}, method)).toBe('bypass');
  expect(kind({ authorization: 'Basic x' })).toBe('bypass');
  expect(kind({ cookie: 'a=b' })).toBe('bypass');
  expect(kind({ range: 'bytes=0-1' })).toBe('bypass');
  expect(kind({ 'content-length': '5' })).toBe('bypass');
  expect(kind({ upgrade: 'websocket' })).toBe('bypass');
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) expect(kind({ [name]: 'DELETE' })).toBe('bypass');
  expect(cache.lookup(environment, { ...minute, enabled: false }, get('/a')).kind).toBe('bypass');
  expect(cache.lookup(environment, minute, get('/never', {}, 'HEAD'))).toEqual({ kind: 'miss', store: undefined });
});

test('cookies of the list are part of the key, others are as if they were not there', () => {
  const keyWith = (cookies: string[], cookie?: string) =>
    keyOf(readingOf({ ...standard, cookies }), get('/', cookie === undefined ? {} : { cookie }));
  expect(keyWith([], 'a=1; b=2')).toBe(keyWith([]));
  expect(keyWith(['foo'], 'a=1; foo=x')).toBe(keyWith(['foo'], 'foo=x; b=2'));
  expect(keyWith(['foo'], 'foo=x')).not.toBe(keyWith(['foo'], 'foo=y'));
  expect(keyWith(['foo'], 'foo=x')).not.toBe(keyWith(['foo']));
  expect(keyWith(['/^SS?ESS/'], 'SESSabc=1; _ga=2')).toBe(keyWith(['/^SS?ESS/'], '_ga=3; SESSabc=1'));
  expect(keyWith(['/^SS?ESS/'], 'SSESSabc=1')).not.toBe(keyWith(['/^SS?ESS/']));
  expect(keyWith(['/(/'], 'a=1')).toBeUndefined();
});

test('nothing in a request can pass for another key', () => {
  const key = (path: string, headers: Record<string, string>, query = '') =>
    keyOf(readingOf({ ...standard, cookies: ['c'] }), { ...get(path, headers), query });
  const keys = [
    key('/', {}),
    key('/', { accept: 'a' }),
    key('/', { 'accept-language': 'a' }),
    key('/', { cookie: 'c=a' }),
    key('/', {}, 'a'),
    key('/', { accept: 'a', 'accept-language': 'b' }),
    key('/', { accept: 'ab' }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('headers of the rules, and those that a reply varies by, tell replies apart', () => {
  const cache = openCache();
  fill(cache, minute, get('/a', { accept: 'text/html' }), 'html');
  expect(seen(cache.lookup(environment, minute, get('/a', { accept: 'text/html' })))).toBe('html');
  expect(cache.lookup(environment, minute, get('/a', { accept: 'image/png' })).kind).toBe('miss');
  fill(cache, minute, get('/b', { 'accept-encoding': 'gzip' }), 'zipped', [['Vary', 'Accept-Encoding, Cookie']]);
  fill(cache, minute, get('/b', { 'accept-encoding': 'br' }), 'brotli', [['Vary', 'accept-encoding']]);
  expect(seen(cache.lookup(environment, minute, get('/b', { 'accept-encoding': 'gzip' })))).toBe('zipped');
  expect(seen(cache.lookup(environment, minute, get('/b', { 'accept-encoding': 'br' })))).toBe('brotli');
  expect(cache.lookup(environment, minute, get('/b')).kind).toBe('miss');
  const store = missed(cache.lookup(environment, minute, { ...get('/c'), address: '192.0.2.1' }));
  store.begin(200, said(['Vary', 'X-Client-IP']));
  store.end();
  expect(cache.lookup(environment, minute, { ...get('/c', { 'x-client-ip': '192.0.2.1' }), address: '192.0.2.2' }).kind).toBe('miss');
});

test('what is encoded is given to those who asked for it in that way, also where the application does not say so', () => {
  const cache = openCache();
  fill(cache, minute, get('/a', { 'accept-encoding': 'zstd' }), 'for few', [['Content-Encoding', 'zstd']]);
  expect(seen(cache.lookup(environment, minute, get('/a', { 'accept-encoding': 'zstd' })))).toBe('for few');
  expect(seen(cache.lookup(environment, minute, get('/a')))).toBe('miss');
});

test('a client that has it already is told so', () => {
  const cache = openCache();
  fill(cache, minute, get('/a'), 'hello', [
    ['ETag', '"v1"'],
    ['Last-Modified', 'Thu, 01 Jan 2026 00:00:00 GMT'],
    ['Content-Type', 'text/plain'],
  ]);
  const asks = (headers: Record<string, string>) => seen(cache.lookup(environment, minute, get('/a', headers)));
  expect(asks({ 'if-none-match': '"v0", W/"v1"' })).toBe(304);
  expect(asks({ 'if-none-match': '*' })).toBe(304);
  expect(asks({ 'if-none-match': '"v2"', 'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' })).toBe('hello');
  expect(asks({ 'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' })).toBe(304);
  expect(asks({ 'if-modified-since': 'Wed, 31 Dec 2025 00:00:00 GMT' })).toBe('hello');
});

test('a new deployment finds nothing of the old one, and nothing of the old one arrives later', () => {
  const cache = openCache();
  fill(cache, minute, get('/a'), 'old');
  const late = missed(cache.lookup(environment, minute, get('/b')));
  const next = { ...environment, deployment: 'two' };
  expect(cache.lookup(next, minute, get('/a')).kind).toBe('miss');
  expect(cache.bytes).toBe(0);
  late.begin(200, said());
  late.end();
  expect(cache.lookup(next, minute, get('/b')).kind).toBe('miss');
  expect(cache.bytes).toBe(0);
  cache.forget(environment.cluster);
});

test('of many who ask at once, one goes and the others get what it brings', async () => {
  const cache = openCache();
  const store = missed(cache.lookup(environment, minute, get('/a')));
  const others = Array.from({ length: 100 }, () => cache.lookup(environment, minute, get('/a')));
  expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(['wait']));
  store.begin(200, said());
  store.write(Buffer.from('he'));
  store.write(Buffer.from('llo'));
  store.end();
  const outcomes = await Promise.all(others.map(async (it) => (it.kind === 'wait' ? it.outcome : it)));
  expect(new Set(outcomes.map(seen))).toEqual(new Set(['hello']));
});

test('when it is not for keeping, all go ahead at once, and for a while nobody waits', async () => {
  const cache = openCache();
  const store = missed(cache.lookup(environment, minute, get('/a')));
  const other = cache.lookup(environment, minute, get('/a'));
  expect(store.begin(200, said(['Set-Cookie', 'a=b']))).toBe(false);
  expect(other.kind === 'wait' && (await other.outcome)).toEqual({ kind: 'miss', store: undefined });
  const [first, second] = [cache.lookup(environment, minute, get('/a')), cache.lookup(environment, minute, get('/a'))];
  expect([first.kind, second.kind]).toEqual(['miss', 'miss']);
  missed(second).begin(200, said());
  missed(second).end();
  expect(cache.lookup(environment, minute, get('/a')).kind).toBe('hit');
});

test('when the one who went fails, the next goes and the others keep waiting', async () => {
  const cache = openCache();
  const store = missed(cache.lookup(environment, minute, get('/a')));
  const [second, third] = [cache.lookup(environment, minute, get('/a')), cache.lookup(environment, minute, get('/a'))];
  if (second.kind !== 'wait' || third.kind !== 'wait') throw new Error('they do not wait');
  store.abort();
  const next = missed(await second.outcome);
  next.begin(200, said());
  next.write(Buffer.from('second'));
  next.end();
  expect(seen(await third.outcome)).toBe('second');
});

test('nobody waits for ever', async () => {
  vi.useFakeTimers();
  try {
    const cache = openCache();
    cache.lookup(environment, minute, get('/a'));
    const waiting = cache.lookup(environment, minute, get('/a'));
    vi.advanceTimersByTime(11_000);
    expect(waiting.kind === 'wait' && (await waiting.outcome)).toEqual({ kind: 'miss', store: undefined });
  } finally {
    vi.useRealTimers();
  }
});

test('by default nobody waits for a reply that was never kept, but all do for one that was', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const cache = openCache();
    const both = [cache.lookup(environment, standard, get('/a')), cache.lookup(environment, standard, get('/a'))];
    expect(both.map(({ kind }) => kind)).toEqual(['miss', 'miss']);
    for (const lookup of both) {
      missed(lookup).begin(200, said(...maxAge));
      missed(lookup).end();
    }
    expect(cache.lookup(environment, standard, get('/a')).kind).toBe('hit');
    vi.advanceTimersByTime(61_000);
    expect([cache.lookup(environment, standard, get('/a')).kind, cache.lookup(environment, standard, get('/a')).kind]).toEqual([
      'miss',
      'wait',
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test('a reply that breaks off, or is too large, is not kept', () => {
  const cache = openCache({ bytesMax: 1_000_000, objectBytesMax: 1000 });
  const store = missed(cache.lookup(environment, minute, get('/a')));
  store.begin(200, said(['Content-Length', '10']));
  store.write(Buffer.from('short'));
  store.end();
  expect(cache.lookup(environment, minute, get('/a')).kind).toBe('miss');
  expect(missed(cache.lookup(environment, minute, get('/b'))).begin(200, said(['Content-Length', '1001']))).toBe(false);
  const streaming = missed(cache.lookup(environment, minute, get('/c')));
  expect(streaming.begin(200, said())).toBe(true);
  for (let times = 0; times < 11; times += 1) streaming.write(Buffer.alloc(100));
  streaming.end();
  streaming.abort();
  expect(cache.lookup(environment, minute, get('/c')).kind).toBe('miss');
});

test('replies on their way are bounded together, too', () => {
  const cache = openCache({ bytesMax: 400_000, objectBytesMax: 60_000 });
  const stores = Array.from({ length: 5 }, (_, index) => missed(cache.lookup(environment, minute, get(`/${index}`))));
  for (const store of stores) {
    store.begin(200, said());
    store.write(Buffer.alloc(30_000));
  }
  for (const store of stores) store.end();
  expect(stores.map((_, index) => cache.lookup(environment, minute, get(`/${index}`)).kind)).toEqual(['hit', 'hit', 'hit', 'miss', 'miss']);
  const later = missed(cache.lookup(environment, minute, get('/later')));
  later.begin(200, said());
  later.write(Buffer.alloc(60_000));
  later.end();
  expect(cache.lookup(environment, minute, get('/later')).kind).toBe('hit');
});

test('memory is bounded, what was used least lately goes first, and who fills it loses his own', () => {
  const cache = openCache({ bytesMax: 1_000_000, objectBytesMax: 100_000 });
  const put = (cluster: string, path: string) => {
    const store = missed(cache.lookup({ cluster, deployment: 'one' }, minute, get(path)));
    store.begin(200, said());
    store.write(Buffer.alloc(10_000));
    store.end();
  };
  const has = (cluster: string, path: string) => cache.lookup({ cluster, deployment: 'one' }, minute, get(path)).kind === 'hit';
  for (let index = 0; index < 10; index += 1) put('small', `/${index}`);
  for (let index = 0; index < 1000; index += 1) {
    put('large', `/${index}`);
    expect(cache.bytes).toBeLessThanOrEqual(1_000_000);
    expect(has('large', '/0')).toBe(true);
  }
  expect(has('large', '/1')).toBe(false);
  expect(has('large', '/999')).toBe(true);
  for (let index = 0; index < 10; index += 1) expect(has('small', `/${index}`)).toBe(true);
});
