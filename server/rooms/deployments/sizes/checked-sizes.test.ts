import { describe, expect, test } from 'vitest';
import { Problem } from '../../../kernel/problem.ts';
import { sampleStack, shop } from '../../../testing/stack.ts';
import { checkedSizes, type ResourcesChange } from './checked-sizes.ts';
import { remaining, together } from './chosen-sizes.ts';

const { sizes } = sampleStack();
const bounds = { instancesMax: 8, autoscaled: new Set<string>(), disks: sizes };
const check = (change: ResourcesChange, autoscaled = bounds.autoscaled) => checkedSizes(shop(), change, { ...bounds, autoscaled });

function mistakes(change: ResourcesChange, autoscaled?: Set<string>) {
  try {
    check(change, autoscaled);
  } catch (error) {
    if (error instanceof Problem) return error.fields ?? error.message;
    throw error;
  }
  return undefined;
}

describe('a choice of sizes', () => {
  test('is what was named, and nothing beside it', () => {
    expect(
      check({
        webapps: { shop: { resources: { profile_size: '2' }, disk: 2048 }, api: { instance_count: 8 } },
        services: { db: { disk: 512 } },
        workers: {},
      }),
    ).toEqual({
      services: { db: { disk: 512 } },
      webapps: { shop: { profile_size: '2', disk: 2048 }, api: { instance_count: 8 } },
      workers: {},
      tasks: {},
    });
  });

  test('is refused with all its mistakes at once, each by its field', () => {
    const found = mistakes({
      webapps: { shop: { resources: { profile_size: '3' }, instance_count: 9, disk: 600 }, gone: {} },
      services: { db: { instance_count: 2, disk: 100 }, cache: { disk: 256 }, constructor: {} },
      workers: { 'shop--queue': { resources: { profile_size: 'toString' } } },
      tasks: { report: {} },
    });
    expect(found).toEqual({
      'webapps.shop.resources.profile_size': 'must be one of the sizes of HIGH_CPU: 0.1, 0.25, 0.5, 1, 2, 4, 6, 8',
      'webapps.shop.instance_count': 'must be at most 8',
      'webapps.shop.disk': expect.stringMatching(/^cannot be less than the 1024 MB that it has: .* disks only grow$/),
      'webapps.gone': 'does not name any application of this environment; choose from shop, api',
      'services.db.instance_count': 'cannot be set: a service has one instance',
      'services.db.disk': 'must be at least 256 MB',
      'services.cache.disk': 'cannot be set: redis keeps nothing on a disk',
      'services.constructor': 'does not name any service of this environment; choose from db, cache, memory',
      'workers.shop--queue.resources.profile_size': expect.stringMatching(/^must be one of the sizes of HIGH_CPU/),
      'tasks.report': 'does not name any task of this environment; there is none',
    });
  });

  test('of the number of instances is refused where the platform chooses it, and of everything else is not', () => {
    const autoscaled = new Set(['api']);
    expect(mistakes({ webapps: { api: { instance_count: 2 } } }, autoscaled)).toEqual({
      'webapps.api.instance_count': expect.stringMatching(/^cannot be set while autoscaling is on/),
    });
    expect(check({ webapps: { api: { resources: { profile_size: '2' } }, shop: { instance_count: 2 } } }, autoscaled)).toMatchObject({
      webapps: { api: { profile_size: '2' }, shop: { instance_count: 2 } },
    });
  });

  test('of nothing is refused', () => {
    for (const nothing of [{}, { webapps: {} }, { webapps: { shop: {} } }, { webapps: { shop: { resources: {} } } }])
      expect(mistakes(nothing)).toMatch(/^Nothing is chosen/);
  });

  test('may make a disk smaller that holds nothing yet', () => {
    const disks = undefined;
    expect(checkedSizes(shop(), { services: { db: { disk: 300 } } }, { ...bounds, disks })).toMatchObject({
      services: { db: { disk: 300 } },
    });
  });
});

test('choices add up, and what a deployment has is no longer only chosen', () => {
  const first = { webapps: { shop: { profile_size: '2' } }, services: { db: { disk: 1024 } } };
  const both = together(first, { webapps: { shop: { instance_count: 4 } }, workers: { 'shop--queue': { profile_size: '1' } } });
  expect(both).toEqual({
    services: { db: { disk: 1024 } },
    webapps: { shop: { profile_size: '2', instance_count: 4 } },
    workers: { 'shop--queue': { profile_size: '1' } },
  });
  const deployed = { ...sizes, webapps: { ...sizes.webapps, shop: { profile_size: '2', instance_count: 2, disk: 1024 } } };
  expect(remaining(both, deployed)).toEqual({ ...both, webapps: { shop: { instance_count: 4 } } });
  expect(remaining(first, { ...deployed, services: { db: { profile_size: '0.5', instance_count: 1, disk: 1024 } } })).toEqual({});
});
