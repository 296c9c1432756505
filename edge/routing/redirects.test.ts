import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redirectFor } from './redirects.ts';
import type { PathRedirect, Route } from './table.ts';

const base = {
  original_url: 'https://{default}/',
  scheme: 'http',
  host: 'example.com',
  path: '/',
  strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
} as const;

const routeWith = (paths: Record<string, Partial<PathRedirect> & { to: string }>, expires = '-1s'): Route => ({
  ...base,
  type: 'upstream',
  upstream: 'app',
  sticky: false,
  cache: { enabled: true, default_ttl: 0, cookies: ['*'], headers: [] },
  redirects: {
    expires,
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, redirect]) => [
        path,
        { regexp: false, prefix: true, append_suffix: true, code: 302, expires: null, ...redirect },
      ]),
    ),
  },
});
const redirectRoute = (to: string, path = '/'): Route => ({
  ...base,
  path,
  type: 'redirect',
  to,
  redirects: { expires: '-1s', paths: {} },
});

const go = (route: Route, url: string) => {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  const reply = redirectFor(route, { path, query });
  return reply && [reply.status, headerOf(reply.headers, 'Location')];
};
const headerOf = (headers: [string, string][], name: string) => headers.find(([it]) => it === name)?.[1];

test('a path is redirected together with what is below it, which is carried over', () => {
  const route = routeWith({ '/from': { to: 'https://example.com/to' } });
  expect(go(route, '/from')).toEqual([302, 'https://example.com/to']);
  expect(go(route, '/from/another/path')).toEqual([302, 'https://example.com/to/another/path']);
  expect(go(route, '/from/')).toEqual([302, 'https://example.com/to/']);
  expect(go(route, '/fromage')).toBeUndefined();
  expect(go(route, '/other/from')).toBeUndefined();
});

test('without prefix only the path itself is, and without append_suffix nothing is carried over', () => {
  expect(go(routeWith({ '/from': { to: '/to', prefix: false } }), '/from')).toEqual([302, '/to']);
  expect(go(routeWith({ '/from': { to: '/to', prefix: false } }), '/from/x')).toBeUndefined();
  expect(go(routeWith({ '/from': { to: '/to', append_suffix: false } }), '/from/x/y')).toEqual([302, '/to']);
});

test('the longest path wins, before it the one for itself alone, after it regular expressions in order', () => {
  const route = routeWith({
    '^/a/.*$': { to: '/regexp-1', regexp: true },
    '/a': { to: '/short', append_suffix: false },
    '/a/b/c': { to: '/long', append_suffix: false },
    '/a/b/c/d': { to: '/exact', prefix: false },
    '^/z/(.*)$': { to: '/regexp-2/$1', regexp: true },
    '^/z': { to: '/regexp-3', regexp: true },
  });
  expect(go(route, '/a/b/c/d')).toEqual([302, '/exact']);
  expect(go(route, '/a/b/c/d/e')).toEqual([302, '/long']);
  expect(go(route, '/a/b/x')).toEqual([302, '/short']);
  expect(go(route, '/z/1')).toEqual([302, '/regexp-2/1']);
  expect(go(route, '/z')).toEqual([302, '/regexp-3']);
  expect(go(routeWith({ '/': { to: 'https://elsewhere.example' } }), '/any/path')).toEqual([302, 'https://elsewhere.example/any/path']);
});

test('codes are the ones asked for', () => {
  for (const code of [301, 302, 307, 308] as const) expect(go(routeWith({ '/a': { to: '/b', code } }), '/a')).toEqual([code, '/b']);
});

test('variables of the request and of the match are put in', () => {
  const to = (target: string) => routeWith({ '^/foo/(.*)/(?<last>bar)$': { to: target, regexp: true } });
  expect(go(to('https://example.com/$1'), '/foo/a/b/bar')).toEqual([302, 'https://example.com/a/b']);
  expect(go(to('/x$is_args$args'), '/foo/a/bar?q=1&r=%20')).toEqual([302, '/x?q=1&r=%20']);
  expect(go(to('/x$is_args$args'), '/foo/a/bar')).toEqual([302, '/x']);
  expect(go(to('/x?only=$arg_q&more=$arg_missing'), '/foo/a/bar?r=2&Q=7')).toEqual([302, '/x?only=7&more=']);
  expect(go(to('https://other.example$uri'), '/foo/a/bar')).toEqual([302, 'https://other.example/foo/a/bar']);
  expect(go(to('/${1}s/$last/$2/$9/$unknown/5$'), '/foo/a/bar')).toEqual([302, '/as/bar/bar//$unknown/5$']);
});

test('a path is the same however it is spelled', () => {
  const route = routeWith({ '/café au lait': { to: '/coffee' } });
  expect(go(route, '/caf%c3%a9%20au%20lait/x')).toEqual([302, '/coffee/x']);
  expect(go(route, '/c%61f%C3%A9%20au%20lait')).toEqual([302, '/coffee']);
  expect(go(routeWith({ '^/ä/(.*)$': { to: '/$1', regexp: true } }), '/%C3%A4/%C3%B6%20%3F%25')).toEqual([302, '/%C3%B6%20%3F%25']);
});

