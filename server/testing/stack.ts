/** A stack for tests: a shop with two apps, a worker, and three services, in the environment `main` of a project. */
import type { App, Location, ProjectModel, ResolvedRoute, Route, Service, Task, UpstreamRoute, Worker } from '../rooms/builds/public.ts';
import type { Stack } from '../rooms/deployments/public.ts';

const instance = {
  relationships: {},
  mounts: {},
  variables: {},
  additional_hosts: {},
  container_profile: null,
  access: { ssh: 'contributor' },
  firewall: null,
  size: 'AUTO',
  disk: null,
  resources: null,
} as const;

export const location = (fields: Partial<Location> = {}): Location => ({
  root: null,
  index: null,
  expires: '-1s',
  passthru: true,
  scripts: false,
  allow: true,
  headers: {},
  rules: {},
  request_buffering: { enabled: true, max_request_size: '250m' },
  ...fields,
});

export const app = (name: string, fields: Partial<App> = {}): App => ({
  ...instance,
  name,
  type: 'nodejs:24',
  source: { root: '/', operations: {} },
  web: {
    commands: { pre_start: null, start: 'node server.js', post_start: null },
    upstream: { socket_family: 'tcp', protocol: 'http' },
    locations: { '/': location() },
    move_to_root: false,
  },
  workers: {},
  crons: {},
  hooks: { build: null, deploy: null, post_deploy: null, sanitize: null },
  dependencies: {},
  build: { flavor: 'default', caches: {} },
  timezone: null,
  operations: {},
  runtime: {},
  preflight: { enabled: true, ignored_rules: [] },
  ...fields,
});

export const worker = (fields: Partial<Worker> = {}): Worker => ({
  ...instance,
  worker: { commands: { pre_start: null, start: 'node queue.js', post_start: null }, disk: null },
  ...fields,
});

export const task = (name: string, fields: Partial<Task> = {}): Task => ({
  name,
  type: 'nodejs:24',
  source: { root: '/' },
  relationships: {},
  mounts: {},
  variables: {},
  additional_hosts: {},
  container_profile: null,
  hooks: { build: null, deploy: null },
  run: { command: 'node report.js', timeout: 3600 },
  timezone: null,
  dependencies: {},
  runtime: {},
  build: { flavor: 'none', caches: {} },
  resources: null,
  authorizations: [],
  ...fields,
});

export const service = (name: string, type: string, fields: Partial<Service> = {}): Service => ({
  name,
  type,
  configuration: {},
  relationships: {},
  container_profile: null,
  size: 'AUTO',
  disk: null,
  databases: [],
  endpoints: {},
  extensions: [],
  ...fields,
});

export const database = (name: string, fields: Partial<Service> = {}): Service =>
  service(name, 'postgresql:17', {
    databases: ['main'],
    endpoints: { postgresql: { default_database: 'main', privileges: { main: 'admin' } } },
    ...fields,
  });

export const cache = (name: string): Service =>
  service(name, 'redis:8.0', { endpoints: { redis: { default_database: null, privileges: {} } } });

export const route = (fields: Partial<UpstreamRoute> = {}): UpstreamRoute => ({
  id: null,
  primary: null,
  attributes: {},
  tls: {
    min_version: null,
    client_authentication: null,
    client_certificate_authorities: [],
    strict_transport_security: { enabled: null, include_subdomains: null, preload: null },
  },
  type: 'upstream',
  upstream: 'shop:http',
  cache: { enabled: true, default_ttl: 0, cookies: ['*'], headers: ['Accept', 'Accept-Language'] },
  ssi: { enabled: false },
  sticky: { enabled: false },
  redirects: { expires: '-1s', paths: {} },
  ...fields,
});

const open = { is_enabled: true, addresses: [], basic_auth: {} };

export const resolved = (original_url: string, fields: Partial<UpstreamRoute> = {}): ResolvedRoute => ({
  ...route(fields),
  primary: fields.primary ?? false,
  production_url: null,
  original_url,
  restrict_robots: true,
  http_access: open,
});

