import { describe, expect, test } from 'vitest';
import { app, cache, database, sampleStack, service, shop, task, worker } from '../../../testing/stack.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { checkVersions, planDeployment } from './plan.ts';
import type { Deployed } from '../queries.ts';
import type { Stack } from './stack.ts';

const number = (stack: Stack, to: number): Stack => ({ ...stack, deployment: { ...stack.deployment, number: to } });
const first = number(sampleStack(), 1);
const running = (stack: Stack = first): Deployed => ({
  stack,
  generations: planDeployment(stack, undefined, { restart: false }).generations,
  hosts: {},
});
const next = (change: (model: ProjectModel) => ProjectModel = (model) => model, changes: Partial<Stack> = {}) =>
  number({ ...sampleStack(change(shop())), ...changes }, 2);
const plan = (wanted: Stack, current: Deployed | undefined = running(), restart = false) => planDeployment(wanted, current, { restart });
const short = (changes: { name: string; action: string }[]) => changes.map(({ name, action }) => `${action} ${name}`);

describe('a deployment', () => {
  test('that is the first starts everything, and makes a volume for all that is kept', () => {
    const { services, instances, generations, volumes, containers, ...rest } = planDeployment(first, undefined, { restart: false });
    expect(short(services)).toEqual(['start db', 'start cache', 'start memory']);
    expect(short(instances)).toEqual(['start shop', 'start api', 'start shop--queue']);
    expect(generations).toEqual({ shop: 1, api: 1, 'shop--queue': 1 });
    expect(volumes.make.map(({ name }) => name.replace(first.id, '…'))).toEqual(['stack-…-data-db-postgresql', 'stack-…-storage-shop']);
    expect(containers.start.length).toBeGreaterThanOrEqual(3);
    expect(rest).toMatchObject({ isChange: true, interrupts: true, forbidsRolling: true });
  });

  test('of what runs already changes nothing, and keeps the names of what runs', () => {
    const { services, instances, generations, ...rest } = plan(next());
    expect([...services, ...instances].every(({ action }) => action === 'keep')).toBe(true);
    expect(generations).toEqual({ shop: 1, api: 1, 'shop--queue': 1 });
    expect(rest).toEqual({
      containers: { start: [], stop: [], resize: [], drop: [] },
      volumes: { make: [], resize: [], drop: [] },
      isChange: false,
      interrupts: false,
      forbidsRolling: false,
    });
  });

  test('that is asked to restart replaces every app and worker, and no service; hooks need not run', () => {
    const restarted = plan(next(), running(), true);
    expect(short(restarted.instances)).toEqual(['replace shop', 'replace api', 'replace shop--queue']);
    expect(restarted.services.every(({ action }) => action === 'keep')).toBe(true);
    expect(restarted).toMatchObject({ isChange: false, interrupts: true, generations: { shop: 2, api: 2, 'shop--queue': 2 } });
  });

  test('of new code replaces the app that has it, with its workers, and leaves the other alone', () => {
    const wanted = next();
    const slug = wanted.slugs['shop'];
    if (!slug) throw new Error('The shop is built');
    const changed = plan({
      ...wanted,
      slugs: { ...wanted.slugs, shop: { ...slug, slug_id: 'another', tree_id: 'd'.repeat(40), volume: 'slug-another' } },
    });
    expect(short(changed.instances)).toEqual(['replace shop', 'keep api', 'replace shop--queue']);
    expect(changed.generations).toEqual({ shop: 2, api: 1, 'shop--queue': 2 });
    expect(changed.containers.stop.map((name) => name.replace(first.id, '…'))).toEqual(
      expect.arrayContaining(['…-app-shop-1-0', '…-app-shop--queue-1-0']),
    );
    expect(changed).toMatchObject({ isChange: true, interrupts: true, forbidsRolling: false });
  });

  test('in which only the edge has something else to do starts nothing and runs no hooks', () => {
    const closed = { is_enabled: true, addresses: [], basic_auth: { ada: 'secret' } };
    const [wanted, edge] = [next(), { http_access: closed, restrict_robots: false }];
    const routes = Object.fromEntries(Object.entries(wanted.routes).map(([url, route]) => [url, { ...route, ...edge }]));
    const changed = plan({ ...wanted, settings: { ...wanted.settings, ...edge }, routes });
    expect(new Set([...changed.instances, ...changed.services].map(({ action }) => action))).toEqual(new Set(['keep']));
    expect(changed).toMatchObject({ isChange: false, interrupts: false });
  });

  test('with a variable that apps are told replaces them', () => {
    const variable = {
      name: 'env:GREETING',
      value: 'hello',
      is_json: false,
      is_sensitive: false,
      visible_build: false,
      visible_runtime: true,
    };
    const { secrets } = first;
    const told = plan(
      next(undefined, { secrets: { ...secrets, variables: [...secrets.variables, { ...variable, application_scope: ['api'] }] } }),
    );
    expect(short(told.instances)).toEqual(['keep shop', 'replace api', 'keep shop--queue']);
  });

  test('with more instances keeps those there are, and starts the others beside them', () => {
    const sizes = { ...first.sizes, webapps: { ...first.sizes.webapps, api: { profile_size: '0.5', instance_count: 3, disk: null } } };
    const current = running(
      number(
        sampleStack(shop(), {
          sizes: { ...sizes, webapps: { ...sizes.webapps, api: { profile_size: '0.5', instance_count: 1, disk: null } } },
        }),
        1,
      ),
    );
    const grown = plan(next(undefined, { sizes }), current);
    expect(short(grown.instances)).toEqual(['keep shop', 'keep api', 'keep shop--queue']);
    expect(grown.containers.start.map((name) => name.replace(first.id, '…'))).toEqual(['…-app-api-1-1', '…-app-api-1-2']);
    expect(grown.interrupts).toBe(false);
  });

  test('with another size changes limits in place', () => {
    const sizes = { ...first.sizes, webapps: { ...first.sizes.webapps, api: { profile_size: '2', instance_count: 1, disk: null } } };
    const { containers, instances } = plan(next(undefined, { sizes }));
    expect(containers).toMatchObject({ start: [], resize: [`${first.id}-app-api-1-0`] });
    expect(short(instances)).toContain('keep api');
  });

  test('with fewer instances keeps the first ones, and stops the others only once nothing is sent to them', () => {
    const shopOf = (instance_count: number) => ({ profile_size: '1', instance_count, disk: 1024 });
    const sizes = { ...first.sizes, webapps: { ...first.sizes.webapps, shop: shopOf(1) } };
    const { containers, interrupts, generations } = plan(next(undefined, { sizes }));
    expect(containers).toEqual({ start: [], stop: [`${first.id}-app-shop-1-1`], resize: [], drop: [] });
    expect([interrupts, generations['shop']]).toEqual([false, 1]);
  });

  test('with other sizes alone interrupts nobody, and is nothing for deploy hooks to know of', () => {
    const hooks = { build: null, deploy: 'migrate', post_deploy: null, sanitize: null };
    const withHook = (model: ProjectModel) => ({ ...model, applications: { ...model.applications, api: app('api', { hooks }) } });
    const sizes = { ...first.sizes, webapps: { ...first.sizes.webapps, api: { profile_size: '2', instance_count: 4, disk: null } } };
    const scaled = plan(next(withHook, { sizes }), running(number(sampleStack(withHook(shop())), 1)));
    expect(scaled).toMatchObject({ isChange: false, interrupts: false, containers: { resize: [`${first.id}-app-api-1-0`] } });
    expect(scaled.containers.start).toHaveLength(3);
  });

  test('with a larger disk raises its limit, and touches no container', () => {
    const db = { profile_size: '0.5', instance_count: 1, disk: 4096 };
    const grown = plan(next(undefined, { sizes: { ...first.sizes, services: { ...first.sizes.services, db } } }));
    expect(grown.volumes.resize).toEqual([{ name: `stack-${first.id}-data-db-postgresql`, bytesMax: 4096 * 2 ** 20, isData: true }]);
    expect(grown).toMatchObject({ containers: { start: [], stop: [], resize: [] }, interrupts: false });
  });
});

