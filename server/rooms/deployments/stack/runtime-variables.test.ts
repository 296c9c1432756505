import { describe, expect, test } from 'vitest';
import type { ProjectModel } from '../../builds/public.ts';
import type { EffectiveVariable } from '../../variables/public.ts';
import { accessOf, accountsFor } from '../deploy/accounts.ts';
import { internalNamesOf, relationshipsOf, type Endpoints } from './relationships.ts';
import type { Stack } from './stack.ts';
import { workersIn } from './workers.ts';
import { app, cache, database, host, location, sampleStack, service, shop, task, worker } from '../../../testing/stack.ts';
import { runtimeFiles } from './runtime-files.ts';
import { variablesNamed, runtimeVariables, sensitiveValues } from './runtime-variables.ts';

const addresses = { db: ['10.1.0.2'], cache: ['10.1.0.3'], api: ['10.1.0.4', '10.1.0.5'] };

const variable = (name: string, value: string, fields: Partial<EffectiveVariable> = {}): EffectiveVariable => ({
  name,
  value,
  is_json: false,
  is_sensitive: false,
  visible_build: false,
  visible_runtime: true,
  application_scope: [],
  ...fields,
});

const withVariables = (...variables: EffectiveVariable[]) => {
  const stack = sampleStack();
  return { ...stack, secrets: { ...stack.secrets, variables } };
};

function told(stack: Stack, name = 'shop') {
  const container = stack.model.applications[name] ?? workersIn(stack.model)[name];
  if (!container) throw new Error(`The stack has no ${name}`);
  return runtimeVariables(stack, container, relationshipsOf(stack, container, addresses));
}

const decoded = (text: string | undefined) => JSON.parse(Buffer.from(text ?? '', 'base64').toString());

describe('accounts', () => {
  test('are one for each endpoint, under the name that people expect, with a password that stays', () => {
    const first = accountsFor(shop().services);
    expect(first).toEqual({
      db: { postgresql: { name: 'main', password: expect.stringMatching(/^[\w-]{32}$/), privileges: { main: 'admin' } } },
    });
    expect(accountsFor(shop().services, first)).toEqual(first);
    expect(accountsFor(shop().services)).not.toEqual(first);
  });

  test('change what they may, keep their password, and go with their endpoint', () => {
    const reporting = (privilege: 'ro' | 'rw') => ({
      db: database('db', {
        endpoints: {
          admin: { default_database: 'main', privileges: { main: 'admin' } },
          reports: { default_database: null, privileges: { main: privilege } },
        },
      }),
    });
    const before = accountsFor(reporting('ro'));
    const after = accountsFor(reporting('rw'), before);
    expect(after['db']?.['reports']).toEqual({ ...before['db']?.['reports'], privileges: { main: 'rw' } });
    expect(Object.keys(accountsFor(shop().services, after)['db'] ?? {})).toEqual(['postgresql']);
  });

  test('never take the name of another, nor of the database system itself', () => {
    const endpoint = { default_database: null, privileges: {} };
    const names = ['postgresql', 'main', 'postgres', 'pg_monitor', 'public'];
    const db = database('db', { endpoints: Object.fromEntries(names.map((name) => [name, endpoint])) });
    expect(Object.values(accountsFor({ db })['db'] ?? {}).map(({ name }) => name)).toEqual([
      'postgresql',
      'main',
      'account_postgres',
      'account_pg_monitor',
      'account_public',
    ]);
  });

  test('are told to the driver with all databases and extensions there are to be', () => {
    const db = database('db', { databases: ['main', 'legacy'], extensions: ['hstore'] });
    const accounts = accountsFor({ db });
    expect(accessOf(db, accounts)).toEqual({
      databases: ['main', 'legacy'],
      accounts: [{ name: 'main', password: expect.any(String), privileges: { main: 'admin' } }],
      extensions: ['hstore'],
    });
    expect(accessOf(cache('cache'), {})).toEqual({ databases: [], accounts: [], extensions: [] });
  });
});

