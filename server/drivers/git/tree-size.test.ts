/** What a tree comes to, without writing it; and that nothing writes one that is too large, however it came here. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Git } from './git.ts';
import { openGit } from './open-git.ts';
import { commitOf, packedObject, packOf, treeOf, type PackedObject } from './test-packs.ts';
import { sizeOfTree } from './tree-size.ts';

const project = 'shop';
const signal = new AbortController().signal;
let folder: string;
let driver: Git;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offshoot-tree-size-'));
  driver = await openGit(join(folder, 'repositories'), { allowPrivateAddresses: [] });
  await driver.create(project, 'main');
});
afterAll(async () => {
  await driver.close();
  rmSync(folder, { recursive: true });
});

const inRepository = (input: Buffer, ...args: string[]) =>
  execFileSync('git', ['--git-dir', driver.path(project), ...args], { input, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 }).trim();

const file = packedObject('blob', Buffer.from('0123456789'));

/** Trees of one another: each of `shapes` says how often it has the file, and the tree before it. */
function trees(...shapes: { files: number; trees: number }[]): PackedObject[] {
  const objects = [file];
  for (const shape of shapes) {
    const inner = objects.at(-1)?.id ?? '';
    const folders = Array.from({ length: shape.trees }, (_, index) => ({
      mode: '40000',
      name: `d${String(index).padStart(3, '0')}`,
      id: inner,
    }));
    const files = Array.from({ length: shape.files }, (_, index) => ({
      mode: '100644',
      name: `f${String(index).padStart(3, '0')}`,
      id: file.id,
    }));
    objects.push(packedObject('tree', treeOf([...folders, ...files])));
  }
  return objects;
}

function stored(objects: readonly PackedObject[]): string {
  inRepository(packOf(objects), 'unpack-objects', '-q');
  return objects.at(-1)?.id ?? '';
}

test('it is what Git would list, also of what was met before', async () => {
  const root = stored(trees({ files: 3, trees: 0 }, { files: 2, trees: 4 }, { files: 1, trees: 5 }));
  const listed = inRepository(Buffer.alloc(0), 'ls-tree', '-r', '-t', '--name-only', root).split('\n');
  const files = inRepository(Buffer.alloc(0), 'ls-tree', '-r', '--name-only', root).split('\n');
  const expected = { entries: listed.length, bytes: files.length * 10, depth: 2, pathBytes: 'd000/d000/f000'.length };
  expect(await sizeOfTree(driver.path(project), root)).toEqual(expected);
  expect(await sizeOfTree(driver.path(project), root)).toEqual(expected);
  expect(await sizeOfTree(driver.path(project), file.id)).toBeUndefined();
});

test('half a million files and folders are not too many, and one more is', async () => {
  const largest = trees({ files: 498, trees: 0 }, { files: 0, trees: 500 }, { files: 998, trees: 2 });
  const root = stored(largest);
  expect(await sizeOfTree(driver.path(project), root)).toMatchObject({ entries: 500_000 });
  const one = packedObject('tree', treeOf([{ mode: '40000', name: 'a', id: root }]));
  const into = join(folder, 'into');
  mkdirSync(into);
  await expect(driver.checkout(project, stored([one]), into)).rejects.toThrow('The commit has more than 500,000 files and folders');
  expect(readdirSync(into)).toEqual([]);
});

test('what came without a push is refused as well, before a file of it is written', async () => {
  const bomb = trees({ files: 10, trees: 0 }, ...Array.from({ length: 8 }, () => ({ files: 0, trees: 10 })));
  const start = packedObject('commit', commitOf(stored(trees({ files: 1, trees: 0 }))));
  const from = stored([start]);
  const commit = packedObject('commit', commitOf(bomb.at(-1)?.id ?? '', from));
  const says = 'has more than 500,000 files and folders';
  const pack = Readable.from([packOf([...bomb, commit])]);
  await expect(driver.receive(project, { from, to: commit.id, pack, bytesMax: 1e6, signal })).rejects.toThrow(says);
  expect(await driver.commit(project, commit.id)).toBeUndefined();
  stored([...bomb, commit]);
  const into = join(folder, 'clone');
  mkdirSync(into);
  const cloning = { branch: 'main', commit: commit.id, folder: into, by: { name: 'Ada', email: 'ada@example.org' }, signal };
  await expect(driver.clone(project, cloning)).rejects.toThrow(says);
  expect(readdirSync(into)).toEqual([]);
  await expect(driver.withSubmodules(project, bomb.at(-1)?.id ?? '')).rejects.toThrow(says);
});
