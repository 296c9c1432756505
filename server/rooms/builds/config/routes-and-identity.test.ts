/** What follows from a model: URLs, and the names of builds. */
import { expect, test } from 'vitest';
import { buildIdentity, configIdentity, workersOf } from './identity.ts';
import { intervalMinutes, parseCron } from './language/cron-spec.ts';
import type { App } from './model.ts';
import { type Hosts, resolveRoutes } from './resolve-routes.ts';
import { modelOf } from './test-trees.ts';

const shared = { restrict_robots: false, http_access: { is_enabled: true, addresses: [], basic_auth: {} } };
const production: Hosts = { defaultDomain: 'example.com', domains: ['example.com', 'example.org'], isProduction: true, scheme: 'https' };
const preview: Hosts = { defaultDomain: 'main-x.test', domains: [], isProduction: false, scheme: 'https', production };
const bare: Hosts = { ...preview, production: { defaultDomain: 'main-y.test', domains: [] } };

const routesOf = async (lines: string) =>
  (await modelOf({ '.upsun/config.yaml': `applications: {app: {type: "static:1"}, other: {type: "static:1"}}\nroutes:\n${lines}` })).routes;

/** `url -> upstream`, a star for primary ones. */
const resolved = async (lines: string, hosts: Hosts) =>
  Object.entries(resolveRoutes(await routesOf(lines), hosts, shared)).map(
    ([url, route]) => `${url} ${route.type === 'upstream' ? route.upstream : `${route.type} ${route.to}`}${route.primary ? ' *' : ''}`,
  );

const up = (url: string, app = 'app', more = '') => `  ${url}: {type: upstream, upstream: ${app}${more}}\n`;
const to = (url: string, destination: string) => `  ${url}: {type: redirect, to: '${destination}'}\n`;