describe('relationships', () => {
  const endpointsOf = (stack: Stack, name = 'shop'): Endpoints => decoded(told(stack, name)['PLATFORM_RELATIONSHIPS']);

  test('tell an app where its services are, and how to sign in', () => {
    expect(endpointsOf(sampleStack())['database']).toEqual([
      {
        username: 'main',
        password: 'pass-of-db',
        scheme: 'pgsql',
        port: 5432,
        path: 'main',
        query: { is_master: true },
        fragment: null,
        rel: 'postgresql',
        service: 'db',
        type: 'postgresql:17',
        host: 'database.internal',
        hostname: 'stackstackaaa.db.service.internal',
        ip: '10.1.0.2',
        instance_ips: ['10.1.0.2'],
        cluster: 'abcdefghij234-main-bvxea6i',
        public: false,
        host_mapped: false,
        epoch: 0,
      },
    ]);
    expect(endpointsOf(sampleStack())['page-cache']).toMatchObject([
      { username: null, password: null, path: null, host: 'page-cache.internal' },
    ]);
  });

  test('lead a task by names that are there already: its own would change what runs', () => {
    const to = { service: 'db', endpoint: 'postgresql' };
    const report = task('report', { relationships: { database: to, store: to } });
    const stack = sampleStack({ ...shop(), tasks: { report } });
    const { PLATFORM_RELATIONSHIPS, ...rest } = runtimeVariables(stack, report, relationshipsOf(stack, report, addresses));
    expect(decoded(PLATFORM_RELATIONSHIPS)).toMatchObject({ database: [{ host: 'database.internal' }], store: [{ host: 'db.internal' }] });
    expect(internalNamesOf(stack, 'db')).toEqual(internalNamesOf(sampleStack(), 'db'));
    expect(rest).toMatchObject({ PLATFORM_APPLICATION_NAME: 'report', PLATFORM_APP_COMMAND: 'node report.js', STORE_HOST: 'db.internal' });
    expect(decoded(rest['PLATFORM_APPLICATION'])).toMatchObject({ name: 'report', run: { timeout: 3600 }, app_dir: '/app' });
    expect(rest).not.toHaveProperty('PORT');
  });

  test('lead to another app where it listens itself', () => {
    const [endpoint] = endpointsOf(sampleStack())['api'] ?? [];
    expect(endpoint).toMatchObject({ scheme: 'http', rel: 'http', host: 'api.internal', port: 8888, type: 'python:3.13', ip: '10.1.0.4' });
    expect(endpoint).not.toHaveProperty('username');
  });

  test('say less of a service that has no accounts, databases or settings', () => {
    const model = shop();
    model.services['memory'] = service('memory', 'memcached:1.6', { endpoints: { memcached: { default_database: null, privileges: {} } } });
    model.applications['api'] = app('api', { relationships: { memory: { service: 'memory', endpoint: 'memcached' } } });
    const [endpoint] = endpointsOf(sampleStack(model), 'api')['memory'] ?? [];
    for (const absent of ['username', 'password', 'path', 'query']) expect(endpoint).not.toHaveProperty(absent);
    expect(told(sampleStack(model), 'api')).toMatchObject({ MEMORY_URL: 'memcached://memory.internal:11211', MEMORY_IP: '' });
  });

  test('are names in the network, as long as a name means one thing there', () => {
    const stack = sampleStack();
    expect(internalNamesOf(stack, 'db')).toEqual(['db.internal', 'stackstackaaa.db.service.internal', 'database.internal']);
    expect(internalNamesOf(stack, 'shop')).toEqual(['shop.internal', 'stackstackaaa.shop.service.internal']);
  });

  test('with one name for different things are told the names of the things', () => {
    const to = (name: string) => ({ database: { service: name, endpoint: 'postgresql' } });
    const model: ProjectModel = {
      ...shop(),
      services: { one: database('one'), two: database('two'), database: database('database') },
      applications: {
        first: app('first', { relationships: to('one') }),
        second: app('second', { relationships: { ...to('two'), one: { service: 'two', endpoint: 'postgresql' } } }),
      },
    };
    const stack = sampleStack(model);
    expect(endpointsOf(stack, 'first')).toMatchObject({ database: [{ host: 'one.internal' }] });
    expect(endpointsOf(stack, 'second')).toMatchObject({ database: [{ host: 'two.internal' }], one: [{ host: 'two.internal' }] });
    expect(internalNamesOf(stack, 'one')).toEqual(['one.internal', 'stackstackaaa.one.service.internal']);
    expect(internalNamesOf(stack, 'database')).toEqual(['database.internal', 'stackstackaaa.database.service.internal']);
  });
});

