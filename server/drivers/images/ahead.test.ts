import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canRunContainers, testImagesFolder, whyNoContainers } from '../../testing/images.ts';
import { withFileLock } from '../file-lock.ts';
import { bringAhead, isBringing, readAhead } from './ahead.ts';
import { openImages } from './cached-images.ts';
import { catalogue } from '../../catalogue/catalogue.ts';
import { createFolders, ensureLayer } from './layer-cache.ts';
import { type Layer, layersOf } from './recipe.ts';
import { runAhead } from './start-ahead.ts';
import { whileWanted } from './wanted-layers.ts';

const waiting = { timeout: 30_000 };
const never = new AbortController().signal;
let folder: string;
/** What happened, in order. */
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
  createFolders(folder);
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const layersOfType = (type: string): Layer[] => layersOf([{ kind: 'debian-packages', packages: [type] }], 'x64');
const hashOf = (type: string) => layersOfType(type)[0]!.hash;

/** Types of one layer each, whose builds end when they are told to. */
function openTrial() {
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const endOf = (type: string) => {
    const end = ends.get(type) ?? Promise.withResolvers<void>();
    ends.set(type, end);
    return end;
  };
  const bringing = {
    folder,
    layersOf: layersOfType,
    ensure: async (type: string, onProgress: (progress: { percent: number; line: string }) => void, signal: AbortSignal) => {
      const build = async (scratch: string) => {
        told.push(`${type} begins`);
        onProgress({ percent: 40, line: 'Unpacking' });
        const stopped = Promise.withResolvers<never>();
        signal.addEventListener('abort', () => stopped.reject(signal.reason));
        await Promise.race([endOf(type).promise, stopped.promise]);
        mkdirSync(join(scratch, 'root'));
      };
      const silent = { say: () => {}, progress: () => {} };
      await ensureLayer(folder, layersOfType(type)[0]!, build, silent, signal);
      return { type, hash: '', layers: [], bytes: 0 };
    },
    report: {
      say: (line: string) => void told.push(line.replace(/\d+ s/, '… s')),
      hurry: (isWaitedFor: boolean) => void (isWaitedFor && told.push('hurries')),
    },
  };
  return { bring: (...types: string[]) => bringAhead(bringing, types, never), end: (type: string) => endOf(type).resolve() };
}

test('types are brought one after the other, each once, and how far it is can be read meanwhile', async () => {
  const { bring, end } = openTrial();
  const bringing = bring('a', 'b');
  await expect.poll(() => readAhead(folder), waiting).toEqual({ brought: {}, bringing: { type: 'a', percent: 40 } });
  expect(await isBringing(folder)).toBe(true);
  await bring('c');
  end('a');
  end('b');
  await bringing;
  expect(told).toEqual(['a begins', 'a is there, after … s', 'b begins', 'b is there, after … s']);
  expect(Object.keys(readAhead(folder).brought)).toEqual(['a', 'b']);
  expect(await isBringing(folder)).toBe(false);
  rmSync(join(folder, 'layers', hashOf('a')), { recursive: true });
  await bring('a', 'b');
  expect(told).toHaveLength(4);
});

test('what is brought ahead gives way at once to somebody who needs another image, and goes on afterwards', async () => {
  const { bring, end } = openTrial();
  const bringing = bring('a');
  await expect.poll(() => told, waiting).toEqual(['a begins']);
  await whileWanted(folder, [hashOf('other')], never, async () => {
    await expect.poll(() => told, waiting).toEqual(['a begins', 'a waits: somebody needs another image']);
    // Nobody builds it any more: it could be had.
    await withFileLock(join(folder, 'locks', hashOf('a')), AbortSignal.timeout(10_000), async () => {});
  });
  await expect.poll(() => told.at(-1), waiting).toBe('a begins');
  end('a');
  await bringing;
  expect(told.at(-1)).toBe('a is there, after … s');
});

test('somebody who needs what is brought ahead joins it: it is built once, and hurries', async () => {
  const { bring, end } = openTrial();
  const bringing = bring('a');
  await expect.poll(() => told, waiting).toEqual(['a begins']);
  await whileWanted(folder, [hashOf('other'), hashOf('a')], never, async () => {
    await expect.poll(() => told, waiting).toEqual(['a begins', 'hurries']);
    end('a');
    await bringing;
  });
  expect(told).toEqual(['a begins', 'hurries', 'a is there, after … s']);
});

test('whoever waits for a layer that another builds is told how far that is', async () => {
  const layer = layersOfType('a')[0]!;
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const heard: string[] = [];
  const building = ensureLayer(
    folder,
    layer,
    async (scratch, { say, progress }) => {
      mkdirSync(join(scratch, 'root'));
      begun.resolve();
      await expect.poll(() => (progress(0.5), say(`Unpacking ${Date.now()}`), heard.length), waiting).toBeGreaterThan(0);
      await end.promise;
    },
    { say: () => {}, progress: () => {} },
    never,
  );
  await begun.promise;
  let part = 0;
  const report = { say: (line: string) => void heard.push(line), progress: (now: number) => void (part = now) };
  const joining = ensureLayer(folder, layer, () => Promise.reject(new Error('It was built twice.')), report, never);
  await expect.poll(() => [part, heard[0]?.split(' ')[0]], waiting).toEqual([0.5, 'Unpacking']);
  end.resolve();
  expect((await joining).hash).toBe((await building).hash);
});

describe.runIf(canRunContainers)(`on a real machine${whyNoContainers}`, { timeout: 600_000 }, () => {
  test('nothing is brought to a disk that is nearly full, and the reason can be read', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', folder]);
    try {
      createFolders(folder);
      await expect(openTrial().bring('a')).rejects.toThrow(/of the disk are free/);
      expect(readAhead(folder)).toMatchObject({ brought: {}, problem: expect.stringContaining('5.0 GB are to stay so') });
      expect(told).toEqual([]);
    } finally {
      execFileSync('umount', ['--', folder]);
    }
  });

  test('a process of its own brings them, says so, and leaves those alone that it cannot build', async () => {
    const [base = ''] = (await openImages(testImagesFolder, catalogue).ensure('network-storage:1.0')).layers;
    symlinkSync(dirname(base), join(folder, 'layers', basename(dirname(base))));
    const lines: string[] = [];
    const run = (types: string[]) => runAhead({ folder, types, catalogue, authorities: [] }, (line) => lines.push(line), never);
    await run(['network-storage:1.0']);
    expect(lines).toEqual([expect.stringMatching(/^network-storage:1\.0 is there, after \d+ s$/)]);
    expect(Object.keys(openImages(folder, catalogue).ahead().brought)).toEqual(['network-storage:1.0']);
    await expect(run(['no-such:1'])).rejects.toThrow('There is no type "no-such"');
    writeFileSync(join(folder, 'ahead.json'), '{ half of');
    await run(['network-storage:1.0']);
    expect(readAhead(folder)).toEqual({ brought: { 'network-storage:1.0': expect.any(String) } });
  });
});
