import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import type { Image, Images } from './images.ts';
import { withRegistryTypes } from './registry-types.ts';

const folder = mkdtempSync(join(tmpdir(), 'offshoot-pins-'));
afterAll(() => rmSync(folder, { recursive: true }));

const reference = 'registry.example.org/notes:1';
const tools = { oci: { versions: [{ version: 'image', recipes: [] }] } };
const catalogue = {
  notes: { versions: [{ version: '1', recipes: [], image: reference }] },
  plain: { versions: [{ version: '1', recipes: [] }] },
};

/** A registry in memory, whose tag stands for `digest`; what was brought is here. */
function openRegistry() {
  const registry = { digest: 'sha256:one', isAway: false, asked: 0 };
  const brought = new Set<string>();
  const imageOf = (type: string): Image => ({
    type,
    hash: type,
    layers: [...(type === 'oci:image' ? ['/debian'] : []), `/${type}`],
    bytes: 10,
  });
  const images = {
    ensure: async (type: string) => imageOf(type),
    built: async (type: string) => (type.startsWith('oci-image:') && !brought.has(type) ? undefined : imageOf(type)),
    update: async () => ({ packages: ['openssl 3.0.1 becomes 3.0.2'], types: ['plain:1'] }),
    bring: async () => {
      registry.asked++;
      if (registry.isAway) throw new Problem('unavailable', 'The registry does not answer.');
      const type = `oci-image:registry.example.org/notes@${registry.digest}`;
      brought.add(type);
      return { ...imageOf(type), digest: registry.digest };
    },
  };
  return { registry, images: images as unknown as Images };
}

test('a type that is an image of a registry is what its tag stood for when it was first needed, until an update', async () => {
  const { registry, images: plain } = openRegistry();
  const images = withRegistryTypes(plain, folder, catalogue);
  expect(await images.built('notes:1')).toBeUndefined();
  const first = await images.ensure('notes:1');
  expect(first).toMatchObject({ type: 'notes:1', layers: ['/oci-image:registry.example.org/notes@sha256:one'] });

  registry.digest = 'sha256:two';
  expect(await images.ensure('notes:1')).toEqual(first);
  expect(await withRegistryTypes(plain, folder, catalogue).built('notes:1')).toEqual(first);
  expect(registry.asked).toBe(1);

  const lines: string[] = [];
  registry.isAway = true;
  expect((await images.update((line) => lines.push(line))).types).toEqual(['plain:1']);
  expect(lines).toEqual([`${reference} stays as it is: The registry does not answer.`]);
  expect(await images.ensure('notes:1')).toEqual(first);

  registry.isAway = false;
  const { packages, types } = await images.update();
  expect(types).toEqual(['plain:1', 'notes:1']);
  expect(packages.at(-1)).toBe(`${reference} becomes sha256:two`);
  expect((await images.ensure('notes:1')).layers).toEqual(['/oci-image:registry.example.org/notes@sha256:two']);
  expect((await images.update()).types).toEqual(['plain:1']);
});

test('programs of ours lie below such an image, and other types are left as they are', async () => {
  const { images: plain } = openRegistry();
  const images = withRegistryTypes(plain, folder, { ...catalogue, ...tools });
  expect(await images.ensure('notes:1')).toMatchObject({ layers: ['/oci:image', expect.stringContaining('notes@sha256')], bytes: 20 });
  expect(await images.ensure('plain:1')).toEqual(await plain.ensure('plain:1'));
  await expect(images.ensure('other:1')).rejects.toThrow('There is no type "other"');
});