test.for<[string, string, Hosts, string[]]>([
  [
    'a default host, with http leading to https',
    up('https://{default}'),
    production,
    ['https://example.com/ app:http *', 'http://example.com/ redirect https://example.com/'],
  ],
  [
    'a preview',
    up('https://{default}/'),
    preview,
    ['https://main-x.test/ app:http *', 'http://main-x.test/ redirect https://main-x.test/'],
  ],
  [
    'an explicit http route',
    up('https://{default}/') + up('http://{default}/', 'other'),
    production,
    ['https://example.com/ app:http *', 'http://example.com/ other:http'],
  ],
  [
    'all domains',
    up('https://{all}/'),
    production,
    [
      'https://example.com/ app:http *',
      'http://example.com/ redirect https://example.com/',
      'https://example.org/ app:http *',
      'http://example.org/ redirect https://example.org/',
    ],
  ],
  [
    'all of one domain',
    up('https://{all}/'),
    preview,
    ['https://main-x.test/ app:http *', 'http://main-x.test/ redirect https://main-x.test/'],
  ],
  [
    'the default before all',
    up('http://{all}/', 'other') + up('http://{default}/'),
    production,
    ['http://example.com/ app:http', 'http://example.org/ other:http *'],
  ],
  [
    'a redirect for each domain',
    to('http://www.{all}/', 'https://{all}/') + up('http://{all}/'),
    production,
    [
      'http://www.example.com/ redirect https://example.com/',
      'http://www.example.org/ redirect https://example.org/',
      'http://example.com/ app:http *',
      'http://example.org/ app:http *',
    ],
  ],
  [
    'a chosen primary',
    up('http://a.{default}/') + up('http://b.{default}/x', 'other', ', primary: true'),
    production,
    ['http://a.example.com/ app:http', 'http://b.example.com/x/ other:http *'],
  ],
  [
    'wildcards',
    up('https://*.{default}/'),
    preview,
    ['https://*.main-x.test/ app:http *', 'http://*.main-x.test/ redirect https://*.main-x.test/'],
  ],
  [
    'hosts of production in a preview',
    up('http://example.com/') +
      up('http://api.example.com/', 'other') +
      to('http://www.example.com/', 'http://example.com/shop') +
      to('http://example.org/', 'http://elsewhere.net/'),
    preview,
    [
      'http://main-x.test/ app:http *',
      'http://api.main-x.test/ other:http',
      'http://www.main-x.test/ redirect http://main-x.test/shop',
      'http://example.org.main-x.test/ redirect http://elsewhere.net/',
    ],
  ],
  [
    'a host and the default in a preview',
    up('http://example.com/', 'other') + up('http://{default}/'),
    preview,
    ['http://main-x.test/ app:http'],
  ],
  [
    'hosts in a preview of a project without domains',
    up('http://www.shop.net/') + up('http://shop.net/', 'other') + up('http://*.shop.net/'),
    { ...preview, production: { defaultDomain: 'shop.net', domains: [] } },
    ['http://www.main-x.test/ app:http *', 'http://main-x.test/ other:http', 'http://*.main-x.test/ app:http'],
  ],
  [
    'a domain that stands in',
    up('http://example.com/'),
    { ...preview, replacements: { 'example.com': 'stage.example.net' } },
    ['http://stage.example.net/ app:http *'],
  ],
  [
    'a domain that is a wildcard, before which nothing can be',
    up('http://{default}/') + up('http://www.{default}/', 'other') + up('http://*.{all}/', 'other'),
    { ...production, defaultDomain: '*.example.com', domains: ['*.example.com'] },
    ['http://*.example.com/ app:http *'],
  ],
  [
    'placeholders in a preview, where domains stand in for some of production',
    up('http://{default}/') + up('http://{all}/api', 'other'),
    { ...preview, replacements: { 'example.com': 'stage.example.net' } },
    [
      'http://stage.example.net/ app:http *',
      'http://main-x.test/ app:http',
      'http://stage.example.net/api/ other:http',
      'http://main-x.test/api/ other:http',
    ],
  ],
  [
    'a domain that stands in for one that is not the default',
    up('http://{default}/') + up('http://{all}/api', 'other'),
    { ...preview, replacements: { 'example.org': 'stage.example.net' } },
    ['http://main-x.test/ app:http *', 'http://stage.example.net/api/ other:http', 'http://main-x.test/api/ other:http'],
  ],
  [
    'TLS that is off, at another port',
    up('https://{default}/') + to('http://{default}/', 'https://{default}/') + to('https://www.{default}/', 'https://{default}/'),
    { ...bare, scheme: 'http', ports: { http: 8080 } },
    ['http://main-x.test:8080/ app:http *', 'http://www.main-x.test:8080/ redirect http://main-x.test:8080/'],
  ],
  [
    'both ports moved',
    up('https://{default}/'),
    { ...bare, ports: { http: 8080, https: 8443 } },
    ['https://main-x.test:8443/ app:http *', 'http://main-x.test:8080/ redirect https://main-x.test:8443/'],
  ],
  [
    'a proxy',
    `  http://{default}/: {type: proxy, to: 'https://api.elsewhere.net'}\n`,
    production,
    ['http://example.com/ proxy https://api.elsewhere.net'],
  ],
])('%s', async ([, lines, hosts, expected]) => {
  expect(await resolved(lines, hosts)).toEqual(expected);
});

test('a resolved route says what it was, and where production has it', async () => {
  const routes = await routesOf(
    `  https://www.{default}/: {type: upstream, upstream: app, id: main, redirects: {paths: {/a: {to: 'https://{default}/b', code: 301}}}}`,
  );
  const { 'https://www.main-x.test/': route, 'http://www.main-x.test/': plain } = resolveRoutes(routes, preview, {
    ...shared,
    restrict_robots: true,
  });
  expect(route).toMatchObject({
    id: 'main',
    primary: true,
    original_url: 'https://www.{default}/',
    production_url: 'https://www.example.com/',
    restrict_robots: true,
    redirects: {
      expires: '-1s',
      paths: {
        '/a': {
          to: 'https://{default}/b'.replace('{default}', 'main-x.test'),
          code: 301,
          prefix: true,
          append_suffix: true,
          expires: null,
        },
      },
    },
  });
  expect(plain).toMatchObject({
    id: null,
    primary: false,
    original_url: 'http://www.{default}/',
    production_url: 'http://www.example.com/',
  });
});

