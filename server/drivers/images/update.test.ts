import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, testImagesFolder, whyNoContainers } from '../../testing/images.ts';
import { openImages } from './cached-images.ts';
import { catalogue, recipesOf } from '../../catalogue/catalogue.ts';
import type { ImageTypes } from './image-types.ts';
import type { Image, Images } from './images.ts';
import { createFolders } from './layer-cache.ts';

const timeout = 300_000;
const imagesMillisecondsMax = 600_000;
const [base] = recipesOf(catalogue, 'static:1');
const trial: ImageTypes = {
  trial: {
    versions: [
      {
        version: '1',
        recipes: [
          base!,
          { kind: 'debian-packages', packages: ['trial-library'] },
          { kind: 'debian-packages', packages: ['trial-program'] },
          { kind: 'debian-packages', packages: ['trial-tool'], only: ['/opt/trial-tool'] },
        ],
      },
    ],
  },
  plain: { versions: [{ version: '1', recipes: [base!] }] },
};
const everything = { ageSecondsMax: Infinity, bytesMax: Infinity };

describe.runIf(canRunContainers)(`newer packages${whyNoContainers}`, () => {
  let folder: string;
  let repository: string;
  let images: Images;

  /** The base comes from the cache that tests share; all other packages from a folder, as if that were Debian. */
  beforeAll(async () => {
    const [layer = ''] = (await openImages(testImagesFolder, catalogue).ensure('static:1')).layers;
    folder = mkdtempSync(`${testImagesFolder}-test-`);
    createFolders(folder);
    execFileSync('cp', ['--archive', '--link', '--', dirname(layer), join(folder, 'layers')]);
    repository = mkdtempSync(join(tmpdir(), 'offshoot-packages-'));
    images = openImages(folder, trial, { sources: [`deb [trusted=yes] copy:${repository} ./`] });
    for (const name of ['trial-library', 'trial-program', 'trial-tool']) publish(name, '1.0');
  }, imagesMillisecondsMax);
  afterAll(() => {
    for (const path of [folder, repository]) rmSync(path, { recursive: true, force: true });
  });

  const index: Record<string, string> = {};
  let publishedAt = Math.floor(Date.now() / 1000) - 3600;
  /** Its one file says its version. */
  function publish(name: string, version: string, install = 'true') {
    const tree = mkdtempSync(join(tmpdir(), 'offshoot-package-'));
    for (const path of ['DEBIAN', 'opt']) mkdirSync(join(tree, path), { mode: 0o755 });
    const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: Trial <trial@example.org>\nDescription: a trial\n`;
    writeFileSync(join(tree, 'DEBIAN', 'control'), control);
    writeFileSync(join(tree, 'DEBIAN', 'postinst'), `#!/bin/sh\n${install}\n`, { mode: 0o755 });
    writeFileSync(join(tree, 'opt', name), version);
    const file = `${name}_${version}_all.deb`;
    execFileSync('dpkg-deb', ['--build', '--root-owner-group', '--', tree, join(repository, file)]);
    rmSync(tree, { recursive: true });
    const bytes = readFileSync(join(repository, file));
    const sum = createHash('sha256').update(bytes).digest('hex');
    index[name] = `${control}Filename: ./${file}\nSize: ${bytes.length}\nSHA256: ${sum}\n`;
    const list = join(repository, 'Packages');
    writeFileSync(list, Object.values(index).join('\n'));
    // A folder has no signed list of sums as Debian's archive has: apt tells a newer one by its time, to the second.
    publishedAt += 1;
    utimesSync(list, publishedAt, publishedAt);
  }

  const versionIn = ({ layers }: Image, name: string) => {
    const found = layers.map((layer) => join(layer, 'opt', name)).find((file) => existsSync(file));
    return found && readFileSync(found, 'utf8');
  };
  const built = async () => (await images.built('trial:1'))!;

  test('Debian has nothing newer: nothing is built, and images stay what they are', { timeout }, async () => {
    const startedAt = Date.now();
    const image = await images.ensure('trial:1');
    await images.ensure('plain:1');
    expect(['trial-library', 'trial-program', 'trial-tool'].map((name) => versionIn(image, name))).toEqual(['1.0', '1.0', '1.0']);
    expect(images.secondsSinceUpdate()).toBeLessThan((Date.now() - startedAt) / 1000 + 1);
    expect(await images.update()).toEqual({ packages: [], types: [] });
    expect(await built()).toEqual(image);
  });

  test(
    'what has a newer package is built anew with all above it, under other names, beside what runs; the rest stays',
    { timeout },
    async () => {
      const [before, plain] = [await built(), await images.built('plain:1')];
      publish('trial-library', '1.1');
      expect(await images.ensure('trial:1')).toEqual(before);
      expect(await images.update()).toEqual({ packages: ['trial-library 1.0 becomes 1.1'], types: ['trial:1'] });
      const after = await images.ensure('trial:1');
      expect([versionIn(after, 'trial-library'), versionIn(before, 'trial-library')]).toEqual(['1.1', '1.0']);
      expect(after.layers.map((layer, n) => layer === before.layers[n])).toEqual([true, false, false, true]);
      expect(after.hash).not.toBe(before.hash);
      expect(await images.built('plain:1')).toEqual(plain);
      expect(await images.update()).toEqual({ packages: [], types: [] });

      publish('trial-tool', '2.0');
      expect(await images.update()).toMatchObject({ packages: ['trial-tool 1.0 becomes 2.0'] });
      expect((await built()).layers.map((layer, n) => layer === after.layers[n])).toEqual([true, true, true, false]);
      expect(versionIn(await built(), 'trial-tool')).toBe('2.0');
    },
  );

  let replaced: Image;
  test('a package that cannot be installed changes nothing, and is tried again', { timeout }, async () => {
    const before = (replaced = await built());
    publish('trial-program', '1.1', 'exit 1');
    await expect(images.update()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await built()).toEqual(before);
    publish('trial-program', '1.2');
    expect(await images.update()).toEqual({ packages: ['trial-program 1.0 becomes 1.2'], types: ['trial:1'] });
    expect(versionIn(await built(), 'trial-program')).toBe('1.2');
  });

  test('what was replaced goes when nothing runs on it any more', { timeout }, async () => {
    const { layers } = replaced;
    const layer = layers[2]!;
    const isThere = () => existsSync(layer);
    expect([await images.collect(everything), isThere()]).toEqual([[], true]);
    const longAgo = new Date(Date.now() - 2 * 3600_000);
    utimesSync(join(dirname(layer), 'used'), longAgo, longAgo);
    expect([await images.collect(everything, new Set(layers)), isThere()]).toEqual([[], true]);
    const { taken, collectable } = images.bytes(everything);
    expect([collectable > 0, taken > collectable]).toEqual([true, true]);
    // As a container would have it, of whatever installation.
    const at = mkdtempSync(join(tmpdir(), 'offshoot-root-'));
    const lower = `lowerdir=${layer}:${layers[0]}`;
    execFileSync('mount', ['-t', 'overlay', '-o', lower, 'overlay', at]);
    try {
      expect([await images.collect(everything), isThere()]).toEqual([[], true]);
    } finally {
      execFileSync('umount', [at]);
      rmSync(at, { recursive: true });
    }
    expect([await images.collect(everything), isThere()]).toEqual([[basename(dirname(layer))], false]);
    expect(statSync((await built()).layers[2]!).isDirectory()).toBe(true);
  });
});
