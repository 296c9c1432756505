import { expect, test } from 'vitest';
import type { ResolvedRoute } from '../../builds/public.ts';
import { edgeEnvironmentOf, type EdgeSituation } from './edge-table.ts';
import { app, host, location, resolved, route, sampleStack, shop } from '../../../testing/stack.ts';

const situation = (fields: Partial<EdgeSituation> = {}): EdgeSituation => ({
  version: 7,
  state: 'open',
  instances: {
    shop: [
      { id: 'one', address: { host: '10.1.0.7', port: 8888 } },
      { id: 'two', address: { host: '10.1.0.8', port: 8888 } },
    ],
  },
  files: { shop: [{ at: '/app', folder: '/slugs/shop', is_immutable: true }] },
  tls: true,
  hosts: { [`*.${host}`]: 5 },
  ...fields,
});

test('an environment is told to the edge under its cluster, with its rules of access', () => {
  const http_access = {
    is_enabled: true,
    addresses: [{ permission: 'deny' as const, address: '0.0.0.0/0' }],
    basic_auth: { ada: 'lovelace' },
  };
  const stack = sampleStack(shop(), { settings: { http_access, enable_smtp: false, restrict_robots: true } });
  expect(edgeEnvironmentOf(stack, situation({ state: 'holding' }))).toMatchObject({
    cluster: 'abcdefghij234-main-bvxea6i',
    version: 7,
    state: 'holding',
    deployment: 'deploymentaaa',
    restrict_robots: true,
    http_access,
  });
});

test('with TLS each resolved route is a route of its scheme, host and path', () => {
  const { routes } = edgeEnvironmentOf(sampleStack(), situation());
  expect(routes.map(({ scheme, host: at, path, type }) => `${type} ${scheme} ${at} ${path}`)).toEqual([
    `upstream https ${host} /`,
    `upstream https ${host} /api/`,
    `redirect https www.${host} /`,
    `redirect http ${host} /`,
    `redirect http ${host} /api/`,
    `redirect http www.${host} /`,
  ]);
  expect(routes[0]).toEqual({
    original_url: 'https://{default}/',
    scheme: 'https',
    claim: 5,
    host,
    path: '/',
    type: 'upstream',
    upstream: 'shop',
    cache: { enabled: true, default_ttl: 0, cookies: ['*'], headers: ['Accept', 'Accept-Language'] },
    sticky: false,
    redirects: { expires: '-1s', paths: {} },
    strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
    tls: { min_version: null, client_authentication: null, client_certificate_authorities: [] },
  });
});

test('a route whose pages include others says so', () => {
  const routes = { [`https://${host}/`]: resolved('https://{default}/', { ssi: { enabled: true } }) };
  expect(edgeEnvironmentOf(sampleStack(shop(), { routes }), situation()).routes).toMatchObject([{ type: 'upstream', ssi: true }]);
});

test('what a route asks of those who come over TLS is told, but of no version that nobody speaks', () => {
  const asking = (tls: Partial<ResolvedRoute['tls']>, scheme = 'https') => {
    const stack = sampleStack(shop(), {
      routes: { [`${scheme}://${host}/`]: resolved(`${scheme}://{default}/`, { tls: { ...route().tls, ...tls } }) },
    });
    return edgeEnvironmentOf(stack, situation()).routes[0]?.tls;
  };
  const client_certificate_authorities = ['-----BEGIN CERTIFICATE-----'];
  expect(asking({ min_version: 'TLSv1.3', client_authentication: 'require', client_certificate_authorities })).toEqual({
    min_version: 'TLSv1.3',
    client_authentication: 'require',
    client_certificate_authorities,
  });
  expect(asking({ min_version: 'TLSv1.1' })).toMatchObject({ min_version: null });
  expect(asking({ min_version: 'TLSv1.3' }, 'http')).toBeUndefined();
});

test('without TLS what would be served over https is served over http, and nothing leads away to where nobody answers', () => {
  const stack = sampleStack();
  const strict = { ...route().tls, strict_transport_security: { enabled: true, include_subdomains: true, preload: null } };
  stack.routes[`https://${host}/`] = resolved('https://{default}/', {
    tls: strict,
    redirects: {
      expires: '1d',
      paths: {
        '/old': { to: `https://www.${host}/new`, regexp: false, prefix: true, append_suffix: true, code: 301, expires: null },
        '^/x(.*)': { to: 'https://example.org/$1', regexp: true, prefix: null, append_suffix: null, code: 302, expires: '5m' },
      },
    },
  });
  const { routes } = edgeEnvironmentOf(stack, situation({ tls: false }));
  expect(routes.map(({ scheme, host: at, path, type }) => `${type} ${scheme} ${at} ${path}`)).toEqual([
    `upstream http ${host} /`,
    `upstream http ${host} /api/`,
    `redirect http www.${host} /`,
  ]);
  expect(routes[2]).toMatchObject({ to: `http://${host}/` });
  expect(routes[0]).toMatchObject({
    strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
    redirects: {
      expires: '1d',
      paths: {
        '/old': { to: `http://www.${host}/new`, prefix: true, append_suffix: true, expires: null },
        '^/x(.*)': { to: 'https://example.org/$1', prefix: false, append_suffix: false, expires: '5m' },
      },
    },
  });
});