describe('a service', () => {
  const sized = (name: string, profile_size: string) => ({
    ...first.sizes,
    services: { ...first.sizes.services, [name]: { profile_size, instance_count: 1, disk: name === 'db' ? 512 : null } },
  });

  test('that divides its memory when it starts is replaced for another size', () => {
    expect(short(plan(next(undefined, { sizes: sized('db', '1') })).services)).toContain('replace db');
  });

  test('that does not divide its memory when it starts gets new limits while it runs', () => {
    const queue = { profile_size: '0.5', instance_count: 1, disk: 512 };
    const withQueue = (model: ProjectModel) => ({ ...model, services: { ...model.services, queue: service('queue', 'rabbitmq:3.10') } });
    const sizesWith = (profile_size: string) => ({
      ...first.sizes,
      services: { ...first.sizes.services, queue: { ...queue, profile_size } },
    });
    const before = running(number(sampleStack(withQueue(shop()), { sizes: sizesWith('0.5') }), 1));
    const resized = plan(next(withQueue, { sizes: sizesWith('1') }), before);
    expect(short(resized.services)).toContain('keep queue');
    expect(resized).toMatchObject({ containers: { resize: [`${first.id}-service-queue`] }, interrupts: false });
  });

  test('that is gone is stopped, and its data dropped, once the deployment is current', () => {
    const gone = plan(
      next(({ services: { db: _db, ...services }, applications, ...model }) => ({
        ...model,
        services,
        applications: { shop: app('shop'), api: applications['api'] ?? app('api') },
      })),
    );
    expect(short(gone.services)).toContain('remove db');
    expect(gone.containers.drop).toEqual([`${first.id}-service-db`]);
    expect(gone.volumes.drop).toContain(`stack-${first.id}-data-db-postgresql`);
    expect(gone.forbidsRolling).toBe(true);
  });

  test('of another type is a new and empty one', () => {
    const changed = plan(
      next((model) => ({ ...model, services: { ...model.services, db: service('db', 'mariadb:11.8', { databases: ['main'] }) } })),
    );
    expect(short(changed.services)).toContain('replace db');
    expect(changed.volumes.make.map(({ name }) => name)).toEqual([`stack-${first.id}-data-db-mariadb`]);
    expect(changed.volumes.drop).toEqual([`stack-${first.id}-data-db-postgresql`]);
  });

  test('cannot become another major version with its data, and says what to do', () => {
    const older = (model: ProjectModel) => ({ ...model, services: { ...model.services, db: database('db', { type: 'postgresql:16' }) } });
    expect(() => plan(next(older))).toThrow(/'db' has data of postgresql:17 and cannot become postgresql:16.*under another name/s);
    const brokers = (was: string, is: string) => {
      const withQueue = (type: string) => (model: ProjectModel) => ({
        ...model,
        services: { ...model.services, queue: service('queue', type) },
      });
      return () => checkVersions(next(withQueue(is)), next(withQueue(was)));
    };
    expect(brokers('rabbitmq:4.0', 'rabbitmq:4.3')).toThrow(/'queue' has data of rabbitmq:4\.0 and cannot become rabbitmq:4\.3/);
  });

  test('that keeps nothing may become any version', () => {
    const memory = (model: ProjectModel) => ({
      ...model,
      services: { ...model.services, cache: { ...cache('cache'), configuration: { maxmemory_policy: 'noeviction' } } },
    });
    expect(short(plan(next(memory)).services)).toContain('replace cache');
  });
});

