import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canRunContainers, testImagesFolder, whyNoContainers } from '../../testing/images.ts';
import { openImages } from './cached-images.ts';
import { builtTypesOf, catalogue, recipesOf } from '../../catalogue/catalogue.ts';
import type { Progress } from './images.ts';
import { createFolders } from './layer-cache.ts';
import { layersOf } from './recipe.ts';
import { relationshipOf } from '../../catalogue/service.ts';

const refusalOf = (type: string) => {
  try {
    return recipesOf(catalogue, type);
  } catch (error) {
    return error;
  }
};

test('asking for what is not in the catalogue names what is, the likeliest first', () => {
  expect(refusalOf('node:22')).toMatchObject({
    kind: 'invalid-request',
    message: expect.stringMatching(/^There is no type "node"; there are nodejs, /),
  });
  expect(refusalOf('postgres:17')).toMatchObject({ message: expect.stringMatching(/; there are postgresql, .*static/) });
  expect(refusalOf('constructor:1')).toMatchObject({ message: expect.stringMatching(/^There is no type "constructor"/) });
  expect(refusalOf('nodejs:23')).toMatchObject({
    message: 'There is no version "23" of nodejs; there are nodejs:24, nodejs:26, nodejs:22, nodejs:20.',
  });
  expect(refusalOf('redis')).toMatchObject({ message: 'Say which version of redis; there are redis:8.0, redis:7.0.' });
});

test('what several images need is one layer, on either architecture', () => {
  for (const architecture of ['x64', 'arm64']) {
    const all = builtTypesOf(catalogue).map((type) => layersOf(recipesOf(catalogue, type), architecture));
    const suites = all.map(([base]) => base?.suite);
    expect(new Set(all.map(([base]) => base?.hash)).size).toBe(new Set(suites).size);
    expect(all.flatMap((image, n) => image.filter(({ below, suite }) => below.length > 0 && suite !== suites[n]))).toEqual([]);
    expect(new Set(all.flat().map(({ hash }) => hash)).size).toBeLessThan(all.flat().length / 2);
  }
});

test('a relationship document says who, where and what', () => {
  const { service } = catalogue['postgresql']!;
  expect(relationshipOf(service!.relationship, { name: 'main', password: 'x' }, 'main')).toEqual({
    rel: 'postgresql',
    scheme: 'pgsql',
    port: 5432,
    username: 'main',
    password: 'x',
    path: 'main',
    query: { is_master: true },
    fragment: null,
  });
  expect(relationshipOf(catalogue['redis']!.service!.relationship)).toMatchObject({
    scheme: 'redis',
    username: null,
    password: null,
    path: null,
  });
});

/** An image of its own on the shared base, in a folder of its own. */
const [base] = recipesOf(catalogue, 'static:1');
const trial = { trial: { versions: [{ version: '1', recipes: [base!, { kind: 'debian-packages', packages: ['python3'] } as const] }] } };

describe.runIf(canRunContainers)(`building${whyNoContainers}`, { timeout: 600_000 }, () => {
  let folder: string;
  let built: string;

  /** Beside the cache, so that base and downloads come as links to the same files. */
  beforeEach(async () => {
    const [layer = ''] = (await openImages(testImagesFolder, catalogue).ensure('static:1')).layers;
    built = basename(dirname(layer));
    folder = mkdtempSync(`${testImagesFolder}-test-`);
    createFolders(folder);
    execFileSync('cp', ['--archive', '--link', '--', dirname(layer), join(folder, 'layers')]);
    // What is downloaded already saves time; other tests may be changing it, so what cannot be had is left.
    const apt = join('apt', base?.kind === 'debian-base' ? base.suite : '');
    mkdirSync(join(folder, apt));
    spawnSync('cp', ['--archive', '--link', '--', join(testImagesFolder, apt, 'archives'), join(folder, apt)]);
    rmSync(join(folder, apt, 'archives', 'partial'), { recursive: true, force: true });
  }, 600_000);
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Processes and mounts that have to do with the folder. */
  const traces = () => {
    const processes = readdirSync('/proc').filter(
      (id) => /^\d+$/.test(id) && Number(id) !== process.pid && commandOf(id).includes(basename(folder)),
    );
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(basename(folder)));
    return [...processes.map(commandOf), ...mounts];
  };
  const commandOf = (id: string) => (existsSync(`/proc/${id}/cmdline`) ? readCommand(id) : '');
  const layerNames = () => readdirSync(join(folder, 'layers')).toSorted();

  test('a build that is killed with -9 leaves nothing running, mounted or taken for complete', async () => {
    const program = `
      import { openImages } from ${JSON.stringify(new URL('cached-images.ts', import.meta.url).href)};
      await openImages(process.argv[1], JSON.parse(process.argv[2])).ensure('trial:1', ({ line }) => console.log(line));
    `;
    const builder = spawn(process.execPath, ['--input-type=module', '--eval', program, folder, JSON.stringify(trial)], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const chunk of builder.stdout) if (String(chunk).includes('Unpacking')) break;
    expect(layerNames()).toHaveLength(2);
    const exit = once(builder, 'exit');
    builder.kill('SIGKILL');
    await exit;
    await expect.poll(traces, { timeout: 60_000 }).toEqual([]);

    const images = openImages(folder, trial);
    expect(await images.built('trial:1')).toBeUndefined();
    await images.collect({ ageSecondsMax: Infinity, bytesMax: Infinity });
    expect(layerNames()).toEqual([built]);
  });

  test('a build tells how far it is, and can be stopped', async () => {
    const stop = new AbortController();
    const told: Progress[] = [];
    const images = openImages(folder, trial);
    const onProgress = (progress: Progress) => {
      told.push(progress);
      if (progress.line.startsWith('Unpacking')) stop.abort(new Error('Never mind.'));
    };
    await expect(images.ensure('trial:1', onProgress, stop.signal)).rejects.toThrow('Never mind.');
    expect(traces()).toEqual([]);
    expect(layerNames()).toEqual([built]);

    told.length = 0;
    const { layers, bytes } = await images.ensure('trial:1', (progress) => told.push(progress));
    expect(existsSync(join(layers[1]!, 'usr/bin/python3'))).toBe(true);
    expect(bytes).toBeGreaterThan(100e6);
    expect(told.map(({ percent }) => percent)).toEqual(told.map(({ percent }) => percent).toSorted((a, b) => a - b));
    expect(new Set(told.map(({ percent }) => percent)).size).toBeGreaterThan(10);
    expect(told.at(-1)).toEqual({ percent: 100, line: 'trial:1 is ready.' });
    expect((await images.built('trial:1'))?.layers).toEqual(layers);
  });

  test('a build that fails says what went wrong', async () => {
    const impossible = {
      trial: { versions: [{ version: '1', recipes: [base!, { kind: 'debian-packages', packages: ['no-such-package'] } as const] }] },
    };
    await expect(openImages(folder, impossible).ensure('trial:1')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('Unable to locate package no-such-package'),
    });
    expect(layerNames()).toEqual([built]);
  });

  test('a package that is not what the catalogue expects is not used', async () => {
    const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`;
    const forged = { kind: 'npm-packages', packages: [{ name: 'corepack', version: '0.34.7', integrity, into: '/usr/local' }] } as const;
    const images = openImages(folder, { trial: { versions: [{ version: '1', recipes: [forged] }] } });
    await expect(images.ensure('trial:1')).rejects.toThrow('corepack 0.34.7 is not what the catalogue expects');
    expect(layerNames()).toEqual([built]);
  });
});

function readCommand(id: string) {
  try {
    return readFileSync(`/proc/${id}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