describe('an app', () => {
  test('is told who and where it is', () => {
    expect(told(sampleStack())).toMatchObject({
      PLATFORM_APP_DIR: '/app',
      PLATFORM_APPLICATION_NAME: 'shop',
      PLATFORM_APP_COMMAND: 'node server.js',
      PLATFORM_BRANCH: 'main',
      PLATFORM_ENVIRONMENT: 'main-bvxea6i',
      PLATFORM_ENVIRONMENT_TYPE: 'production',
      PLATFORM_PROJECT: 'abcdefghij234',
      PLATFORM_PROJECT_ENTROPY: 'E'.repeat(56),
      PLATFORM_SMTP_HOST: 'platform.offshoot.internal',
      PLATFORM_TREE_ID: 'c'.repeat(40),
      PORT: '8888',
    });
    const names = Object.keys(told(sampleStack()));
    for (const absent of ['SOCKET', 'PLATFORM_DOCUMENT_ROOT', 'PLATFORM_PRE_APP_COMMAND', 'CI', 'PLATFORM_CACHE_DIR'])
      expect(names).not.toContain(absent);
  });

  test('is told of nobody who takes mail where its environment sends none', () => {
    const { settings } = sampleStack();
    expect(told(sampleStack(shop(), { settings: { ...settings, enable_smtp: false } }))['PLATFORM_SMTP_HOST']).toBe('');
  });

  test('is told its configuration, and its routes without redirects', () => {
    const variables = told(sampleStack());
    expect(decoded(variables['PLATFORM_APPLICATION'])).toMatchObject({
      name: 'shop',
      type: 'nodejs:24',
      app_dir: '/app',
      tree_id: 'c'.repeat(40),
      relationships: { database: { service: 'db', endpoint: 'postgresql' } },
    });
    const routes = decoded(variables['PLATFORM_ROUTES']);
    expect(routes[`https://${host}/`]).toMatchObject({ primary: true, id: 'front', upstream: 'shop', original_url: 'https://{default}/' });
    expect(routes[`http://${host}/`]).toMatchObject({ type: 'redirect', to: `https://${host}/` });
    for (const route of Object.values(routes))
      for (const field of ['redirects', 'http_access', 'restrict_robots']) expect(route).not.toHaveProperty(field);
  });

  test('that listens on a socket is told which; its files are where it is told', () => {
    const model = shop();
    const web = {
      commands: { pre_start: 'warm up', start: null, post_start: 'wait' },
      upstream: { socket_family: 'unix', protocol: 'fastcgi' },
      locations: { '/': location({ root: 'public' }) },
      move_to_root: false,
    } as const;
    model.applications['shop'] = app('shop', { type: 'php:8.4', web });
    const variables = told(sampleStack(model));
    expect(variables).toMatchObject({
      SOCKET: '/run/app.sock',
      PLATFORM_DOCUMENT_ROOT: '/app/public',
      PLATFORM_PRE_APP_COMMAND: 'warm up',
      PLATFORM_POST_APP_COMMAND: 'wait',
    });
    for (const absent of ['PORT', 'PLATFORM_APP_COMMAND']) expect(Object.keys(variables)).not.toContain(absent);
  });

  test('finds each property of a relationship in a variable of its own', () => {
    const { DATABASE_CLUSTER, ...variables } = told(sampleStack());
    expect(DATABASE_CLUSTER).toBe('abcdefghij234-main-bvxea6i');
    expect(Object.fromEntries(Object.entries(variables).filter(([name]) => /^(DATABASE|PAGE_CACHE)_/.test(name)))).toEqual({
      DATABASE_USERNAME: 'main',
      DATABASE_PASSWORD: 'pass-of-db',
      DATABASE_SCHEME: 'pgsql',
      DATABASE_PORT: '5432',
      DATABASE_PATH: 'main',
      DATABASE_NAME: 'main',
      DATABASE_QUERY: "{'is_master': True}",
      DATABASE_FRAGMENT: '',
      DATABASE_REL: 'postgresql',
      DATABASE_SERVICE: 'db',
      DATABASE_TYPE: 'postgresql:17',
      DATABASE_HOST: 'database.internal',
      DATABASE_HOSTNAME: 'stackstackaaa.db.service.internal',
      DATABASE_IP: '10.1.0.2',
      DATABASE_INSTANCE_IPS: "['10.1.0.2']",
      DATABASE_PUBLIC: 'false',
      DATABASE_HOST_MAPPED: 'false',
      DATABASE_EPOCH: '0',
      DATABASE_URL: 'pgsql://main:pass-of-db@database.internal:5432/main',
      PAGE_CACHE_USERNAME: '',
      PAGE_CACHE_PASSWORD: '',
      PAGE_CACHE_SCHEME: 'redis',
      PAGE_CACHE_PORT: '6379',
      PAGE_CACHE_PATH: '',
      PAGE_CACHE_NAME: '',
      PAGE_CACHE_QUERY: '{}',
      PAGE_CACHE_FRAGMENT: '',
      PAGE_CACHE_REL: 'redis',
      PAGE_CACHE_SERVICE: 'cache',
      PAGE_CACHE_TYPE: 'redis:8.0',
      PAGE_CACHE_HOST: 'page-cache.internal',
      PAGE_CACHE_HOSTNAME: 'stackstackaaa.cache.service.internal',
      PAGE_CACHE_IP: '10.1.0.3',
      PAGE_CACHE_INSTANCE_IPS: "['10.1.0.3']",
      PAGE_CACHE_CLUSTER: 'abcdefghij234-main-bvxea6i',
      PAGE_CACHE_PUBLIC: 'false',
      PAGE_CACHE_HOST_MAPPED: 'false',
      PAGE_CACHE_EPOCH: '0',
      PAGE_CACHE_URL: 'redis://page-cache.internal:6379',
    });
    expect(variables['API_URL']).toBe('http://api.internal:8888');
  });
});