test('a worker that comes is started, and its app with it, which is told of its workers; the other app is not touched', () => {
  const mail = { profile_size: '0.1', instance_count: 1, disk: null };
  const withMail = (model: ProjectModel) => {
    const { api = app('api') } = model.applications;
    return { ...model, applications: { ...model.applications, api: { ...api, workers: { mail: worker() } } } };
  };
  const sizes = { ...first.sizes, workers: { ...first.sizes.workers, 'api--mail': mail } };
  const { instances, generations } = plan(next(withMail, { sizes }));
  expect(short(instances)).toEqual(['keep shop', 'replace api', 'keep shop--queue', 'start api--mail']);
  expect(generations).toEqual({ shop: 1, api: 2, 'shop--queue': 1, 'api--mail': 2 });
});

test('a task that comes, changes or goes leaves all that runs alone, names and hooks included', () => {
  const withTask = (command: string) => (model: ProjectModel) => ({
    ...model,
    applications: { ...model.applications, api: app('api', { hooks: { build: null, deploy: 'true', post_deploy: null, sanitize: null } }) },
    tasks: {
      report: task('report', { run: { command, timeout: 5 }, relationships: { store: { service: 'db', endpoint: 'postgresql' } } }),
    },
  });
  const slug = { slug_id: 'report', tree_id: 'd'.repeat(40), config_id: 'c', volume: 'slug-report' };
  const sizes = { ...first.sizes, tasks: { report: { profile_size: '1', instance_count: 1, disk: null } } };
  const without = next((model) => ({ ...withTask('')(model), tasks: {} }));
  const stackWith = (command: string) => next(withTask(command), { sizes, slugs: { ...without.slugs, report: slug } });
  for (const [wanted, current] of [
    [stackWith('one'), without],
    [stackWith('two'), stackWith('one')],
    [without, stackWith('one')],
  ] as const) {
    const { services, instances, ...rest } = plan(wanted, running(current));
    expect([...services, ...instances].map(({ action }) => action)).toEqual(Array.from({ length: 6 }, () => 'keep'));
    expect(rest).toMatchObject({
      isChange: false,
      interrupts: false,
      containers: { start: [], stop: [] },
      volumes: { make: [], drop: [] },
    });
  }
});

