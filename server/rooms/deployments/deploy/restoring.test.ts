import { describe, expect, test } from 'vitest';
import { database, sampleStack, service, shop } from '../../../testing/stack.ts';
import { refuseUnfit, restoredVolumes, sizesBefore, type Restoring } from './restoring.ts';
import { sizesFor } from '../sizes/sizes.ts';
import type { Size, Stack } from '../stack/stack.ts';

const restoring = (changes: Partial<Restoring> = {}): Restoring => ({
  title: 'backup x of main',
  stack: sampleStack(),
  restoresCode: true,
  isElsewhere: false,
  init: 'backup',
  restoresSizes: true,
  parts: [
    { name: 'data-db-postgresql', bytes: 1 },
    { name: 'storage-shop', bytes: 1 },
    { name: 'slug-shop', bytes: 1 },
  ],
  bytesWithoutHoles: 0,
  fetch: () => Promise.reject(new Error('not here')),
  ...changes,
});

const withDatabase = (type: string): Stack => {
  const model = shop();
  return sampleStack({ ...model, services: { ...model.services, db: database('db', { type }) } });
};

describe('a backup is refused before anything is touched', () => {
  const refusal = (given: Restoring, current?: Stack, model = given.restoresCode ? given.stack.model : (current ?? given.stack).model) => {
    try {
      refuseUnfit(given, model, current);
      return 'fits';
    } catch (error) {
      return error instanceof Error ? error.message : 'something else';
    }
  };

  test('where it needs an engine that is not there any more, unless only its data is wanted', () => {
    const old = restoring({ stack: withDatabase('postgresql:9.3') });
    expect(refusal(old)).toMatch(/postgresql:9\.3, which service 'db' had, is not available any more/);
    const gone = sampleStack({ ...shop(), services: { engine: service('engine', 'gone:1') } });
    expect(refusal(restoring({ stack: gone }))).toMatch(/gone:1, which service 'engine' had/);
    expect(refusal(restoring({ stack: gone, restoresCode: false }), sampleStack())).toBe('fits');
    expect(refusal(restoring(), sampleStack())).toBe('fits');
  });

  test('where another major version of an engine runs than its data is of', () => {
    const newer = withDatabase('postgresql:18');
    expect(refusal(restoring(), newer)).toMatch(/its service 'db' is postgresql:17, and the environment has postgresql:18/);
    expect(refusal(restoring({ restoresCode: false }), newer)).toMatch(
      /its service 'db' is postgresql:17, and the environment has postgresql:18/,
    );
    // Another engine has another volume.
    expect(refusal(restoring(), withDatabase('mariadb:11.8'))).toBe('fits');
  });
});

test('data goes where there is a place for it, and only what the backup has', () => {
  const wanted = sampleStack(shop(), { id: 'anotherstacka' });
  const names = (given: Restoring) => restoredVolumes(wanted, given).map(({ to }) => to);
  expect(names(restoring())).toEqual(['stack-anotherstacka-data-db-postgresql', 'stack-anotherstacka-storage-shop']);
  expect(names(restoring({ parts: [{ name: 'storage-shop', bytes: 1 }] }))).toEqual(['stack-anotherstacka-storage-shop']);
  expect(names(restoring({ stack: withDatabase('mariadb:11.8') }))).toEqual(['stack-anotherstacka-storage-shop']);
});

describe('sizes', () => {
  const size = (profile_size: string, disk: number | null = null): Size => ({ profile_size, instance_count: 1, disk });
  const now = {
    services: { db: size('2', 256), memory: size('0.25') },
    webapps: { shop: size('2', 4096) },
    workers: {},
    tasks: {},
  };
  const sizesOf = (given: Restoring, current: typeof now | undefined) =>
    sizesFor(given.stack.model, { previous: sizesBefore(current, given), backup: given.stack.sizes, init: given.init });

  test('of the same environment are those of then, unless they are to stay', () => {
    const { services, webapps } = sizesOf(restoring(), now);
    expect([services['db'], webapps['shop'], services['memory'], services['cache']]).toEqual([
      size('0.5', 512),
      { ...size('1', 1024), instance_count: 2 },
      size('0.1'),
      size('0.1'),
    ]);
    const kept = sizesOf(restoring({ restoresSizes: false, init: 'minimum' }), now);
    // The data of then needs its disk; what was removed since is new.
    expect([kept.services['db'], kept.webapps['shop'], kept.workers['shop--queue']]).toEqual([
      size('2', 512),
      size('2', 4096),
      size('0.1'),
    ]);
  });

  test('of another environment are as init says, for all that the backup has', () => {
    const given = restoring({ isElsewhere: true, init: 'default' });
    expect(sizesOf(given, now)).toMatchObject({ services: { db: size('0.5', 512) }, webapps: { shop: size('0.5', 1024) } });
    expect(sizesOf({ ...given, init: 'backup' }, undefined).webapps['shop']).toEqual({ ...size('1', 1024), instance_count: 2 });
    expect(sizesOf({ ...given, init: 'minimum', restoresSizes: false }, now).services['db']).toEqual(size('2', 512));
  });
});