const redirectRoute = (to: string): Extract<Route, { type: 'redirect' }> => {
  const { upstream: _upstream, cache: _cache, ssi: _ssi, sticky: _sticky, ...rest } = route();
  return { ...rest, type: 'redirect', to };
};

const redirectTo = (to: string, original_url: string): ResolvedRoute => ({
  ...redirectRoute(to),
  primary: false,
  production_url: null,
  original_url,
  restrict_robots: true,
  http_access: open,
});

const storage = { source: 'storage', source_path: 'uploads', service: null } as const;

export const shop = (): ProjectModel => ({
  applications: {
    shop: app('shop', {
      relationships: {
        database: { service: 'db', endpoint: 'postgresql' },
        'page-cache': { service: 'cache', endpoint: 'redis' },
        api: { service: 'api', endpoint: 'http' },
      },
      mounts: { '/public/uploads': storage },
      workers: {
        queue: worker({ relationships: { database: { service: 'db', endpoint: 'postgresql' } } }),
      },
    }),
    api: app('api', { type: 'python:3.13', source: { root: '/api', operations: {} } }),
  },
  services: { db: database('db'), cache: cache('cache'), memory: service('memory', 'memcached:1.6') },
  routes: {
    'https://{default}/': route({ id: 'front' }),
    'https://{default}/api/': route({ upstream: 'api:http' }),
    'https://www.{default}/': redirectRoute('https://{default}/'),
  },
  tasks: {},
});

/** The host of the sample stack, unless it is given another project or environment. */
export const host = 'main-bvxea6i-abcdefghij234.offshoot.localhost';

export function sampleStack(model: ProjectModel = shop(), changes: Partial<Stack> = {}): Stack {
  const slug = (name: string) => ({
    slug_id: `project-${name}-tree-config`,
    tree_id: 'c'.repeat(40),
    config_id: `config-${name}`,
    volume: name,
  });
  const project = changes.project ?? {
    id: 'abcdefghij234',
    title: 'Shop',
    organization_id: '01K00000000000000000000000',
    entropy: 'E'.repeat(56),
  };
  const environment = changes.environment ?? { id: 'main', machine_name: 'main-bvxea6i', type: 'production', is_main: true };
  const own = `${environment.machine_name}-${project.id}.offshoot.localhost`;
  return {
    id: 'stackstackaaa',
    deployment: { id: 'deploymentaaa', number: 3, created_at: '2026-11-15T09:00:00.123456+00:00' },
    project,
    environment,
    commit_id: 'a'.repeat(40),
    model,
    slugs: Object.fromEntries(Object.keys(model.applications).map((name) => [name, slug(name)])),
    sizes: {
      services: {
        db: { profile_size: '0.5', instance_count: 1, disk: 512 },
        cache: { profile_size: '0.1', instance_count: 1, disk: null },
        memory: { profile_size: '0.1', instance_count: 1, disk: null },
      },
      webapps: {
        shop: { profile_size: '1', instance_count: 2, disk: 1024 },
        api: { profile_size: '0.5', instance_count: 1, disk: null },
      },
      workers: { 'shop--queue': { profile_size: '0.5', instance_count: 1, disk: null } },
      tasks: {},
    },
    routes: {
      [`https://${own}/`]: { ...resolved('https://{default}/', { id: 'front' }), primary: true },
      [`https://${own}/api/`]: resolved('https://{default}/api/', { upstream: 'api:http' }),
      [`https://www.${own}/`]: redirectTo(`https://${own}/`, 'https://www.{default}/'),
      [`http://${own}/`]: redirectTo(`https://${own}/`, 'http://{default}/'),
      [`http://${own}/api/`]: redirectTo(`https://${own}/api/`, 'http://{default}/api/'),
      [`http://www.${own}/`]: redirectTo(`https://www.${own}/`, 'http://www.{default}/'),
    },
    settings: { http_access: open, enable_smtp: true, restrict_robots: true },
    secrets: {
      variables: [],
      accounts: { db: { postgresql: { name: 'main', password: 'pass-of-db', privileges: { main: 'admin' } } } },
    },
    ...changes,
  };
}
