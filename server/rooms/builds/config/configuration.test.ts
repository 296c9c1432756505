/** The language: what files say, and what is said about them. */
import { expect, test } from 'vitest';
import { checkNames } from '../../../catalogue/service.ts';
import { app, inApp, modelOf, read, readText, said } from './test-trees.ts';

const errorsOf = async (yaml: string) => said((await readText(yaml)).errors);

const shop = `
.defaults: &limits {ssh: viewer}
applications:
  shop:
    type: php:8.2
    source:
      root: shop
      operations: {update: {command: composer update}}
    access: *limits
    container_profile: HIGH_CPU
    relationships:
      db:
      cache: {service: redis}
      old: "db:reporter"
      api: {service: api, endpoint: http}
    mounts:
      var/cache/: {source: instance}
      "/public/uploads": {source: storage, source_path: files}
    variables:
      env: {APP_ENV: prod, LIMIT: 5}
      php: {memory_limit: 256M}
    web:
      commands: {post_start: ./ready.sh}
      locations:
        /:
          root: public
          passthru: /index.php
          index: [index.php]
          expires: -1
          headers: {X-Frame-Options: DENY}
          rules: {'[.](jpe?g|png)$': {expires: 2w, allow: true}}
        /api: {passthru: true, scripts: false, request_buffering: {enabled: false}}
    workers:
      queue:
        commands: {start: php worker.php}
        variables: {env: {QUEUE: mail}}
    crons:
      nightly: {spec: H 3 * * *, commands: {start: php cron.php, stop: php stop.php}, timeout: 600}
    hooks:
      build: npm run assets
      sanitize: php anonymise.php
    dependencies: {nodejs: {yarn: 1.10}}
    runtime:
      extensions: [redis, {name: blackfire, configuration: {server_id: x}}]
      sizing_hints: {request_memory: 60}
    timezone: Europe/Paris
    firewall: {outbound: [{domains: [api.example.com], ports: [443]}, {ips: [10.0.0.1]}]}
    additional_hosts: {legacy.internal: 10.1.2.3}
    operations: {clear: {role: admin, commands: {start: php clear.php}}}
  api:
    type: golang:1.23
    source: {root: api}
    web: {commands: {start: ./bin/app}}
services:
  db:
    type: mariadb:10.11
    configuration:
      schemas: [main, legacy]
      endpoints:
        mysql: {default_schema: main, privileges: {main: admin, legacy: rw}}
        reporter: {privileges: {main: ro}}
  redis: {type: 'redis-persistent:7.0', configuration: {maxmemory_policy: noeviction}}
routes:
  https://www.{default}: {type: upstream, upstream: shop, cache: {cookies: [session]}, id: main}
  https://{default}/: {type: redirect, to: 'https://www.{default}/'}
tasks:
  import: {type: 'python:3.11', run: {command: python3 import.py}, relationships: {db: 'db:reporter'}}
`;

test('an application with everything comes out with every key, its defaults, and one form for each', async () => {
  const { applications, services, routes, tasks } = await modelOf({ '.upsun/config.yaml': shop, 'shop/x': '', 'api/x': '' });
  expect(applications['shop']).toMatchObject({
    name: 'shop',
    source: { root: '/shop', operations: { update: { command: 'composer update' } } },
    access: { ssh: 'viewer' },
    relationships: {
      db: { service: 'db', endpoint: 'mysql' },
      cache: { service: 'redis', endpoint: 'redis' },
      old: { service: 'db', endpoint: 'reporter' },
      api: { service: 'api', endpoint: 'http' },
    },
    mounts: {
      '/var/cache': { source: 'instance', source_path: 'var/cache', service: null },
      '/public/uploads': { source: 'storage', source_path: 'files', service: null },
    },
    web: {
      commands: { pre_start: null, start: null, post_start: './ready.sh' },
      upstream: { socket_family: 'unix', protocol: 'fastcgi' },
      locations: {
        '/': { root: 'public', expires: '-1s', scripts: true, rules: { '[.](jpe?g|png)$': { expires: '2w', allow: true } } },
        '/api': {
          root: null,
          index: null,
          passthru: true,
          scripts: false,
          request_buffering: { enabled: false, max_request_size: '250m' },
        },
      },
    },
    crons: { nightly: { spec: 'H 3 * * *', shutdown_timeout: 10, timeout: 600 } },
    hooks: { build: 'npm run assets', deploy: null, post_deploy: null, sanitize: 'php anonymise.php' },
    build: { flavor: 'composer', caches: {} },
    // As written: 1.10 is not 1.1.
    dependencies: { nodejs: { yarn: '1.10' } },
    runtime: {
      extensions: [
        { name: 'redis', configuration: {} },
        { name: 'blackfire', configuration: { server_id: 'x' } },
      ],
      sizing_hints: { request_memory: 60, reserved_memory: 70 },
    },
    firewall: {
      outbound: [
        { protocol: 'tcp', ips: [], domains: ['api.example.com'], ports: [443] },
        { protocol: 'tcp', ips: ['10.0.0.1/32'], domains: [], ports: [] },
      ],
    },
    operations: { clear: { role: 'admin', commands: { start: 'php clear.php', stop: null }, timeout: null } },
    size: 'AUTO',
    disk: null,
  });
  expect(applications['shop']?.workers['queue']).toMatchObject({
    variables: { env: { QUEUE: 'mail' } },
    relationships: applications['shop']?.relationships,
    worker: { commands: { start: 'php worker.php', pre_start: null, post_start: null }, disk: null },
  });
  expect(services['db']).toMatchObject({
    databases: ['main', 'legacy'],
    endpoints: {
      mysql: { default_database: 'main', privileges: { main: 'admin', legacy: 'rw' } },
      reporter: { default_database: null, privileges: { main: 'ro' } },
    },
  });
  expect(routes).toMatchObject({
    'https://www.{default}/': { upstream: 'shop:http', id: 'main', cache: { enabled: true, default_ttl: 0, cookies: ['session'] } },
    'https://{default}/': { type: 'redirect', to: 'https://www.{default}/', redirects: { expires: '-1s', paths: {} } },
  });
  expect(tasks['import']).toMatchObject({
    name: 'import',
    run: { timeout: 86_400 },
    hooks: { build: null, deploy: null },
    authorizations: [],
  });
});

