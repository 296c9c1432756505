import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../config.ts';
import { commitFiles, git as inRepository } from '../../testing/repository.ts';
import type { Git } from './git.ts';
import { beginningOf, packOf as writtenPack } from './test-packs.ts';
import { openGit } from './open-git.ts';

const by = { name: 'Ada "the" Countess', email: 'ada@example.org' };
const bytesMax = 8 * 1024 * 1024;
const { signal } = new AbortController();

let root: string;
let git: Git;
let from: string;
let hidden: string;
/** A checkout, and whoever has it may do with it whatever they like. */
let folder: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'offshoot-receive-'));
  git = await openGit(join(root, 'repositories'), readConfig({ OFFSHOOT_DATA: root }));
  await git.create('shop', 'main');
  const first = commitFiles(git.path('shop'), undefined, { 'old.txt': 'old\n', 'file.txt': 'one\n' });
  from = commitFiles(git.path('shop'), first, { 'file.txt': 'two\n', '.gitattributes': '*.txt filter=evil\n' });
  hidden = commitFiles(git.path('shop'), from, { 'secret.txt': 'secret\n' });
  inRepository(git.path('shop'), ['update-ref', 'refs/heads/main', from]);
  inRepository(git.path('shop'), ['update-ref', 'refs/heads/hidden', hidden]);
  inRepository(git.path('shop'), ['update-ref', 'refs/tags/v1', first]);
});
afterAll(async () => {
  await git.close();
  rmSync(root, { recursive: true, force: true });
});

beforeEach(async () => {
  folder = mkdtempSync(join(root, 'checkout-'));
  await git.clone('shop', { branch: 'main', commit: from, folder, by, signal });
});

const inFolder = (...args: string[]) =>
  execFileSync('git', ['-C', folder, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  }).trim();