describe('variables', () => {
  test('of the environment come before those of the configuration, and what the platform provides before all', () => {
    const stack = withVariables(
      variable('env:debug', 'from the environment'),
      variable('env:PORT', '1'),
      variable('env:PLATFORM_BRANCH', 'x'),
    );
    stack.model.applications['shop'] = app('shop', { variables: { env: { DEBUG: 'from the file', only_here: 'yes' } } });
    expect(told(stack)).toMatchObject({ DEBUG: 'from the environment', ONLY_HERE: 'yes', PORT: '8888', PLATFORM_BRANCH: 'main' });
    expect(Object.keys(told(stack))).not.toContain('debug');
  });

  test('without the prefix env: are in PLATFORM_VARIABLES, with the structure of their values', () => {
    const stack = withVariables(
      variable('theme', 'dark'),
      variable('feature:limits', '{"a": [1, null]}', { is_json: true }),
      variable('env:LIST', '["a", "b"]', { is_json: true }),
      variable('env:TEXT', '"quoted"', { is_json: true }),
      variable('php:memory_limit', '256M'),
    );
    stack.model.applications['shop'] = app('shop', {
      variables: { feature: { old: true }, env: { nested: { a: [1] } }, php: { memory_limit: '64M' } },
    });
    const variables = told(stack);
    expect(decoded(variables['PLATFORM_VARIABLES'])).toEqual({
      theme: 'dark',
      'feature:limits': { a: [1, null] },
      'feature:old': true,
      'php:memory_limit': '256M',
    });
    expect(variables).toMatchObject({ LIST: '["a","b"]', TEXT: 'quoted', NESTED: '{"a":[1]}' });
    expect(variablesNamed('php:', stack, app('shop'))).toEqual({ memory_limit: '256M' });
  });

  test('are seen at run time, and by the apps they are for, only if they say so', () => {
    const stack = withVariables(
      variable('env:BUILD', '1', { visible_runtime: false }),
      variable('env:API', '1', { application_scope: ['api'] }),
      variable('env:SHOP', '1', { application_scope: ['shop', 'other'] }),
    );
    const seen = (name: string) => Object.keys(told(stack, name)).filter((each) => ['BUILD', 'API', 'SHOP'].includes(each));
    expect([seen('shop'), seen('api'), seen('shop--queue')]).toEqual([['SHOP'], ['API'], ['SHOP']]);
  });
});