test('what web says replaces what the app says for web, and not for workers', async () => {
  const yaml = `applications:
  app:
    type: nodejs:22
    variables: {env: {A: app}}
    web: {commands: {start: x}, variables: {env: {B: web}}}
    workers: {w: {commands: {start: y}}}
`;
  const { applications } = await modelOf({ '.upsun/config.yaml': yaml });
  expect(applications['app']?.variables).toEqual({ env: { B: 'web' } });
  expect(applications['app']?.workers['w']?.variables).toEqual({ env: { A: 'app' } });
});

test('the legacy files say the same as the folder, with sizes as hints', async () => {
  const modern = await modelOf({
    '.offshoot/a.yaml': `applications:
  one:
    type: nodejs:22
    source: {root: one}
    relationships: {db: }
    mounts: {/files: {source: storage, source_path: up}, /data: {source: storage}}
    web: {commands: {start: node .}}
  two: {type: 'static:1', source: {root: two}, web: {locations: {/: {root: ''}}}}
`,
    '.offshoot/b.yml': `services: {db: {type: 'postgresql:17'}}\nroutes: {'https://{default}/': {type: upstream, upstream: 'one:http'}}`,
    'one/x': '',
    'two/x': '',
  });
  const legacy = await modelOf({
    'one/.platform.app.yaml': `name: one
type: nodejs:22
size: S
disk: 512
relationships: {db: 'db:postgresql'}
mounts: {files: 'shared:files/up', data: {source: local}}
web: {commands: {start: node .}}
`,
    '.platform/applications.yaml': `- {name: two, type: 'static:1', source: {root: /two/}, web: {locations: {/: {root: /}}}}`,
    '.platform/services.yaml': `db: {type: 'postgresql:17', disk: 1024}`,
    '.platform/routes.yaml': `https://{default}/: {type: upstream, upstream: one:http}`,
    'two/x': '',
  });
  const [one, db] = [modern.applications['one'], modern.services['db']];
  expect(one).toBeDefined();
  expect(db).toBeDefined();
  expect(legacy).toEqual({
    ...modern,
    applications: { ...modern.applications, one: { ...one, size: 'S', disk: 512 } },
    services: { db: { ...db, disk: 1024 } },
  });
});

test('files of the folder are taken in order; what is there again replaces the whole, with a warning', async () => {
  const { model, warnings } = await read({
    '.upsun/10-first.yaml': app,
    '.upsun/20-second.yaml': `applications: {app: {type: 'nodejs:24', web: {commands: {start: other}}}}`,
    '.upsun/folder/30-third.yaml': 'applications: {ignored: 5}',
    '.upsun/README.md': 'no YAML: [',
  });
  expect(model?.applications['app']).toMatchObject({ type: 'nodejs:24', web: { commands: { start: 'other' } } });
  expect(said(warnings)).toEqual([
    '.upsun/20-second.yaml:1:16 applications.app: This replaces the whole of "app" in .upsun/10-first.yaml.',
  ]);
});

test('a file that is no configuration by itself is included by another, or wrong', async () => {
  const files = { '.upsun/config.yaml': `${app}services: {db: !include db.yaml}`, '.upsun/db.yaml': 'type: postgresql:17' };
  expect((await modelOf(files)).services['db']?.type).toBe('postgresql:17');
  const { errors } = await read({ ...files, '.upsun/more.yaml': 'serivces: {}\ntype: x' });
  expect(said(errors)).toEqual([
    '.upsun/more.yaml:1:1 serivces: Found the unknown key "serivces" (did you mean "services"?), expected one of applications, services, routes, tasks.',
    '.upsun/more.yaml:2:1 type: Found the unknown key "type", expected one of applications, services, routes, tasks.',
  ]);
});