test('an app without anything to start has no container: its files are served', () => {
  const site = app('site', { type: 'static:1' });
  const wanted = sampleStack({
    applications: { site: { ...site, web: { ...site.web, commands: { pre_start: null, start: null, post_start: null } } } },
    services: {},
    routes: {},
    tasks: {},
  });
  expect(planDeployment(wanted, undefined, { restart: false })).toMatchObject({ instances: [], containers: { start: [] } });
});

test('a service that is only files is a volume: nothing starts for it, it grows in place, and its data goes with it', () => {
  const mounts = { '/shared': { source: 'service', source_path: 'pictures', service: 'files' } } as const;
  const withFiles = (model: ProjectModel) => ({
    ...model,
    services: { ...model.services, files: service('files', 'network-storage:1.0') },
    applications: { ...model.applications, api: app('api', { type: 'python:3.13', mounts }) },
  });
  const sizesWith = (disk: number) => ({
    ...first.sizes,
    services: { ...first.sizes.services, files: { profile_size: '0.5', instance_count: 1, disk } },
  });
  const name = `stack-${first.id}-data-files-network-storage`;
  const come = plan(next(withFiles, { sizes: sizesWith(256) }));
  expect(short(come.services)).toEqual(['keep db', 'keep cache', 'keep memory']);
  expect(short(come.instances)).toContain('replace api');
  expect(come.volumes.make).toEqual([{ name, bytesMax: 256 * 2 ** 20, isData: true }]);
  expect(come.forbidsRolling).toBe(false);
  const before = running(number(sampleStack(withFiles(shop()), { sizes: sizesWith(256) }), 1));
  const grown = plan(next(withFiles, { sizes: sizesWith(512) }), before);
  expect(grown).toMatchObject({ interrupts: false, volumes: { make: [], resize: [{ name, bytesMax: 512 * 2 ** 20 }], drop: [] } });
  expect(plan(next(), before)).toMatchObject({ containers: { drop: [] }, volumes: { drop: [name] } });
});
