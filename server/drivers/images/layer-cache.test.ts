import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withFileLock } from '../file-lock.ts';
import { collectLayers, createFolders, ensureLayer, records, rootOf, useLayer } from './layer-cache.ts';
import { type Layer, layersOf, type Recipe } from './recipe.ts';

const never = new AbortController().signal;
const silent = { say: () => {}, progress: () => {} };
const daysUnused = 40;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
  createFolders(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const packages = (name: string): Recipe => ({ kind: 'debian-packages', packages: [name] });
const layersCalled = (...names: string[]): Layer[] => layersOf(names.map(packages), 'x64');

async function put(layer: Layer, { kilobytes = 1, unusedDays = daysUnused } = {}) {
  const build = async (scratch: string) => {
    mkdirSync(join(scratch, 'root'));
    writeFileSync(join(scratch, 'root', 'file'), Buffer.alloc(kilobytes * 1024));
  };
  await ensureLayer(folder, layer, build, silent, never);
  const at = new Date(Date.now() - unusedDays * 86_400_000);
  utimesSync(join(folder, 'layers', layer.hash, 'used'), at, at);
}

const hashes = (layers: readonly Layer[]) => layers.map(({ hash }) => hash);
const left = () => records(folder).map(({ hash }) => hash);
const collect = (limits: { ageSecondsMax?: number; bytesMax?: number }, keep: string[] = [], current = new Map<string, string>()) =>
  collectLayers(folder, { ageSecondsMax: Infinity, bytesMax: Infinity, ...limits }, { keep: new Set(keep), current });

test('a layer is named after all that goes into it, and nothing else', () => {
  const [a, b] = layersCalled('a', 'b');
  const npm: Recipe = { kind: 'files', files: { '/one': '1', '/two': '2' } };
  const reordered: Recipe = { files: { '/two': '2', '/one': '1' }, kind: 'files' };
  expect(layersCalled('a', 'b')).toEqual([a, b]);
  expect(layersOf([npm], 'x64')).toEqual(layersOf([reordered], 'x64'));
  expect(layersCalled('b')[0]?.hash).not.toBe(b?.hash);
  expect(layersOf([packages('a')], 'arm64')[0]?.hash).not.toBe(a?.hash);
  expect(layersOf([packages('a'), npm], 'x64')[1]?.hash).toBe(layersOf([npm], 'x64')[0]?.hash);
  expect(new Set(hashes([a, b, ...layersOf([npm], 'x64')].flatMap((layer) => layer ?? []))).size).toBe(3);
});

/** Another process builds the layer, taking its time, and says when it begins and when it has it. */
function startBuilder(layer: Layer, milliseconds: number) {
  const program = `
    import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { ensureLayer } from ${JSON.stringify(new URL('layer-cache.ts', import.meta.url).href)};
    const [folder, layer, milliseconds] = process.argv.slice(1);
    await ensureLayer(folder, JSON.parse(layer), async (scratch) => {
      mkdirSync(scratch + '/root');
      appendFileSync(folder + '/log', 'begun\\n');
      await sleep(Number(milliseconds));
      writeFileSync(scratch + '/root/file', 'whole');
    }, { say() {}, progress() {} }, new AbortController().signal);
    appendFileSync(folder + '/log', 'done\\n');
  `;
  const args = ['--input-type=module', '--eval', program, folder, JSON.stringify(layer), String(milliseconds)];
  return spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'ignore', 'inherit'] });
}