/** As it is made inside a container, whatever the repository there says. */
const packOf = (revisions: string): Readable => {
  const child = spawn('git', ['-C', folder, 'pack-objects', '--revs', '--stdout', '--quiet'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(revisions);
  return child.stdout;
};

const commitAll = () => {
  inFolder('add', '--all');
  inFolder('commit', '--quiet', '--message', 'Change');
  return inFolder('rev-parse', 'HEAD');
};

const receive = (to: string, pack = packOf(`${to}\n^${from}\n`), changes: Partial<{ from: string; bytesMax: number }> = {}) =>
  git.receive('shop', { from, to, pack, bytesMax, signal, ...changes });

const leftovers = () =>
  readdirSync(join(root, 'repositories'), { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('received'));

test('a clone has the one branch with its history, and nothing else of the project', () => {
  expect(inFolder('for-each-ref', '--format=%(refname) %(objectname)')).toBe(`refs/heads/main ${from}`);
  expect(inFolder('status', '--porcelain', '--branch')).toBe('## main');
  expect(inFolder('rev-list', '--count', 'HEAD')).toBe('2');
  expect(inFolder('remote')).toBe('');
  expect(existsSync(join(folder, '.git', 'hooks'))).toBe(false);
  expect(() => inFolder('cat-file', '-p', hidden)).toThrow('Not a valid object name');
  expect(inFolder('config', 'user.name')).toBe(by.name);
  expect(readFileSync(join(folder, 'file.txt'), 'utf8')).toBe('two\n');
});

test('commits on top are taken in, with files of older commits among theirs, and no branch moves', async () => {
  writeFileSync(join(folder, 'file.txt'), 'one\n');
  writeFileSync(join(folder, 'new.txt'), 'new\n');
  const to = commitAll();
  await receive(to);
  await receive(to);
  expect(await git.commit('shop', to)).toMatchObject({ parents: [from], author: { name: by.name, email: by.email } });
  expect(await git.branch('shop', 'main')).toBe(from);
  inRepository(git.path('shop'), ['fsck', '--strict', '--connectivity-only', to]);
  expect(leftovers()).toEqual([]);
});

test('nothing that a checkout says is obeyed here', async () => {
  const traces = join(root, 'traces');
  mkdirSync(join(folder, '.git', 'hooks'));
  for (const hook of ['post-index-change', 'reference-transaction', 'pre-auto-gc', 'post-commit'])
    writeFileSync(join(folder, '.git', 'hooks', hook), `#!/bin/sh\necho "$0" >>${traces}.inside\n`, { mode: 0o755 });
  inFolder('config', 'core.fsmonitor', `touch ${traces}.fsmonitor`);
  inFolder('config', 'filter.evil.clean', `sh -c "touch ${traces}.filter; cat"`);
  mkdirSync(join(folder, '.git', 'objects', 'info'), { recursive: true });
  writeFileSync(join(folder, '.git', 'objects', 'info', 'alternates'), `${git.path('shop')}/objects\n`);
  writeFileSync(join(folder, 'new.txt'), 'new\n');
  const to = commitAll();
  for (const file of readdirSync(root).filter((name) => name.startsWith('traces'))) rmSync(join(root, file));
  const pack = Readable.from([await packBytes(`${to}\n^${from}\n`)]);
  for (const file of readdirSync(root).filter((name) => name.startsWith('traces'))) rmSync(join(root, file));
  await receive(to, pack);
  expect(readdirSync(root).filter((name) => name.startsWith('traces'))).toEqual([]);
});

const packBytes = async (revisions: string) => Buffer.concat(await packOf(revisions).toArray());

test('what is too large, cut off, or no pack at all is refused and leaves nothing', async () => {
  writeFileSync(join(folder, 'large.bin'), Buffer.from(Array.from({ length: 200_000 }, () => Math.floor(Math.random() * 256))));
  const to = commitAll();
  await expect(receive(to, undefined, { bytesMax: 100_000 })).rejects.toThrow(/larger than .* MiB/);
  const whole = await packBytes(`${to}\n^${from}\n`);
  await expect(receive(to, Readable.from([whole.subarray(0, whole.length / 2)]))).rejects.toThrow(/cannot be taken in/);
  await expect(receive(to, Readable.from([Buffer.from('PACK, says nobody')]))).rejects.toThrow(/cannot be taken in/);
  await expect(receive(to, Readable.from([]))).rejects.toThrow(/cannot be taken in/);
  const abandoned = new PassThrough();
  abandoned.write(whole.subarray(0, 100));
  setTimeout(() => abandoned.destroy(), 10);
  await expect(receive(to, abandoned)).rejects.toThrow(/cannot be taken in: they were cut off/);
  expect(await git.commit('shop', to)).toBeUndefined();
  expect(leftovers()).toEqual([]);
});

test('a file of gigabytes is refused before anything is made of it', async () => {
  const large = receive(from, Readable.from([writtenPack([beginningOf(6144)])]));
  await expect(large).rejects.toThrow('The commits have a file of more than 512 MiB');
  expect(leftovers()).toEqual([]);
});

test('a branch that was rewritten, or is no commit, is refused', async () => {
  inFolder('commit', '--quiet', '--amend', '--message', 'Another');
  const amended = inFolder('rev-parse', 'HEAD');
  await expect(receive(amended, packOf(`${amended}\n`))).rejects.toThrow(/The branch was rewritten/);
  const tree = inFolder('rev-parse', 'HEAD^{tree}');
  await expect(receive(tree, packOf(`${amended}\n`))).rejects.toThrow(/is not a commit/);
  await expect(receive('f'.repeat(40), packOf(`${amended}\n`))).rejects.toThrow(/is not a commit/);
});

test('commits of others, and their files, cannot be had by naming them', async () => {
  const empty = await packBytes(`${from}\n^${from}\n`);
  await expect(receive(hidden, Readable.from([empty]))).rejects.toThrow(/did not come with them/);
  const secretTree = (await git.commit('shop', hidden))?.tree ?? '';
  const made = inRepository(git.path('shop'), ['commit-tree', secretTree, '-p', from, '-m', 'Mine']);
  await expect(receive(made, packedIn(git.path('shop'), made))).rejects.toThrow(/did not come with them/);
});

/** These objects, and no others. */
const packedIn = (repository: string, ...ids: string[]): Readable => {
  const args = ['-c', 'safe.directory=*', '--git-dir', repository, 'pack-objects', '--stdout', '--quiet'];
  return Readable.from([execFileSync('git', args, { input: ids.map((id) => `${id}\n`).join('') })]);
};

test('malformed objects are refused, as in a push', async () => {
  const blob = inFolder('hash-object', '-w', '--stdin');
  const tree = execFileSync('git', ['-C', folder, 'hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], {
    input: Buffer.concat([Buffer.from('100644 ../escape\0'), Buffer.from(blob, 'hex')]),
  })
    .toString()
    .trim();
  const to = inFolder('commit-tree', tree, '-p', from, '-m', 'Escape');
  const pack = packedIn(join(folder, '.git'), to, tree, blob);
  await expect(receive(to, pack)).rejects.toThrow(/cannot be taken in: .*fullPathname/);
});
