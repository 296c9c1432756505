import { beforeAll, describe, expect, test } from 'vitest';
import { deploySample } from '../../testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { fill, sampleEnvironment } from '../../testing/samples.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleStack } from '../../testing/stack.ts';
import { amountsOf, amountsOfOthers } from './sizes/capacity.ts';
import type { Stack } from './stack/stack.ts';

let platform: TestPlatform;
let owner: Person;
let address: { projectId: string; environmentId: string };
let at: string;
let stack: Stack;
let host: string;

const variables = [
  { name: 'env:OPEN', value: 'everybody may see this', is_sensitive: false },
  { name: 'env:SECRET', value: 'nobody may see this', is_sensitive: true },
].map((variable) => ({ ...variable, is_json: false, visible_build: true, visible_runtime: true, application_scope: [] }));

const environmentPath = (of: { projectId: string; environmentId: string }) =>
  fill('/projects/{projectId}/environments/{environmentId}', of);

beforeAll(async () => {
  platform = await openTestPlatform();
  owner = await platform.person();
  address = await sampleEnvironment(owner);
  at = environmentPath(address);
  const { accounts } = sampleStack().secrets;
  stack = await deploySample(platform.platform, address, { secrets: { variables, accounts } });
  host = `${stack.environment.machine_name}-${address.projectId}.offshoot.localhost`;
});

const deployment = async (id = 'current') => (await owner.send('GET', `${at}/deployments/${id}`)).json;

describe('the current deployment', () => {
  test('tells of the project, the environment and who is let in', async () => {
    const colleague = await platform.person();
    await owner.send('POST', `/projects/${address.projectId}/user-access`, [
      { user_id: colleague.user.id, permissions: ['staging:contributor', 'production:admin'], auto_add_member: true },
    ]);
    expect(await deployment()).toMatchObject({
      id: 'current',
      created_at: '2026-11-15T09:00:00.123456+00:00',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      cluster_name: `${address.projectId}-${stack.environment.machine_name}`,
      project_info: {
        name: address.projectId,
        title: 'Sample',
        organization: stack.project.organization_id,
        settings: { variables_prefix: 'PLATFORM_' },
        capabilities: { images: { nodejs: { 24: { available: true } } } },
      },
      environment_info: {
        name: 'feature/sample',
        status: 'active',
        is_main: false,
        is_production: false,
        reference: 'refs/heads/feature/sample',
        machine_name: stack.environment.machine_name,
        environment_type: 'staging',
      },
      deployment_target: 'local',
      vpn: null,
      http_access: { is_enabled: true },
      enable_smtp: true,
      restrict_robots: true,
      access: expect.arrayContaining([{ entity_id: colleague.user.id, role: 'contributor' }]),
      subscription: { license_uri: expect.any(String), storage: expect.any(Number) },
      tasks: {},
      _links: { self: { href: `/api${at}/deployments/current` } },
    });
  });

  test('tells how large each container is, and could be', async () => {
    const { services, webapps, workers, container_profiles } = await deployment();
    expect(services.db).toMatchObject({
      type: 'postgresql:17',
      size: 'AUTO',
      disk: 512,
      container_profile: 'HIGH_MEMORY',
      instance_count: 1,
      resources: {
        profile_size: '0.5',
        minimum: { cpu: 0.1, memory: 448, cpu_type: 'shared', disk: 256, profile_size: '0.1' },
        default: { cpu: 0.5, memory: 1408, cpu_type: 'shared', disk: 512, profile_size: '0.5' },
      },
      endpoints: { postgresql: { default_database: 'main', privileges: { main: 'admin' } } },
    });
    expect(services.cache.resources.minimum.disk).toBeNull();
    expect(webapps.api.resources.minimum.disk).toBe(0);
    expect(webapps.shop).toMatchObject({ disk: 1024, instance_count: 2, resources: { profile_size: '1', minimum: { disk: 256 } } });
    expect(workers['shop--queue']).toMatchObject({ resources: { profile_size: '0.5' }, disk: null });
    expect(container_profiles.HIGH_CPU['0.5']).toEqual({ cpu: 0.5, memory: 224, cpu_type: 'shared' });
  });

  test('tells of apps and workers all that they were configured with, and what they were built from', async () => {
    const { webapps, workers } = await deployment();
    expect(webapps.shop).toMatchObject({
      name: 'shop',
      type: 'nodejs:24',
      relationships: { database: { service: 'db', endpoint: 'postgresql' } },
      mounts: { '/public/uploads': { source: 'storage', source_path: 'uploads', service: null } },
      web: { commands: { start: 'node server.js' }, locations: { '/': { passthru: 'true' } } },
      hooks: { build: null, deploy: null, post_deploy: null },
      operations: {},
      access: { ssh: 'contributor' },
      slug_id: 'project-shop-tree-config',
      tree_id: 'c'.repeat(40),
      config_id: 'config-shop',
      app_dir: '/app',
    });
    expect(webapps.shop).not.toHaveProperty('workers');
    expect(workers['shop--queue']).toMatchObject({
      name: 'shop--queue',
      app: 'shop',
      type: 'nodejs:24',
      slug_id: 'project-shop-tree-config',
      worker: { commands: { start: 'node queue.js' } },
    });
  });

  test('tells where each route leads, by its final address', async () => {
    const { routes } = await deployment();
    expect(routes[`https://${host}/`]).toMatchObject({
      type: 'upstream',
      upstream: 'shop:http',
      primary: true,
      id: 'front',
      original_url: 'https://{default}/',
    });
    expect(routes[`http://${host}/`]).toMatchObject({ type: 'redirect', to: `https://${host}/`, id: 'http://{default}/' });
    expect(routes[`http://${host}/`]).not.toHaveProperty('upstream');
  });

  test('has every key of the published one, in every part', async () => {
    const document = await deployment();
    const keys = (value: object) => Object.keys(value);
    expect(keys(document)).toEqual(expect.arrayContaining(publishedKeys.deployment));
    expect(keys(document.services.db)).toEqual(expect.arrayContaining([...publishedKeys.sized, ...publishedKeys.service]));
    expect(keys(document.webapps.shop)).toEqual(
      expect.arrayContaining([...publishedKeys.sized, ...publishedKeys.container, ...publishedKeys.webapp]),
    );
    expect(keys(document.workers['shop--queue'])).toEqual(
      expect.arrayContaining([...publishedKeys.sized, ...publishedKeys.container, 'worker', 'app']),
    );
    expect(keys(document.webapps.shop.resources.disk)).toEqual(['temporary', 'instance', 'storage', 'object']);
  });

  test('keeps secrets to itself', async () => {
    const { text, json } = await owner.send('GET', `${at}/deployments/current`);
    expect(json.variables).toEqual([
      {
        name: 'env:OPEN',
        value: 'everybody may see this',
        is_sensitive: false,
        is_json: false,
        visible_build: true,
        visible_runtime: true,
      },
      { name: 'env:SECRET', is_sensitive: true, is_json: false, visible_build: true, visible_runtime: true },
    ]);
    for (const secret of ['nobody may see this', 'pass-of-db', stack.project.entropy]) expect(text).not.toContain(secret);
  });
});

