/** Refs of a repository elsewhere, served over HTTP by Git's own backend. */
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commitFiles, git as onCommandLine } from '../../testing/repository.ts';
import type { Git, MirrorFetch } from './git.ts';
import { openGit } from './open-git.ts';
import { serveRepositories } from './test-git-server.ts';

let git: Git;
let folder: string;
let server: Awaited<ReturnType<typeof serveRepositories>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offshoot-mirror-'));
  git = await openGit(join(folder, 'ours'), { allowPrivateAddresses: ['127.0.0.1'] });
  server = await serveRepositories(join(folder, 'theirs'));
});

afterAll(async () => {
  server.close();
  await git.close();
  rmSync(folder, { recursive: true, force: true });
});

const what = ['+refs/heads/*:refs/mirror/heads/*', '+refs/tags/*:refs/tags/*'];

async function openTheirs(name: string) {
  const theirs = join(folder, 'theirs', `${name}.git`);
  onCommandLine(folder, ['init', '--quiet', '--bare', theirs]);
  await git.create(name, 'main');
  const fetching: MirrorFetch = { from: { url: server.urlOf(`${name}.git`) }, what, prunes: true, signal: new AbortController().signal };
  return {
    theirs,
    fetch: () => git.fetchMirror(name, fetching),
    refs: async () => Object.fromEntries((await git.refsUnder(name, 'refs/')).map(({ name: ref, sha }) => [ref, sha])),
  };
}

test('the first fetch brings branches and tags, nothing else, and later ones follow', async () => {
  const { theirs, fetch, refs } = await openTheirs('shop');
  await fetch();
  expect(await refs()).toEqual({});
  const first = commitFiles(theirs, undefined, { 'a.txt': '1' });
  for (const ref of ['heads/main', 'heads/old/name', 'tags/v1', 'pull/1/head']) onCommandLine(theirs, ['update-ref', `refs/${ref}`, first]);
  await fetch();
  expect(await refs()).toEqual({ 'refs/mirror/heads/main': first, 'refs/mirror/heads/old/name': first, 'refs/tags/v1': first });
  onCommandLine(git.path('shop'), ['fsck', '--strict']);
  const leftovers = readdirSync(join(folder, 'ours')).filter((name) => name.startsWith('scratch-'));
  expect(leftovers.flatMap((name) => readdirSync(join(folder, 'ours', name)))).toEqual([]);

  const next = commitFiles(theirs, first, { 'a.txt': '2' });
  onCommandLine(theirs, ['update-ref', 'refs/heads/main', next]);
  onCommandLine(theirs, ['update-ref', '-d', 'refs/heads/old/name']);
  await fetch();
  expect(await refs()).toEqual({ 'refs/mirror/heads/main': next, 'refs/tags/v1': first });
});

test('a lock that somebody left behind when they were killed is in nobody’s way', async () => {
  const { theirs, fetch, refs } = await openTheirs('locked');
  const lock = join(git.path('locked'), 'packed-refs.lock');
  const leave = () => {
    writeFileSync(lock, '');
    utimesSync(lock, 0, 0);
  };
  const first = commitFiles(theirs, undefined, { 'a.txt': '1' });
  for (const ref of ['heads/main', 'heads/old']) onCommandLine(theirs, ['update-ref', `refs/${ref}`, first]);
  leave();
  await fetch();
  expect(existsSync(lock)).toBe(false);
  leave();
  // Git takes the lock to delete a ref.
  onCommandLine(theirs, ['update-ref', '-d', 'refs/heads/old']);
  await fetch();
  expect(await refs()).toEqual({ 'refs/mirror/heads/main': first });
});

test('a commit that is malformed is refused by the first fetch, too', async () => {
  const { theirs, fetch, refs } = await openTheirs('broken');
  const tree = onCommandLine(theirs, ['mktree'], { input: '' });
  const text = `tree ${tree}\nauthor nobody\ncommitter nobody\n\nBroken\n`;
  const commit = onCommandLine(theirs, ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'], { input: text });
  onCommandLine(theirs, ['update-ref', 'refs/heads/main', commit]);
  await expect(fetch()).rejects.toThrow('Nothing could be fetched');
  expect(await refs()).toEqual({});
});
