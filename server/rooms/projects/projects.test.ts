import { hostname } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import { workThrough } from '../../testing/activities.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';

let home: TestPlatform;
let owner: Person;
let operator: Person;
let project: string;

beforeAll(async () => {
  home = await openTestPlatform();
  [owner, operator] = [await home.person({ strong: true }), await home.person({ is_operator: true, strong: true })];
  project = `/projects/${(await sampleProject(owner)).projectId}`;
});

describe('the settings of a project', () => {
  test('are what the installation does, in full', async () => {
    const { json } = await owner.send('GET', `${project}/settings`);
    expect(json).toMatchObject({
      initialize: {},
      variables_prefix: 'PLATFORM_',
      environment_name_strategy: 'name-and-hash',
      concurrency_limits: { internal: null, integration: 4, backup: 2, cron: 10, default: 2 },
      build_resources: { cpu: 1, memory: 2048 },
      data_retention: null,
      maintenance_window: null,
      sizing_api_enabled: true,
      enable_guaranteed_resources: false,
      certifier_url: home.platform.config.url,
      _links: { '#edit': { href: `/api${project}/settings` } },
    });
  });

  test('that are its own are changed by its administrators, and keep what was not said', async () => {
    const window = { recurrence: { interval: '2w', day_of_week: 6, time: '23:30' } };
    const retention = { production: { default_config: { schedule: [{ interval: '1d', count: 7 }] } } };
    const change = {
      build_resources: { memory: 4096 },
      maintenance_window: window,
      data_retention: retention,
      initialize: { profile: 'Mine' },
    };
    const { status, json } = await owner.send('PATCH', `${project}/settings`, change);
    expect(status).toBe(200);
    expect(json._embedded).toMatchObject({ activities: [], entity: { ...change, build_resources: { cpu: 1, memory: 4096 } } });
    await owner.send('PATCH', `${project}/settings`, { maintenance_window: null });
    expect((await owner.send('GET', `${project}/settings`)).json).toMatchObject({ maintenance_window: null, data_retention: retention });
  });

  test('that are not its own are left to operators', async () => {
    const change = { cron_minimum_interval: 1, max_allowed_routes: 10 };
    expect(await owner.send('PATCH', `${project}/settings`, { ...change, initialize: {} })).toMatchObject({
      status: 403,
      json: { detail: { cron_minimum_interval: expect.any(String), max_allowed_routes: expect.any(String) } },
    });
    expect((await operator.send('PATCH', `${project}/settings`, change)).json._embedded.entity).toMatchObject(change);
    expect((await owner.send('GET', `${project}/settings`)).json.cron_minimum_interval).toBe(1);
  });

  test('keep no credentials of repositories', async () => {
    for (const repository of ['https://ada:hunter2@example.org/mine.git', 'https:hunter2@example.org/mine.git']) {
      const reply = await owner.send('PATCH', `${project}/settings`, { initialize: { sources: [{ repository }] } });
      expect(reply).toMatchObject({
        status: 400,
        json: { detail: { 'initialize.sources.0.repository': expect.stringContaining('password') } },
      });
    }
    expect((await owner.send('PATCH', `${project}/settings`, { initialize: { repository: 'no address' } })).json.detail).toEqual({
      'initialize.repository': expect.any(String),
    });
    const initialize = { repository: 'https://example.org/mine.git@main', contact: 'ada@example.org' };
    const { entity, activities } = (await owner.send('PATCH', `${project}/settings`, { initialize })).json._embedded;
    expect(entity).toMatchObject({ initialize });
    expect(activities).toMatchObject([{ type: 'environment.initialize', environments: ['main'] }]);
    expect((await owner.send('PATCH', `${project}/settings`, { initialize })).status).toBe(409);
    expect((await owner.send('GET', `${project}/settings`)).text).not.toContain('hunter2');
  });

  test('are refused by name where they make no sense', async () => {
    const { json } = await owner.send('PATCH', `${project}/settings`, {
      build_resources: { cpu: -1 },
      maintenance_window: { recurrence: { interval: '3w', day_of_week: 7, time: '25:00' } },
      data_retention: { production: { default_config: { schedule: [{ interval: 'often', count: 1 }] } } },
      nonsense: true,
    });
    expect(Object.keys(json.detail).sort()).toEqual([
      'build_resources.cpu',
      'data_retention.production.default_config.schedule.0.interval',
      'maintenance_window.recurrence.day_of_week',
      'maintenance_window.recurrence.interval',
      'maintenance_window.recurrence.time',
      'nonsense',
    ]);
  });
});