test('the list holds the current deployment; those that were are found by their ids', async () => {
  const first = stack.deployment.id;
  const next = { ...stack.deployment, id: 'nextdeployment', number: 2 };
  await deploySample(platform.platform, address, { id: stack.id, deployment: next, secrets: stack.secrets });
  const { json } = await owner.send('GET', `${at}/deployments`);
  expect(json).toMatchObject([{ id: 'current', _links: { self: { href: `/api${at}/deployments/current` } } }]);
  expect(await deployment(first)).toMatchObject({ id: first, _links: { self: { href: `/api${at}/deployments/${first}` } } });
  expect((await deployment(next.id)).id).toBe(next.id);
});

test('an environment that was never deployed has no deployment, and no routes', async () => {
  const fresh = await sampleEnvironment(owner);
  const there = environmentPath(fresh);
  expect(await owner.send('GET', `${there}/deployments/current`)).toMatchObject({ status: 404, json: { message: 'No such deployment.' } });
  expect((await owner.send('GET', `${there}/deployments`)).json).toEqual([]);
  expect((await owner.send('GET', `${there}/routes`)).json).toEqual([]);
  expect((await owner.send('GET', `${there}/deployments/${stack.deployment.id}`)).status).toBe(404);
  expect((await owner.send('GET', there)).json._links['pf:routes']).toEqual([]);
});

describe('routes', () => {
  test('are told as they are configured, each at an address of its own', async () => {
    const { json } = await owner.send('GET', `${at}/routes`);
    expect(json.map(({ id }: { id: string }) => id)).toEqual(['front', 'https://{default}/api/', 'https://www.{default}/']);
    const [front, , www] = json;
    expect(front).toMatchObject({
      type: 'upstream',
      upstream: 'shop:http',
      primary: true,
      production_url: null,
      sticky: { enabled: false },
    });
    expect(www).toMatchObject({ type: 'redirect', to: 'https://{default}/', redirects: { paths: {} } });
    for (const route of json) {
      const { _links: links, ...fields } = (await owner.send('GET', route._links.self.href)).json;
      const { _links: _, ...listed } = route;
      expect(fields).toEqual(listed);
      expect(links.self.href).toBe(route._links.self.href);
    }
    expect((await owner.send('GET', `${at}/routes/absent`)).json).toMatchObject({ message: 'No such route.' });
  });

  test('are linked from the environment by their public addresses', async () => {
    const { json } = await owner.send('GET', at);
    expect(json._links['pf:routes']).toEqual(expect.arrayContaining([{ href: `https://${host}/` }, { href: `https://${host}/api/` }]));
    expect(json._links['#routes'].href).toBe(`/api${at}/routes`);
  });
});