test('one application without routes is reached at the default host; of several none is', async () => {
  const one = await modelOf({ '.upsun/config.yaml': 'applications: {app: {type: "static:1"}}\nroutes: {}' });
  expect(one.routes).toMatchObject({ 'https://{default}/': { type: 'upstream', upstream: 'app:http' } });
  const two = await modelOf({ '.upsun/config.yaml': 'applications: {a: {type: "static:1"}, b: {type: "static:1"}}' });
  expect(two.routes).toEqual({});
});

test('only what a build sees makes another build', async () => {
  const base = {
    type: 'nodejs:22',
    hooks: { build: 'make', deploy: 'x' },
    variables: { env: { A: '1' } },
    workers: { w: { commands: { start: 'x' } } },
  };
  const appOf = async (change: object): Promise<App> => {
    const { applications } = await modelOf({ '.upsun/config.yaml': JSON.stringify({ applications: { app: { ...base, ...change } } }) });
    if (!applications['app']) throw new Error('no app');
    return applications['app'];
  };
  const buildVariables = [
    { name: 'env:B', value: '2', is_json: false },
    { name: 'env:A', value: '1', is_json: false },
  ];
  const facts = { treeId: 'abc', buildVariables, secret: 'project' };
  const app = await appOf({});
  const identity = buildIdentity(app, facts);
  expect(identity).toMatch(/^app-abc-[0-9a-f]{64}$/);
  expect(buildIdentity(app, { ...facts, buildVariables: buildVariables.toReversed() })).toBe(identity);
  for (const change of [
    { crons: { c: { spec: '0 0 * * *', cmd: 'x' } } },
    { web: { commands: { start: 'y' } } },
    { hooks: { build: 'make', deploy: 'z' } },
  ]) {
    expect(buildIdentity(await appOf(change), facts)).toBe(identity);
    expect(configIdentity(await appOf(change))).not.toBe(configIdentity(app));
  }
  for (const change of [
    { type: 'nodejs:24' },
    { hooks: { build: 'make all' } },
    { variables: { env: { A: '2' } } },
    { dependencies: { nodejs: { yarn: '*' } } },
  ]) {
    expect(buildIdentity(await appOf(change), facts)).not.toBe(identity);
  }
  expect(buildIdentity(app, { ...facts, buildVariables: buildVariables.slice(1) })).not.toBe(identity);
  expect(buildIdentity(app, { ...facts, secret: 'another' })).not.toBe(identity);
  expect(workersOf(app)).toMatchObject({
    'app--w': { name: 'app--w', app: 'app', type: 'nodejs:22', worker: { commands: { start: 'x' } } },
  });
});

test.for<[string, object | string]>([
  ['*/15 0-6/2 1,15 jan-mar mon', { minutes: [0, 15, 30, 45], hours: [0, 2, 4, 6], days: [1, 15], months: [1, 2, 3], weekdays: [1] }],
  ['H H * * 7', { minutes: [7], hours: [7], weekdays: [0], anyDay: true, anyWeekday: false }],
  ['H/20 H(3-5) * * *', { minutes: [7, 27, 47], hours: [5] }],
  ['0 0 30 2 *', 'expected a day that comes, not 30 of month 2'],
  ['0 24 * * *', 'expected 0 to 23 for the hour, not "24"'],
  ['5-1 * * * *', 'expected 0 to 59 for the minute, not "5-1"'],
  ['*/0 * * * *', 'expected 0 to 59 for the minute, not "*/0"'],
  ['@daily', 'expected five fields: minute, hour, day, month, day of the week'],
])('the schedule %s', ([spec, expected]) => {
  const parsed = parseCron(spec, (first, last) => Math.min(Math.max(first, 7), last));
  expect(typeof parsed === 'string' ? { parsed } : parsed).toMatchObject(typeof expected === 'string' ? { parsed: expected } : expected);
});

test.for([
  ['* * * * *', 1],
  ['58,2 * * * *', 4],
  ['58,2 3 * * *', 56],
  ['H 3 * * *', 1440],
  ['*/5 * * * *', 5],
] as const)('%s runs every %i minutes at most', ([spec, minutes]) => {
  const parsed = parseCron(spec);
  expect(typeof parsed === 'string' ? parsed : intervalMinutes(parsed)).toBe(minutes);
});