test('builds get no more than the machine has for them', async () => {
  const { max_cpu, max_memory } = (await owner.send('GET', `${project}/capabilities`)).json.build_resources;
  const set = (cpu: number, memory: number) => owner.send('PATCH', `${project}/settings`, { build_resources: { cpu, memory } });
  expect((await set(max_cpu, max_memory)).json._embedded.entity.build_resources).toEqual({ cpu: max_cpu, memory: max_memory });
  expect((await set(max_cpu + 1, max_memory + 1)).json.detail).toEqual({
    'build_resources.cpu': `must be at most ${max_cpu}`,
    'build_resources.memory': `must be at most ${max_memory}`,
  });
});

test('what is not built yet is no capability', async () => {
  const { json } = await owner.send('GET', `${project}/capabilities`);
  const enabled = Object.entries(json as Record<string, { enabled?: boolean }>).filter(([, capability]) => capability.enabled);
  expect(enabled.map(([name]) => name)).toEqual([
    'custom_domains',
    'source_operations',
    'runtime_operations',
    'tasks',
    'build_resources',
    'data_retention',
    'autoscaling',
    'integrations',
  ]);
  expect(json).toMatchObject({ instance_limit: 8, guaranteed_resources: { enabled: false, instance_limit: 0 } });
  expect(json).toMatchObject({
    custom_domains: { enabled: true, environments_with_domains_limit: 5 },
    integrations: { enabled: true, config: { webhook: { enabled: true, role: 'admin' } } },
  });
  expect(json.images).toMatchObject({
    nodejs: { 24: { available: true, status: 'supported' }, 20: { available: true, status: 'deprecated' } },
    postgresql: { 17: { available: true }, '9.6': { available: false, status: 'retired' } },
  });
});

test('what serves a project is told as it is, and restarted by operators alone', async () => {
  const { json: shown } = await owner.send('GET', `${project}/system`);
  expect(shown._links).not.toHaveProperty('#restart');
  expect((await owner.send('POST', `${project}/system/restart`)).status).toBe(403);
  const longAgo = { restarted_at: '2020-01-01T00:00:00Z' };
  await home.platform.db
    .updateTable('projects')
    .set(longAgo)
    .where('id', '=', project.split('/')[2] ?? '')
    .execute();
  const { json: before } = await operator.send('GET', `${project}/system`);
  expect(Number(before.version)).toBeGreaterThanOrEqual(12);
  expect(before.image).toMatch(/^offshoot:\d+\.\d+\.\d+/);
  expect(Math.abs(Date.parse(before.started_at) - performance.timeOrigin)).toBeLessThan(2);
  const { json } = await operator.send('POST', before._links['#restart'].href);
  expect(json._embedded.entity.started_at > before.started_at).toBe(true);
});

test('a project is deployed to this machine, which only operators are told and nobody can change', async () => {
  const targets = `${project}/deployments`;
  expect((await owner.send('GET', targets)).status).toBe(403);
  expect((await owner.send('GET', `${targets}/local`)).status).toBe(404);
  const here = { id: 'local', type: 'foundation', hosts: [{ id: hostname(), type: 'core', services: null }], use_dedicated_grid: false };
  expect((await operator.send('GET', targets)).json).toMatchObject([here]);
  expect((await operator.send('GET', `${targets}/local`)).json).toMatchObject(here);
  expect((await operator.send('GET', `${targets}/elsewhere`)).status).toBe(404);
  const refused = { status: 409, json: { message: expect.stringContaining('its own machine alone') } };
  const wanted = { type: 'dedicated', name: 'elsewhere' };
  expect(await operator.send('POST', targets, wanted)).toMatchObject(refused);
  expect(await operator.send('PATCH', `${targets}/local`, wanted)).toMatchObject(refused);
  expect(await operator.send('DELETE', `${targets}/local`)).toMatchObject(refused);
});

test('clearing the build cache is an activity', async () => {
  const { json } = await owner.send('POST', `${project}/clear_build_cache`);
  const [{ id, type, _links }] = json._embedded.activities;
  expect(type).toBe('project.clear_build_cache');
  await workThrough(home.platform);
  expect((await owner.send('GET', _links.self.href)).json).toMatchObject({
    state: 'complete',
    result: 'success',
    log: expect.stringContaining('empty'),
  });
  expect((await owner.send('GET', `${project}/activities?type=${type}&state=complete&result=success&count=1`)).json).toMatchObject([
    { id },
  ]);
  expect((await owner.send('GET', `${project}/activities?type=environment.push`)).json).toEqual([]);
});