describe('the next deployment', () => {
  const patch = (body: object, path = at, person = owner) => person.send('PATCH', `${path}/deployments/next`, body);

  test('is told like the current one, and can be changed by whoever administers the environment', async () => {
    const { json: next } = await owner.send('GET', `${at}/deployments/next`);
    const current = await deployment();
    expect(Object.keys(next).sort()).toEqual(Object.keys(current).sort());
    expect(next).toMatchObject({ id: 'next', webapps: current.webapps, services: current.services, workers: current.workers });
    expect(next.project_info).toMatchObject({
      settings: { sizing_api_enabled: true },
      capabilities: { instance_limit: 8, guaranteed_resources: { enabled: false } },
    });
    expect(next._links).toMatchObject({ self: { href: `/api${at}/deployments/next` }, '#edit': { href: `/api${at}/deployments/next` } });
    expect(current._links['#edit']).toBeUndefined();
    const contributor = await platform.person();
    await owner.send('POST', `/projects/${address.projectId}/user-access`, [
      { user_id: contributor.user.id, permissions: ['staging:contributor'], auto_add_member: true },
    ]);
    expect((await contributor.send('GET', `${at}/deployments/next`)).json._links['#edit']).toBeUndefined();
    expect((await patch({ webapps: { api: { instance_count: 2 } } }, at, contributor)).status).toBe(403);
  });

  test('takes chosen sizes at once; what runs has them once an activity has deployed them', async () => {
    const { status, json } = await patch({ webapps: { api: { resources: { profile_size: '2' }, instance_count: 3 } }, services: {} });
    expect(status).toBe(200);
    const { activities, entity } = json._embedded;
    expect(activities).toMatchObject([
      {
        type: 'environment.resources.update',
        state: 'pending',
        environments: ['feature/sample'],
        text: expect.stringMatching(/ updated resource allocation on Sample$/),
        parameters: { webapps: { api: { instance_count: 3 } } },
      },
    ]);
    await patch({ services: { db: { disk: 2048 } } });
    const { json: next } = await owner.send('GET', `${at}/deployments/next`);
    expect(entity).toEqual({ ...next, services: entity.services, fingerprint: entity.fingerprint });
    expect(next.webapps.api).toMatchObject({ resources: { profile_size: '2' }, instance_count: 3 });
    expect(next.services.db).toMatchObject({ resources: { profile_size: '0.5' }, disk: 2048 });
    expect(next.webapps.shop).toEqual((await deployment()).webapps.shop);
    expect((await deployment()).webapps.api).toMatchObject({ resources: { profile_size: '0.5' }, instance_count: 1 });
  });

  test('refuses with every mistake by its field, and changes nothing', async () => {
    const before = (await owner.send('GET', `${at}/deployments/next`)).json.fingerprint;
    const wrong = { webapps: { api: { instance_count: 9 } }, services: { db: { disk: 100 }, cache: { resources: { profile_size: '3' } } } };
    const { status, json } = await patch(wrong);
    expect(status).toBe(400);
    expect(Object.keys(json.detail).sort()).toEqual([
      'services.cache.resources.profile_size',
      'services.db.disk',
      'webapps.api.instance_count',
    ]);
    const shapeless = { webapps: { api: { instance_count: 0, disk: '1', size: 'L' } }, workers: [], disks: {} };
    expect(Object.keys((await patch(shapeless)).json.detail).sort()).toEqual([
      'disks',
      'webapps.api.disk',
      'webapps.api.instance_count',
      'webapps.api.size',
      'workers',
    ]);
    expect((await owner.send('GET', `${at}/deployments/next`)).json.fingerprint).toBe(before);
  });

  test('is the code that was pushed, also before anything was deployed; sizes of what is new follow', async () => {
    const fresh = await sampleEnvironment(owner);
    const there = environmentPath(fresh);
    expect((await owner.send('GET', `${there}/deployments/next`)).status).toBe(404);
    const { git, db } = platform.platform;
    const commit = async (yaml: string) => {
      const head_commit = commitFiles(git.path(fresh.projectId), undefined, { '.upsun/config.yaml': yaml });
      await db
        .updateTable('environments')
        .set({ head_commit })
        .where('project_id', '=', fresh.projectId)
        .where('id', '=', fresh.environmentId)
        .execute();
    };
    const app = 'applications: { app: { type: "nodejs:24", web: { commands: { start: "node ." } } } }';
    await commit(`${app}\nservices: { db: { type: "postgresql:17" } }`);
    const { json: next } = await owner.send('GET', `${there}/deployments/next`);
    expect(next).toMatchObject({
      environment_info: { status: 'inactive' },
      webapps: { app: { resources: { profile_size: '0.5' }, instance_count: 1, disk: null, slug_id: '' } },
      services: { db: { resources: { profile_size: '0.5' }, disk: 512 } },
    });
    expect((await patch({ services: { db: { disk: 300, resources: { profile_size: '0.25' } } } }, there)).status).toBe(200);
    expect((await owner.send('GET', `${there}/deployments/next`)).json.services.db).toMatchObject({
      disk: 300,
      resources: { profile_size: '0.25' },
    });
    await db.updateTable('environments').set({ sizes_by_hand: true }).where('project_id', '=', fresh.projectId).execute();
    const byHand = (await owner.send('GET', `${there}/deployments/next`)).json;
    expect(byHand.webapps.app).toMatchObject({ resources: { profile_size: null }, instance_count: null });
    expect(byHand.services.db.resources.profile_size).toBe('0.25');
    await commit('applications: [nonsense');
    expect((await owner.send('GET', `${there}/deployments/next`)).status).toBe(404);
  });

  test('is what runs where what was pushed cannot be deployed; changing it says why', async () => {
    const { git, db } = platform.platform;
    const head_commit = commitFiles(git.path(address.projectId), undefined, { '.upsun/config.yaml': 'applications: [nonsense' });
    await db
      .updateTable('environments')
      .set({ head_commit })
      .where('project_id', '=', address.projectId)
      .where('id', '=', address.environmentId)
      .execute();
    expect(Object.keys((await owner.send('GET', `${at}/deployments/next`)).json.webapps)).toEqual(['shop', 'api']);
    expect(await patch({ webapps: { api: { instance_count: 2 } } })).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('config.yaml') },
    });
  });
});