describe('files', () => {
  const filesOf = (stack: Stack, name = 'shop') => {
    const container = stack.model.applications[name] ?? app(name);
    return runtimeFiles(stack, container, relationshipsOf(stack, container, addresses), { cpu: 0.5, memoryBytes: 224 * 2 ** 20 });
  };

  test('tell what variables tell, and how large the container is', () => {
    const stack = withVariables(variable('theme', 'dark'), variable('env:PLAIN', 'x'));
    const variables = told(stack);
    const { info, ...rest } = JSON.parse(filesOf(stack)['/run/config.json'] ?? '');
    expect(info).toEqual({ limits: { cpu: 0.5, memory: 224 } });
    expect(rest).toEqual({
      application: decoded(variables['PLATFORM_APPLICATION']),
      relationships: decoded(variables['PLATFORM_RELATIONSHIPS']),
      routes: decoded(variables['PLATFORM_ROUTES']),
      variables: decoded(variables['PLATFORM_VARIABLES']),
    });
    expect(Object.keys(filesOf(stack))).toEqual(['/run/config.json']);
  });

  test('hold the settings of PHP, of which none can be mistaken for another', () => {
    const stack = withVariables(
      variable('php:memory_limit', '256M'),
      variable('php:error_reporting', 'E_ALL & ~E_NOTICE'),
      variable('php:sendmail_path', '/bin/mail -f "a" ; $x'),
      variable('php:user_agent', "it's\nextension=evil.so"),
      variable('php:bad name\nextension=evil.so', 'x'),
    );
    stack.model.applications['shop'] = app('shop', {
      type: 'php:8.4',
      runtime: {
        extensions: [{ name: 'apcu', configuration: { shm_size: '64M', 'apcu.enabled': true } }],
        disabled_extensions: [],
        request_terminate_timeout: null,
        sizing_hints: { request_memory: 45, reserved_memory: 70 },
      },
    });
    expect(filesOf(stack)['/run/php.ini']).toBe(`apcu.shm_size = 64M
apcu.enabled = true
memory_limit = 256M
error_reporting = E_ALL & ~E_NOTICE
sendmail_path = '/bin/mail -f "a" ; $x'
user_agent = "it's extension=evil.so"
`);
  });
});

test('what is too long for a variable is refused by its name, before anything is started with it', () => {
  expect(() => told(withVariables(variable('env:FITS', 'x'.repeat(131_066))))).not.toThrow();
  expect(() => told(withVariables(variable('env:FITS', 'x'.repeat(131_067))))).toThrow(/^Invalid deployment: 'shop' cannot be told FITS, /);
});

test('a worker is told of its app, its own command and its own relationships, and of no port', () => {
  const model = shop();
  const commands = { pre_start: null, start: 'node queue.js', post_start: null };
  model.applications['shop'] = app('shop', {
    workers: { queue: worker({ worker: { commands, disk: null }, relationships: { jobs: { service: 'cache', endpoint: 'redis' } } }) },
  });
  const variables = told(sampleStack(model), 'shop--queue');
  expect(variables).toMatchObject({ PLATFORM_APPLICATION_NAME: 'shop', PLATFORM_APP_COMMAND: 'node queue.js', JOBS_HOST: 'jobs.internal' });
  expect(decoded(variables['PLATFORM_APPLICATION'])).toMatchObject({ name: 'shop--queue', app: 'shop', worker: { commands } });
  for (const absent of ['PORT', 'SOCKET', 'DATABASE_HOST']) expect(Object.keys(variables)).not.toContain(absent);
});

test('what must not be seen in logs is known: passwords, sensitive values, their lines and the texts in them', () => {
  const stack = withVariables(
    variable('env:KEY', 'first line\nsecond line', { is_sensitive: true }),
    variable('credentials', '{"token": "in-the-json", "n": 1}', { is_sensitive: true, is_json: true }),
    variable('env:SHORT', 'abc', { is_sensitive: true }),
    variable('env:PLAIN', 'nothing secret'),
  );
  stack.settings = { ...stack.settings, http_access: { is_enabled: true, addresses: [], basic_auth: { ada: 'of-basic-auth' } } };
  const hidden = sensitiveValues(stack);
  expect(hidden).toEqual(expect.arrayContaining(['second line', 'in-the-json', 'pass-of-db', 'of-basic-auth', 'E'.repeat(56)]));
  for (const shown of ['abc', 'nothing secret']) expect(hidden).not.toContain(shown);
  expect(hidden).toEqual(hidden.toSorted((a, b) => b.length - a.length));
});