test('an http route of its own stays beside the https routes of other paths', () => {
  const stack = sampleStack();
  stack.routes = { [`https://${host}/`]: resolved('https://{default}/'), [`http://${host}/plain/`]: resolved('http://{default}/plain/') };
  const places = edgeEnvironmentOf(stack, situation({ tls: false })).routes.map(({ scheme, path }) => `${scheme} ${path}`);
  expect(places).toEqual(['http /', 'http /plain/']);
});

test('a proxy leads where it was told; hosts are lower-case, wildcards stay, ports go', () => {
  const { upstream: _upstream, cache: _cache, ssi: _ssi, sticky: _sticky, redirects: _redirects, ...rest } = route();
  const proxy: ResolvedRoute = {
    ...rest,
    type: 'proxy',
    to: 'https://example.org/base/',
    primary: false,
    production_url: null,
    original_url: 'https://*.{default}/out',
    restrict_robots: false,
    http_access: { is_enabled: true, addresses: [], basic_auth: {} },
  };
  const stack = sampleStack(shop(), { routes: { 'https://*.Example.COM:8443/out': proxy } });
  expect(edgeEnvironmentOf(stack, situation({ hosts: { '*.example.com': 6 } })).routes).toMatchObject([
    { type: 'proxy', scheme: 'https', host: '*.example.com', path: '/out/', to: 'https://example.org/base/', redirects: { paths: {} } },
  ]);
});

test('a route is told of with the claim of its host, and not at all where the environment has not got that', () => {
  const stack = sampleStack(shop(), {
    routes: {
      'http://shop.example.org./': resolved('https://shop.example.org./'),
      'http://a.b.example.org/': resolved('https://a.b.example.org/'),
      'http://other.example/': resolved('https://other.example/'),
      'http://deep.other.example/': resolved('https://deep.other.example/'),
    },
  });
  const told = (hosts: EdgeSituation['hosts']) =>
    edgeEnvironmentOf(stack, situation({ hosts })).routes.map(({ host: at, claim }) => [at, claim]);
  expect(told({ 'shop.example.org': 3, '*.b.example.org': 4, 'other.example': 9 })).toEqual([
    ['shop.example.org', 3],
    ['a.b.example.org', 4],
    ['other.example', 9],
  ]);
  expect(edgeEnvironmentOf(stack, situation({ hosts: {} }))).toMatchObject({ routes: [], upstreams: {} });
});

test('an app that a route leads to has its instances, files and locations there; others are not told of', () => {
  const model = shop();
  const rules = { '\\.css$': { expires: '1d' } };
  model.applications['shop'] = app('shop', {
    web: {
      commands: { pre_start: null, start: null, post_start: null },
      upstream: { socket_family: 'unix', protocol: 'fastcgi' },
      locations: {
        '/': location({ root: 'public', index: ['index.php'], passthru: '/index.php', scripts: true, rules }),
        '/live': location({ request_buffering: { enabled: false, max_request_size: '1g' } }),
      },
      move_to_root: false,
    },
  });
  const stack = sampleStack(model);
  delete stack.routes[`https://${host}/api/`];
  const { upstreams } = edgeEnvironmentOf(stack, situation());
  expect(upstreams).toEqual({
    shop: {
      protocol: 'fastcgi',
      instances: situation().instances['shop'],
      locations: {
        '/': {
          root: 'public',
          index: ['index.php'],
          expires: '-1s',
          passthru: '/index.php',
          scripts: true,
          allow: true,
          headers: {},
          rules,
          request_buffering: { enabled: true, max_request_size: '250m' },
        },
        '/live': expect.objectContaining({ root: null, index: [], request_buffering: { enabled: false, max_request_size: '1g' } }),
      },
      files: situation().files['shop'],
      app_root: '/app',
    },
  });
  expect(edgeEnvironmentOf(stack, situation({ state: 'paused', instances: {}, files: {} })).upstreams['shop']).toMatchObject({
    instances: [],
    files: [],
  });
});
