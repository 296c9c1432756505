/** Settings over HTTP. */
import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { workThrough } from '../../testing/activities.ts';
import type { TestPlatform } from '../../testing/platform.ts';
import { autoscaleAt } from './autoscale.ts';
import { deployedProject, openScalingHome, openScalingProject, type ScalingHome } from './test-project.ts';

const timeout = 300_000;

let scaling: ScalingHome;
let home: TestPlatform;
beforeAll(async () => {
  scaling = await openScalingHome();
  ({ home } = scaling);
});

describe('settings', () => {
  test('are those of each app and worker, by default and off; the client is offered them', { timeout }, async () => {
    const project = await deployedProject(scaling);
    const { defaults, services } = await project.settings();
    expect(defaults).toMatchObject({
      triggers: {
        cpu: { up: { threshold: 80, duration: 300 }, down: { threshold: 20, duration: 300 } },
        memory: { up: { threshold: 80 } },
      },
      instances: { min: 1, max: 8 },
      scale_cooldown: { up: 300, down: 300 },
      scale_factor: { up: 1, down: 1 },
    });
    expect(Object.keys(services)).toEqual(['app', 'app--queue']);
    expect(services.app).toMatchObject({ enabled: false, triggers: { cpu: { enabled: false } }, instances: { min: 1, max: 8 } });
    // The released client takes what follows `enabled` for directions.
    expect(Object.keys(services.app.triggers.cpu)).toEqual(['enabled', 'up', 'down']);
    const { _links } = await project.environment();
    expect(_links['#autoscaling'].href).toMatch(/\/autoscaling\/settings$/);
    expect(_links['#manage-autoscaling'].href).toMatch(/\/autoscaling\/settings$/);
    const { json } = await project.owner.send('GET', `/projects/${project.projectId}/capabilities`);
    expect(json.autoscaling).toEqual({ enabled: true, supports_horizontal_scaling_services: false });
  });

  test('change as far as they are named, with PATCH and POST alike, and null is the default again', { timeout }, async () => {
    const project = await deployedProject(scaling);
    await project.set({ app: { triggers: { cpu: { enabled: true, up: { threshold: 75 } } } } });
    const { status, json } = await project.set({ app: { triggers: { cpu: { up: { duration: 60 } } }, instances: { max: 4 } } }, 'POST');
    expect({ status, app: json.services.app }).toMatchObject({
      status: 200,
      app: {
        enabled: true,
        triggers: { cpu: { enabled: true, up: { threshold: 75, duration: 60, enabled: true }, down: { threshold: 20 } } },
        instances: { min: 1, max: 4 },
      },
    });
    await project.set({
      app: { triggers: { cpu: { up: { threshold: null } }, memory_pressure: { up: { threshold: 30 } } }, instances: null },
    });
    expect((await project.settings()).services.app).toMatchObject({
      triggers: { cpu: { up: { threshold: 80, duration: 60 } }, memory_pressure: { enabled: false, up: { threshold: 30 } } },
      instances: { max: 8 },
    });
    expect((await project.send('PATCH', '/autoscaling/settings', { services: null })).json.services.app.enabled).toBe(true);
    const { services } = (await project.set({ app: null })).json;
    expect(services.app).toEqual(services['app--queue']);
  });

  test('stay over deployments, and those of an app that is gone are not shown', { timeout }, async () => {
    const project = await deployedProject(scaling);
    await project.set({ app: { triggers: { cpu: { enabled: true } } }, 'app--queue': { instances: { max: 3 } } });
    await sql`insert into autoscaling_settings (project_id, environment_id, service, settings, is_on)
      values (${project.projectId}, 'main', 'gone', '{}', true)`.execute(home.platform.db);
    await project.send('POST', '/redeploy');
    await workThrough(home.platform);
    const { services } = await project.settings();
    expect(Object.keys(services)).toEqual(['app', 'app--queue']);
    expect(services).toMatchObject({ app: { enabled: true }, 'app--queue': { instances: { max: 3 } } });
  });

  test('that cannot be are refused by field, all at once, and nothing changes', { timeout }, async () => {
    const project = await deployedProject(scaling);
    const before = await project.settings();
    const refused = async (services: object) => {
      const { status, json } = await project.set(services);
      expect(status).toBe(400);
      return json.detail;
    };
    expect(
      await refused({
        app: { instances: { min: 5, max: 4 }, triggers: { cpu: { up: { threshold: 30 }, down: { threshold: 30 } } } },
        'app--queue': { instances: { max: 9 }, triggers: { memory: { up: { threshold: 20 } }, latency: { enabled: true } } },
        cache: { triggers: { cpu: { enabled: true } } },
        nobody: {},
      }),
    ).toEqual({
      'services.app.instances.min': 'cannot be more than max, which is 4',
      'services.app.triggers.cpu.down.threshold': 'must be below that of up, which is 30',
      'services.app--queue.instances.max': 'must be at most 8',
      'services.app--queue.triggers.memory.down.threshold': 'must be below that of up, which is 20',
      'services.app--queue.triggers.latency': 'cannot be set: a worker answers no requests',
      'services.cache': 'cannot be scaled: a service has one instance',
      'services.nobody': 'does not name any application or worker of this environment; choose from app, app--queue',
    });
    const badFields = Object.keys(
      await refused({
        app: {
          instances: { min: 0 },
          scale_factor: { up: 0, down: 1.5 },
          scale_cooldown: { up: -1 },
          triggers: { cpu: { up: { threshold: 101, duration: 61 }, enabled: 'yes' }, latency: { up: { threshold: 0 } }, speed: {} },
          resources: { cpu: { max: 2 } },
        },
      }),
    );
    expect(badFields.sort()).toEqual(
      [
        'services.app.instances.min',
        'services.app.resources',
        'services.app.scale_cooldown.up',
        'services.app.scale_factor.down',
        'services.app.scale_factor.up',
        'services.app.triggers.cpu.enabled',
        'services.app.triggers.cpu.up.duration',
        'services.app.triggers.cpu.up.threshold',
        'services.app.triggers.latency.up.threshold',
        'services.app.triggers.speed',
      ].sort(),
    );
    expect(await project.settings()).toEqual(before);
  });

  test('of an environment in which nothing runs name nothing that could be scaled', { timeout }, async () => {
    const project = await openScalingProject(scaling);
    expect((await project.settings()).services).toEqual({});
    expect((await project.set({ app: {} })).json.detail).toEqual({
      'services.app': expect.stringMatching(/nothing is deployed here yet$/),
    });
  });

  test('that are on keep others from choosing the number of instances, and off again leave it as it is', { timeout }, async () => {
    const project = await deployedProject(scaling);
    const choose = (app: object) => project.send('PATCH', '/deployments/next', { webapps: { app } });
    await project.set({ app: { triggers: { cpu: { enabled: true } }, instances: { min: 2 } } });
    const { status, json } = await choose({ instance_count: 3 });
    expect({ status, detail: json.detail }).toEqual({
      status: 400,
      detail: { 'webapps.app.instance_count': expect.stringMatching(/^cannot be set while autoscaling is on/) },
    });
    await autoscaleAt(home.platform, new Date());
    await workThrough(home.platform);
    expect(await project.count()).toBe(2);
    expect((await choose({ resources: { profile_size: '1' } })).status).toBe(200);
    await project.set({ app: { triggers: { cpu: { enabled: false } } } });
    await autoscaleAt(home.platform, new Date());
    await workThrough(home.platform);
    expect(await project.count()).toBe(2);
    expect((await choose({ instance_count: 1 })).status).toBe(200);
    await workThrough(home.platform);
    expect(await project.count()).toBe(1);
  });

  test('are not those of branches', { timeout }, async () => {
    const project = await deployedProject(scaling);
    await project.set({ app: { triggers: { cpu: { enabled: true } } } });
    await project.send('POST', '/branch', { name: 'preview', title: 'Preview' });
    await workThrough(home.platform);
    const { json } = await project.owner.send('GET', `/projects/${project.projectId}/environments/preview/autoscaling/settings`);
    expect(json.services.app.enabled).toBe(false);
  });
});
