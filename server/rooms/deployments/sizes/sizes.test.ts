import { describe, expect, test } from 'vitest';
import {
  containerProfiles,
  diskBytes,
  limitsOf,
  profileOf,
  sizesAsFarAs,
  sizesFor,
  storageOwners,
  temporaryBytesOf,
  usualInit,
} from './sizes.ts';
import type { Size, Sizes } from '../stack/stack.ts';
import { app, cache, database, service, shop, worker } from '../../../testing/stack.ts';

const of = (profile_size: string, disk: number | null = null, instance_count = 1): Size => ({ profile_size, instance_count, disk });

describe('profiles', () => {
  test('say how much memory comes with a CPU', () => {
    expect(limitsOf('HIGH_CPU', of('0.5'))).toEqual({ cpu: 0.5, memoryBytes: 224 * 2 ** 20 });
    expect(limitsOf('HIGHER_MEMORY', of('8'))).toEqual({ cpu: 8, memoryBytes: 17_408 * 2 ** 20 });
    expect(() => limitsOf('BALANCED', of('3'))).toThrow('BALANCED has no size 3.');
  });

  test('say how much goes into /tmp: four times the memory, but not less than 1 GiB and not more than 8', () => {
    const gibibytes = (profile_size: string) => temporaryBytesOf(limitsOf('HIGH_CPU', of(profile_size)).memoryBytes) / 2 ** 30;
    expect(['0.1', '0.5', '1', '2', '8'].map(gibibytes)).toEqual([1, 1, 1.5, 2.75, 8]);
  });

  test('are those of the document, none of them guaranteed', () => {
    expect(Object.keys(containerProfiles)).toEqual(['HIGH_CPU', 'BALANCED', 'HIGH_MEMORY', 'HIGHER_MEMORY']);
    expect(containerProfiles.BALANCED['0.1']).toEqual({ cpu: 0.1, memory: 352, cpu_type: 'shared' });
    const all = Object.values(containerProfiles).flatMap((profile) => Object.values(profile));
    expect(all).toHaveLength(32);
    expect(all.every(({ cpu_type }) => cpu_type === 'shared')).toBe(true);
  });

  test('follow from the type, unless the configuration says otherwise', () => {
    const types = ['nodejs:24', 'static:1', 'redis-persistent:8.0', 'memcached:1.6', 'java:17', 'postgresql:17', 'rabbitmq:3.10'];
    expect(types.map((type) => profileOf(type, null))).toEqual([
      'HIGH_CPU',
      'HIGH_CPU',
      'BALANCED',
      'BALANCED',
      'HIGH_MEMORY',
      'HIGH_MEMORY',
      'HIGH_MEMORY',
    ]);
    expect(profileOf('nodejs:24', 'BALANCED')).toBe('BALANCED');
  });
});

describe('a container that is new', () => {
  test('gets half a CPU, and a disk if it keeps something', () => {
    expect(sizesFor(shop(), { init: 'default' })).toEqual({
      services: { db: of('0.5', 512), cache: of('0.5'), memory: of('0.5') },
      webapps: { shop: of('0.5', 512), api: of('0.5') },
      workers: { 'shop--queue': of('0.5') },
      tasks: {},
    });
  });

  test('gets the least there is, if that was asked for', () => {
    expect(sizesFor(shop(), { init: 'minimum' })).toMatchObject({
      services: { db: of('0.1', 256), cache: of('0.1') },
      webapps: { shop: of('0.1', 256), api: of('0.1') },
    });
  });

  test('gets the size that it has in the parent, or in the child that was merged; the default where it has none there', () => {
    const elsewhere: Sizes = { services: { db: of('4', 2048) }, webapps: { shop: of('2', 1024, 3) }, workers: {}, tasks: {} };
    const expected = {
      services: { db: of('4', 2048), cache: of('0.5'), memory: of('0.5') },
      webapps: { shop: of('2', 1024, 3), api: of('0.5') },
      workers: { 'shop--queue': of('0.5') },
      tasks: {},
    };
    expect(sizesFor(shop(), { init: 'parent', parent: elsewhere })).toEqual(expected);
    expect(sizesFor(shop(), { init: 'child', child: elsewhere })).toEqual(expected);
  });

  test('has to be sized by hand, if that was asked for: the deployment fails in the words that clients know', () => {
    const previous = sizesFor(shop(), { init: 'default' });
    expect(sizesFor(shop(), { init: 'manual', previous })).toEqual(previous);
    delete previous.services['db'];
    expect(() => sizesFor(shop(), { init: 'manual', previous })).toThrow(/^Invalid deployment: Resources must be configured for 'db'\./);
  });

  test('takes hints from legacy files', () => {
    const model = {
      ...shop(),
      applications: { shop: app('shop', { size: 'L', disk: 2048 }) },
      services: { db: database('db', { disk: 300 }) },
    };
    expect(sizesFor(model, { init: 'default' })).toMatchObject({ webapps: { shop: of('2', 2048) }, services: { db: of('0.5', 300) } });
  });
});