test('what the machine has promised is counted: of what runs all, of what is paused or asleep the disks', async () => {
  const { db } = platform.platform;
  const another = await sampleEnvironment(owner);
  const own = { project_id: another.projectId, id: another.environmentId };
  const promised = async (without: { project_id: string; id: string }) => amountsOfOthers(db, without.project_id, without.id);
  const before = await promised(own);
  const { model, sizes } = await deploySample(platform.platform, another);
  const { cpu, memory, disk } = amountsOf(model, sizes);
  expect(await promised(own)).toEqual(before);
  const promisedWhen = async (change: object) => {
    await db.updateTable('environments').set(change).where('project_id', '=', own.project_id).where('id', '=', own.id).execute();
    const now = await promised({ project_id: 'nobody', id: 'nothing' });
    return [now.cpu - before.cpu, now.memory - before.memory, now.disk - before.disk];
  };
  expect(await promisedWhen({ status: 'active' })).toEqual([expect.closeTo(cpu), memory, disk]);
  expect(await promisedWhen({ sleeping_since: new Date().toISOString() })).toEqual([expect.closeTo(0), 0, disk]);
  expect(await promisedWhen({ sleeping_since: null, status: 'paused' })).toEqual([expect.closeTo(0), 0, disk]);
});

test('whoever may not see the environment sees neither deployment nor routes', async () => {
  const stranger = await platform.person();
  for (const path of ['deployments', 'deployments/current', 'deployments/next', 'routes', 'routes/front']) {
    expect((await stranger.send('GET', `${at}/${path}`)).status).toBe(404);
  }
});

/** What is always there in the published document. */
const publishedKeys = {
  deployment: [
    'id',
    'cluster_name',
    'project_info',
    'environment_info',
    'deployment_target',
    'vpn',
    'http_access',
    'enable_smtp',
    'restrict_robots',
    'variables',
    'access',
    'subscription',
    'services',
    'routes',
    'webapps',
    'workers',
    'container_profiles',
    'tasks',
  ],
  sized: [
    'type',
    'size',
    'disk',
    'access',
    'relationships',
    'firewall',
    'resources',
    'container_profile',
    'endpoints',
    'instance_count',
    'supports_horizontal_scaling',
  ],
  service: ['configuration'],
  container: [
    'name',
    'authorizations',
    'additional_hosts',
    'mounts',
    'timezone',
    'variables',
    'egress',
    'operations',
    'preflight',
    'tree_id',
    'slug_id',
    'app_dir',
    'runtime',
    'stack',
    'image',
  ],
  webapp: ['web', 'hooks', 'crons', 'source', 'build', 'dependencies', 'is_across_submodule', 'config_id'],
};