test('how long a redirect may be kept is said for the route, or for one path', () => {
  const route = routeWith({ '/a': { to: '/x' }, '/b': { to: '/y', expires: '2w' } }, '1d');
  const askedAt = Date.now();
  const headers = (path: string) => redirectFor(route, { path, query: '' })?.headers ?? [];
  expect(headerOf(headers('/a'), 'Cache-Control')).toBe('max-age=86400');
  expect(headerOf(headers('/b'), 'Cache-Control')).toBe('max-age=1209600');
  const expiresAt = Date.parse(headerOf(headers('/b'), 'Expires') ?? '') - 1_209_600_000;
  // It is told in whole seconds.
  expect(expiresAt).toBeGreaterThan(askedAt - 1000);
  expect(expiresAt).toBeLessThanOrEqual(Date.now());
  expect(redirectFor(routeWith({ '/a': { to: '/x' } }), { path: '/a', query: '' })?.headers).toEqual([['Location', '/x']]);
});

test('a whole route is redirected for good, with path and query', () => {
  expect(go(redirectRoute('https://www.example.com/'), '/')).toEqual([301, 'https://www.example.com/']);
  expect(go(redirectRoute('https://www.example.com/'), '/a/b?c=d')).toEqual([301, 'https://www.example.com/a/b?c=d']);
  expect(go(redirectRoute('https://www.example.com'), '/a')).toEqual([301, 'https://www.example.com/a']);
  expect(go(redirectRoute('https://www.example.com/new', '/old/'), '/old/x/y')).toEqual([301, 'https://www.example.com/new/x/y']);
  expect(go(redirectRoute('https://www.example.com/new?from=old', '/old/'), '/old/x?y')).toEqual([
    301,
    'https://www.example.com/new/x?from=old&y',
  ]);
  const both: Route = { ...redirectRoute('https://www.example.com/'), redirects: routeWith({ '/only': { to: '/here' } }).redirects };
  expect(go(both, '/only')).toEqual([302, '/here']);
  expect(go(both, '/else')).toEqual([301, 'https://www.example.com/else']);
});

test('no request can lead a redirect of this site to another, or break the header', () => {
  const evil = [
    '//evil.example',
    '/\\evil.example',
    '/%0d%0aSet-Cookie:x=1',
    '/%5Cevil.example',
    '/a\u0000b',
    '/\ud800',
    '/"<x>',
    '/ä',
    '/%',
    '/%zz',
    '///',
    '/..//evil.example',
  ];
  const routes = [
    routeWith({ '/from': { to: '/' } }),
    routeWith({ '/': { to: '/' } }),
    routeWith({ '^/from/?(.*)$': { to: '/$1', regexp: true } }),
    routeWith({ '^/from(.*)$': { to: '$1', regexp: true } }),
    routeWith({ '^(.*)$': { to: '$uri$is_args$args', regexp: true } }),
  ];
  for (const route of routes) {
    for (const path of evil.flatMap((it) => [it, `/from${it}`, `/from/${it}`])) {
      const location = headerOf(redirectFor(route, { path, query: 'a=\r\nX: 1' })?.headers ?? [], 'Location');
      if (location === undefined) continue;
      expect(location).toMatch(/^[\x21-\x7e]*$/);
      expect(new URL(location, 'https://example.com/').host).toBe('example.com');
    }
  }
});

test('whatever comes in, Location is a valid header of visible ASCII', () => {
  const route = routeWith({
    '/a': { to: 'https://example.com/x' },
    '^(.*)$': { to: 'https://example.com/y$1$is_args$args$arg_a', regexp: true },
  });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), fc.constantFrom('/', '/a', '/a/'), (path, query, start) => {
      const location = headerOf(redirectFor(route, { path: start + path, query })?.headers ?? [], 'Location') ?? '';
      expect(location).toMatch(/^[\x21-\x7e]*$/);
      expect(location === '' ? 'example.com' : new URL(location).host).toBe('example.com');
    }),
    { numRuns: 2000 },
  );
});

test('fifty thousand paths cost what one costs', () => {
  const many = routeWith(
    Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`/section-${index % 100}/page-${index}`, { to: `/new/${index}` }])),
  );
  const one = routeWith({ '/section-7/page-7': { to: '/new/7' } });
  expect(go(many, '/section-99/page-49999/x')).toEqual([302, '/new/49999/x']);
  expect(go(many, '/section-99/page-50000')).toBeUndefined();
  const nanoseconds = (route: Route) => {
    for (let times = 0; times < 20_000; times += 1) redirectFor(route, { path: '/some/other/path', query: '' });
    const start = process.threadCpuUsage();
    for (let times = 0; times < 100_000; times += 1) redirectFor(route, { path: '/some/other/path', query: '' });
    return (process.threadCpuUsage(start).user * 1000) / 100_000;
  };
  expect(nanoseconds(many)).toBeLessThan(10 * nanoseconds(one) + 5000);
});