const log = () => (existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8').trim().split('\n') : []);

test('two processes that need the same layer build it once', async () => {
  const [layer] = layersCalled('a') as [Layer];
  const builders = [startBuilder(layer, 700), startBuilder(layer, 700)];
  expect(await Promise.all(builders.map(async (builder) => (await once(builder, 'exit'))[0]))).toEqual([0, 0]);
  expect(log()).toEqual(['begun', 'done', 'done']);
});

test('a build that is killed leaves nothing that counts as a layer, and the next one goes ahead', async () => {
  const [layer] = layersCalled('a') as [Layer];
  const builder = startBuilder(layer, 600_000);
  await expect.poll(log, { timeout: 60_000 }).toEqual(['begun']);
  expect(await collect({})).toEqual([]);
  expect(readdirSync(join(folder, 'layers'))).toHaveLength(1);
  const exit = once(builder, 'exit');
  builder.kill('SIGKILL');
  await exit;
  expect(left()).toEqual([]);
  expect(await useLayer(folder, layer.hash, never)).toBeUndefined();

  await put(layer);
  expect(readdirSync(join(folder, 'layers'))).toEqual([layer.hash]);
  expect(existsSync(join(rootOf(folder, layer.hash), 'file'))).toBe(true);
});

test('a build that fails leaves nothing, and says why', async () => {
  const [layer] = layersCalled('a') as [Layer];
  const build = async (scratch: string) => {
    appendFileSync(join(scratch, 'half'), '');
    throw new Error('no such package');
  };
  await expect(ensureLayer(folder, layer, build, silent, never)).rejects.toThrow('no such package');
  expect(readdirSync(join(folder, 'layers'))).toEqual([]);
});

test('what was not used for long is removed, unless it is kept or lies below what is kept', async () => {
  const [base, app, unused, recent] = layersCalled('base', 'app', 'unused', 'recent') as [Layer, Layer, Layer, Layer];
  const fresh = { ...recent, below: [] };
  for (const layer of [base, app, unused]) await put(layer);
  await put(fresh, { unusedDays: 0.01 });
  expect(await collect({ ageSecondsMax: 60 }, [app.hash])).toEqual([unused.hash]);
  expect(left().toSorted()).toEqual(hashes([base, app, fresh]).toSorted());
  expect(await collect({ ageSecondsMax: 60 })).toEqual([app.hash, base.hash]);
  expect(left()).toEqual([fresh.hash]);
});

test('a layer that was built anew has another name, and so has what lies above it; what it replaces goes when nobody uses it', async () => {
  const recipes = [packages('base'), packages('app')];
  const before = layersOf(recipes, 'x64');
  const after = layersOf(recipes, 'x64', { [before[0]!.key]: 'newer' });
  expect(after.map(({ key }) => key)).toEqual(hashes(before));
  expect(new Set(hashes([...before, ...after])).size).toBe(4);
  expect(layersOf(recipes, 'x64', { [before[1]!.key]: 'newer' })[0]).toEqual(before[0]);
  for (const layer of [...before, ...after]) await put(layer, { unusedDays: 1 });
  const current = new Map(after.map(({ key, hash }) => [key, hash]));
  expect(await collect({}, [before[1]!.hash], current)).toEqual([]);
  expect(await collect({}, [], current)).toEqual(hashes(before).toReversed());
  expect(left().toSorted()).toEqual(hashes(after).toSorted());
});

test('when all together are too large, those longest unused go first, and only as many as needed', async () => {
  const layers = ['a', 'b', 'c'].flatMap((name) => layersCalled(name));
  for (const [index, layer] of layers.entries()) await put(layer, { kilobytes: 1000, unusedDays: [2, 9, 5][index]! });
  expect(await collect({ bytesMax: 1_100_000 })).toEqual([layers[1]!.hash, layers[2]!.hash]);
  expect(left()).toEqual([layers[0]!.hash]);
});

test('a use puts off removal, and what broken builds left is removed', async () => {
  const [layer, gone] = layersCalled('a', 'b') as [Layer, Layer];
  await put(layer);
  mkdirSync(join(folder, 'layers', `${gone.hash}.0badcafe.building`, 'root'), { recursive: true });
  expect(await useLayer(folder, layer.hash, never)).toMatchObject({ hash: layer.hash, below: [] });
  expect(await collect({ ageSecondsMax: 0, bytesMax: 0 })).toEqual([]);
  expect(readdirSync(join(folder, 'layers'))).toEqual([layer.hash]);
});

test('waiting for another build can be given up', async () => {
  const [layer] = layersCalled('a') as [Layer];
  await withFileLock(join(folder, 'locks', layer.hash), never, async () => {
    await expect(ensureLayer(folder, layer, async () => {}, silent, AbortSignal.timeout(100))).rejects.toThrow(/aborted/);
  });
});
