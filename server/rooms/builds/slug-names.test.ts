import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildNameOf, buildVolumeKind, cacheNameOf, projectOfCache, slugOf, slugVolumeOfBuild } from './slugs.ts';

const id = fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz234567'.split('')), minLength: 13, maxLength: 13 });
const app = fc.string({ unit: fc.constantFrom(...'ab0-_'.split('')), minLength: 1, maxLength: 63 });
const projectOfSlug = (volume: string) => /^slug-([a-z0-9]+)-[0-9a-f]{32}$/.exec(volume)?.[1];

test('slugs, builds and caches are named so that each leads back to its project, and none is taken for another kind', () => {
  fc.assert(
    fc.property(id, app, id, fc.nat(), fc.option(app, { nil: undefined }), (project, name, word, generation, fork) => {
      const slug = slugOf(project, name, word, `${name}-${word}-config`);
      const [build, cache] = [buildNameOf(slug, word), cacheNameOf(project, generation, fork)];
      expect(projectOfSlug(slug.volume)).toBe(project);
      expect(slugVolumeOfBuild(build)).toBe(slug.volume);
      expect(projectOfCache(cache)).toBe(project);
      expect([slug.volume, build, cache].map(buildVolumeKind)).toEqual(['slugs', undefined, 'caches']);
      expect([slugVolumeOfBuild(slug.volume), slugVolumeOfBuild(cache), projectOfCache(build)]).toEqual([undefined, undefined, undefined]);
    }),
  );
});

test('two projects never have the same slug, whatever their apps are called', () => {
  fc.assert(
    fc.property(id, id, app, app, (one, other, its, theirs) => {
      fc.pre(one !== other);
      expect(slugOf(one, its, 't', `${its}-t-c`).slug_id).not.toBe(slugOf(other, theirs, 't', `${theirs}-t-c`).slug_id);
    }),
  );
});