describe('a container that was there', () => {
  const previous: Sizes = {
    services: { db: of('2', 600), cache: of('1'), gone: of('1', 512) },
    webapps: { shop: of('0.25', 512, 4), api: of('8') },
    workers: { 'shop--queue': of('4') },
    tasks: {},
  };

  test('keeps its size; what is no longer configured is forgotten', () => {
    const sizes = sizesFor(shop(), { init: 'minimum', previous });
    expect(sizes).toEqual({ ...previous, services: { db: of('2', 600), cache: of('1'), memory: of('0.1') } });
  });

  test('has disk enough for the data of its parent, whatever it had', () => {
    const parent: Sizes = { services: { db: of('0.1', 5000) }, webapps: { shop: of('0.1', 256) }, workers: {}, tasks: {} };
    const sizes = sizesFor(shop(), { init: 'minimum', previous, parent });
    expect([sizes.services['db'], sizes.webapps['shop']]).toEqual([of('2', 5000), of('0.25', 512, 4)]);
    expect(sizesFor(shop(), { init: 'minimum', parent }).services['db']).toEqual(of('0.1', 5000));
  });

  test('gets a disk with its first mount', () => {
    const model = shop();
    const mounts = { '/data': { source: 'storage', source_path: 'data', service: null } } as const;
    expect(
      sizesFor({ ...model, applications: { ...model.applications, api: app('api', { mounts }) } }, { init: 'default', previous }).webapps[
        'api'
      ],
    ).toEqual(of('8', 512));
  });
});

describe('what somebody chose', () => {
  const previous = sizesFor(shop(), { init: 'default' });

  test('goes before what was there, and leaves the rest of it', () => {
    const chosen = {
      webapps: { shop: { instance_count: 3 } },
      services: { db: { disk: 2048 } },
      workers: { 'shop--queue': { profile_size: '1' } },
    };
    expect(sizesFor(shop(), { init: 'minimum', previous, chosen })).toEqual({
      services: { ...previous.services, db: of('0.5', 2048) },
      webapps: { ...previous.webapps, shop: of('0.5', 512, 3) },
      workers: { 'shop--queue': of('1') },
      tasks: {},
    });
  });

  test('is enough where sizes are chosen by hand, once it names a size; the rest is as usual', () => {
    const { db: _, ...services } = previous.services;
    const from = { init: 'manual', previous: { ...previous, services } } as const;
    expect(sizesAsFarAs(shop(), { ...from, chosen: { services: { db: { disk: 1024 } } } })).toMatchObject({
      sizes: { services },
      unsized: ['db'],
    });
    const chosen = { services: { db: { profile_size: '0.25' } } };
    expect(sizesFor(shop(), { ...from, chosen }).services['db']).toEqual(of('0.25', 512));
  });

  test('of something that is not there counts for nothing', () => {
    const chosen = { webapps: { constructor: { instance_count: 3 }, gone: { profile_size: '8' } } };
    expect(sizesFor(shop(), { init: 'default', previous, chosen })).toEqual(previous);
  });
});

test('what is new gets the sizes of the parent, and in development those that the operator says, unless sizes are chosen by hand', () => {
  const from = (type: string, sizes_by_hand = false) => usualInit({ developmentSizes: 'minimum' }, { type, sizes_by_hand });
  expect([from('production'), from('staging'), from('development'), from('development', true)]).toEqual([
    'parent',
    'parent',
    'minimum',
    'manual',
  ]);
});

test('a volume belongs to whom its mounts say: the container itself, or another', () => {
  const model = shop();
  const shared = { '/shared': { source: 'storage', source_path: 'shared', service: 'api' } } as const;
  const local = { '/tmp': { source: 'instance', source_path: 'tmp', service: null } } as const;
  const own = { '/spool': { source: 'storage', source_path: 'spool', service: null } } as const;
  const applications = {
    shop: app('shop', { mounts: shared, workers: { queue: worker({ mounts: own }) } }),
    api: app('api', { mounts: local }),
  };
  expect(storageOwners({ ...model, applications })).toEqual(new Set(['api', 'shop--queue']));
  expect(
    sizesFor(
      { ...model, applications, services: { cache: cache('cache'), queue: service('queue', 'rabbitmq:3.10') } },
      { init: 'minimum' },
    ),
  ).toEqual({
    services: { cache: of('0.1'), queue: of('0.1', 256) },
    webapps: { shop: of('0.1'), api: of('0.1', 256) },
    workers: { 'shop--queue': of('0.1', 256) },
    tasks: {},
  });
});

test('disks are counted in bytes where they are made', () => {
  expect([diskBytes(of('1', 512)), diskBytes(of('1'))]).toEqual([512 * 2 ** 20, undefined]);
});
