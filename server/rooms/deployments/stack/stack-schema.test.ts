/** That every model of the language is understood is in builds/config/test-trees.ts. */
import { expect, test } from 'vitest';
import { app, sampleStack, shop, task } from '../../../testing/stack.ts';
import { parseStack } from './stack-schema.ts';

/** As it is written down, with something else at a place. */
function parsedWith(place: string, value?: unknown) {
  const keys = place.split('|');
  const last = keys.pop() ?? '';
  const written = JSON.parse(JSON.stringify(sampleStack()));
  const at = keys.reduce((inside, key) => inside[key], written);
  at[last] = value;
  return parseStack(JSON.parse(JSON.stringify(written)));
}

test('a stack that was written down is the same when it is read', () => {
  const stack = sampleStack();
  expect(parseStack(JSON.parse(JSON.stringify(stack)))).toEqual({ stack });
  // Of a later version.
  expect(parsedWith('model|applications|shop|later', { is: 'let be' })).toHaveProperty('stack.model.applications.shop.later');
});

test('what does not fit is named', () => {
  const flaws = (place: string, value?: unknown) => {
    const parsed = parsedWith(place, value);
    return 'flaw' in parsed ? parsed.flaw : 'none';
  };
  expect(flaws('model|applications|shop|web')).toBe('model.applications.shop must have required properties web');
  expect(flaws('model|services|db|databases', 'main')).toBe('model.services.db.databases must be array');
  expect(flaws('sizes')).toBe('It must have required properties sizes');
  expect(flaws('secrets|accounts', [])).toMatch(/^secrets\.accounts must be object/);
  expect(flaws('commit_id', '--upload-pack=x')).toMatch(/^commit_id must match pattern/);
  expect(flaws('id', '../../etc')).toMatch(/^id must match pattern/);
  // Names and paths that would be folders elsewhere.
  expect(flaws('model|applications|../shop', app('../shop'))).toBe('model.applications.../shop is a name that cannot be');
  const mounts = 'model|applications|shop|mounts';
  expect(flaws(`${mounts}|/public/uploads|source_path`, 'a/../../../etc')).toMatch(/source_path must match pattern/);
  expect(flaws(`${mounts}|/../etc`, { source: 'storage', source_path: '', service: null })).toMatch(/is a name that cannot be$/);
  expect(flaws('model|applications|shop|source|root', '/a/..')).toMatch(/root must match pattern/);
});

test('what fits and does not fit together is named, too', () => {
  const model = shop();
  const flawWith = (changes: Parameters<typeof sampleStack>[1]) => {
    const parsed = parseStack(sampleStack(model, changes));
    return 'flaw' in parsed ? parsed.flaw : 'none';
  };
  expect(flawWith({ model: { ...model, applications: { ...model.applications, api: app('shop') } } })).toBe(
    'model has shop under the name api',
  );
  expect(flawWith({ slugs: {} })).toBe('slugs.shop is missing');
  expect(flawWith({ model: { ...model, tasks: { report: task('report') } } })).toBe('slugs.report is missing');
  const mounts = { '/files': { source: 'service', source_path: '', service: 'gone' } } as const;
  expect(flawWith({ model: { ...model, applications: { ...model.applications, api: app('api', { mounts }) } } })).toBe(
    'model mounts gone, which is not one of its services',
  );
  const { sizes } = sampleStack();
  const large = { profile_size: '1000', instance_count: 1, disk: null };
  expect(flawWith({ sizes: { ...sizes, webapps: { ...sizes.webapps, api: large } } })).toBe(
    'sizes has 1000 for api, which is not a size of its profile',
  );
});