test('a repository has one configuration', async () => {
  const both = await read({ '.upsun/config.yaml': app, '.platform.app.yaml': 'name: app' });
  expect(said(both.errors)).toEqual([".platform:1:1 : Found configuration in both '.upsun' and '.platform', expected it in one of them."]);
  expect(said((await read({ 'index.html': '' })).errors)).toEqual([".upsun:1:1 : Configuration directory '.upsun' not found."]);
  expect(said((await read({ '.upsun/config.yaml': 'services: {}' })).errors)).toEqual([
    '1:1 applications: Found no applications, expected at least one.',
  ]);
});

test('services without a configuration get a database and an endpoint; names are what drivers take', async () => {
  const { services } = await modelOf({
    '.upsun/config.yaml': `${app}services:
  maria: {type: mysql:10.11}
  post: {type: postgresql:17}
  databases: {type: postgresql:17, configuration: {databases: [a, b]}}
  endpoints: {type: postgresql:17, configuration: {endpoints: {x: {default_database: main, privileges: {main: rw}}}}}
  rabbit: {type: rabbitmq:3.10, configuration: {vhosts: [two]}}
  memory: {type: memcached:1.6}
`,
  });
  expect(Object.fromEntries(Object.entries(services).map(([name, { databases, endpoints }]) => [name, { databases, endpoints }]))).toEqual({
    maria: { databases: ['main'], endpoints: { mysql: { default_database: 'main', privileges: { main: 'admin' } } } },
    post: { databases: ['main'], endpoints: { postgresql: { default_database: 'main', privileges: { main: 'admin' } } } },
    databases: { databases: ['a', 'b'], endpoints: { main: { default_database: 'a', privileges: { a: 'admin', b: 'admin' } } } },
    endpoints: { databases: ['main'], endpoints: { x: { default_database: 'main', privileges: { main: 'rw' } } } },
    rabbit: { databases: ['/', 'two'], endpoints: { rabbitmq: { default_database: '/', privileges: { '/': 'admin', two: 'admin' } } } },
    memory: { databases: [], endpoints: { memcached: { default_database: null, privileges: {} } } },
  });
  for (const { databases, endpoints } of Object.values(services)) {
    checkNames({ databases, accounts: Object.entries(endpoints).map(([name, { privileges }]) => ({ name, password: '', privileges })) });
  }
});

test('files are included as text, in base64 or as YAML, from the source root or the folder of the configuration', async () => {
  const files = {
    'api/build.sh': 'make\n',
    'shared/crons.yaml': 'nightly: {spec: 0 3 * * *, commands: {start: !include {type: string, path: ../shared/start.sh}}}',
    'shared/start.sh': './start',
    '.upsun/app/api.yaml': 'type: nodejs:22\nsource: {root: api}\nhooks: {build: !include {type: string, path: build.sh}}',
    '.upsun/db.yaml': 'type: postgresql:17',
    '.upsun/config.yaml': `
applications:
  api: !include app/api.yaml
  web:
    type: nodejs:22
    source: {root: api}
    crons: !include ../shared/crons.yaml
    variables: {env: {LOGO: !include {type: binary, path: build.sh}}}
services:
  db: !include db.yaml
`,
  };
  const { applications, services } = await modelOf(files);
  expect(applications['api']?.hooks.build).toBe('make\n');
  expect(applications['web']?.crons['nightly']?.commands.start).toBe('./start');
  expect(applications['web']?.variables).toEqual({ env: { LOGO: 'bWFrZQo=' } });
  expect(services['db']?.type).toBe('postgresql:17');
});

test('a folder is taken as a whole, from where the file is that names it', async () => {
  const yaml = `${app}services: {db: {type: 'mariadb:10.11', configuration: {properties: {files: !archive "conf"}}}}`;
  const { services } = await modelOf({ '.upsun/config.yaml': yaml, '.upsun/conf/a.txt': 'a', '.upsun/conf/sub/b.txt': 'b', 'conf/c': '' });
  expect(services['db']?.configuration).toEqual({ properties: { files: { 'a.txt': 'YQ==', 'sub/b.txt': 'Yg==' } } });
});

test.for([
  ['../../etc/passwd', 'Found the path "../../etc/passwd", expected one that stays in the repository.'],
  ['missing.sh', 'There is no file "missing.sh" in the repository.'],
  ['.upsun/config.yaml', 'Found a circle: .upsun/config.yaml includes .upsun/config.yaml.'],
])('an include of %s is refused where it stands', async ([path, message]) => {
  expect(await errorsOf(inApp(`crons: !include ${path}`))).toEqual([`5:21 applications.app.crons: ${message}`]);
});

test('anchors, aliases and merges work as in any YAML', async () => {
  const { applications } = await modelOf({
    '.upsun/config.yaml': `
.base: &base {type: 'nodejs:22', timezone: Europe/Paris, web: {commands: {start: node .}}}
applications:
  one: *base
  two: {<<: *base, timezone: UTC}
routes: {'https://{default}/': {type: upstream, upstream: one}}
`,
  });
  expect([applications['one']?.timezone, applications['two']?.timezone]).toEqual(['Europe/Paris', 'UTC']);
  expect(applications['two']?.web).toEqual(applications['one']?.web);
});
