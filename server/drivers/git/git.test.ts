import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commitFiles, git } from '../../testing/repository.ts';
import { isPublicAddress } from '../../../edge/upstream/public-address.ts';
import { readGit } from './command.ts';
import { MergeConflict, StaleBranch, type Git } from './git.ts';
import { parseOrigin } from './import.ts';
import { openGit } from './open-git.ts';
import { serveRepositories } from './test-git-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'offshoot-git-'));
const by = { name: 'Ada <x>\nLovelace', email: 'ada@example.org' };
const project = 'abcdef123456';
let driver: Git;
let first: string;

const commit = (parent: string | undefined, files: Record<string, string>, message?: string) =>
  commitFiles(driver.path(project), parent, files, message);
const read = (sha: string, path: string) => git(driver.path(project), ['show', `${sha}:${path}`]);

beforeAll(async () => {
  driver = await openGit(folder, { allowPrivateAddresses: ['0.0.0.0/0', '::/0'] });
  await driver.create(project, 'main');
  first = commit(undefined, { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b' }, 'First');
});
afterAll(async () => {
  await driver.close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

describe('a repository', () => {
  test('is made once, found, and removed for good', async () => {
    await driver.create('second', 'trunk');
    await driver.create('second', 'other');
    expect(git(driver.path('second'), ['symbolic-ref', 'HEAD'])).toBe('refs/heads/trunk');
    await driver.setDefaultBranch('second', 'feature/x');
    expect(git(driver.path('second'), ['symbolic-ref', 'HEAD'])).toBe('refs/heads/feature/x');
    await driver.remove('second');
    await driver.remove('second');
    expect(await driver.exists('second')).toBe(false);
    for (const name of readdirSync(folder).filter((entry) => entry.startsWith('scratch-'))) rmSync(join(folder, name), { recursive: true });
    await driver.create('second', 'main');
    for (const name of readdirSync(folder).filter((entry) => entry.startsWith('scratch-'))) rmSync(join(folder, name), { recursive: true });
    await driver.remove('second');
    expect(await driver.exists('second')).toBe(false);
    expect(() => driver.path('../etc')).toThrow('not the id');
  });

  test('moves a branch for whoever knows where it was', async () => {
    const next = commit(first, { 'b.txt': 'B' });
    await driver.moveBranch(project, 'main', undefined, first);
    await driver.moveBranch(project, 'main', undefined, first);
    await driver.moveBranch(project, 'main', first, next);
    await expect(driver.moveBranch(project, 'main', first, commit(first, { 'c.txt': 'c' }))).rejects.toThrow(StaleBranch);
    await expect(driver.moveBranch(project, 'main/sub', undefined, first)).rejects.toThrow('choose another name');
    await driver.moveBranch(project, 'feature/x', undefined, first);
    expect(await driver.branches(project)).toEqual(
      new Map([
        ['feature/x', first],
        ['main', next],
      ]),
    );
    expect(await driver.branch(project, 'feature')).toBeUndefined();
    await driver.moveBranch(project, 'feature/x', first, undefined);
    await driver.moveBranch(project, 'feature/x', first, undefined);
    expect(await driver.branch(project, 'feature/x')).toBeUndefined();
  });

  test('tells how far two commits are apart', async () => {
    const [left, right] = [commit(commit(first, { l: '1' }), { l: '2' }, 'Left'), commit(first, { r: '1' })];
    expect(await driver.distance(project, left, right)).toEqual({ ahead: 2, behind: 1 });
    expect(await driver.isAncestor(project, first, left)).toBe(true);
    expect(await driver.isAncestor(project, left, right)).toBe(false);
    const { commits, count } = await driver.commitsBetween(project, first, left, 1);
    expect({ count, commits }).toMatchObject({
      count: 2,
      commits: [{ sha: left, message: 'Left\n', author: { name: 'Ada', email: 'ada@example.org' } }],
    });
    expect((await driver.commitsBetween(project, undefined, left, 10)).count).toBe(3);
  });
});

describe('bringing commits together', () => {
  test('merges, forwards, and names the files in conflict', async () => {
    const [ours, theirs] = [commit(first, { 'b.txt': 'ours' }), commit(first, { 'a.txt': 'one\ntwo\n3\n' })];
    const merged = await driver.merge(project, ours, theirs, 'Merge', by);
    expect([read(merged, 'b.txt'), read(merged, 'a.txt')]).toEqual(['ours', 'one\ntwo\n3']);
    expect(await driver.commit(project, merged)).toMatchObject({
      parents: [ours, theirs],
      author: { name: 'Ada xLovelace' },
      message: 'Merge\n',
    });
    expect(await driver.merge(project, first, ours, 'x', by)).toBe(ours);
    expect(await driver.merge(project, ours, first, 'x', by)).toBe(ours);
    const other = commit(first, { 'b.txt': 'theirs', 'dir/ä b.txt': '1' });
    await expect(driver.merge(project, ours, other, 'x', by)).rejects.toMatchObject({ files: ['b.txt'] });
    await expect(driver.merge(project, ours, commit(undefined, { z: 'z' }), 'x', by)).rejects.toThrow('no commit in common');
  });

  test('rebases commit by commit, keeping authors and messages', async () => {
    const onto = commit(first, { 'b.txt': 'new base' });
    const branch = commit(commit(first, { 'c.txt': 'c' }, 'Add c\n\nwith ümlaut'), { 'b.txt': 'new base' }, 'Same change');
    const rebased = await driver.rebase(project, branch, onto, by);
    const made = await driver.commit(project, rebased);
    expect(made).toMatchObject({
      parents: [onto],
      message: 'Add c\n\nwith ümlaut\n',
      author: { name: 'Ada' },
      committer: { name: 'Ada xLovelace' },
    });
    expect([read(rebased, 'b.txt'), read(rebased, 'c.txt')]).toEqual(['new base', 'c']);
    expect(await driver.rebase(project, branch, first, by)).toBe(branch);
    await expect(driver.rebase(project, commit(first, { 'b.txt': 'else' }), onto, by)).rejects.toThrow(MergeConflict);
  });
});

/** One that was killed before may be gone by now. */
function killIfAlive(pid: number) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (existsSync(`/proc/${pid}`)) throw error;
  }
}

describe('objects', () => {
  test('are read while their reader is killed under us', async () => {
    const tree = (await driver.commit(project, first))?.tree ?? '';
    const readers = () =>
      execFileSync('pgrep', ['-f', `${driver.path(project)} cat-file`], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .map(Number);
    for (let n = 0; n < 5; n += 1) {
      expect((await driver.tree(project, tree))?.map(({ path, mode, type }) => [path, mode, type])).toEqual([
        ['a.txt', '100644', 'blob'],
        ['b.txt', '100644', 'blob'],
      ]);
      for (const pid of readers()) killIfAlive(pid);
    }
  });

  test('are byte for byte what was stored, and refused when they are too large', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * n) % 256));
    const store = (content: Buffer) =>
      execFileSync('git', ['--git-dir', driver.path(project), 'hash-object', '-w', '--stdin'], { input: content, encoding: 'utf8' }).trim();
    const all = await Promise.all(Array.from({ length: 20 }, () => driver.blob(project, store(bytes))));
    for (const content of all) expect(content?.equals(bytes)).toBe(true);
    await expect(driver.blob(project, store(Buffer.alloc(17 * 1024 * 1024)))).rejects.toMatchObject({ kind: 'too-large' });
    expect(await driver.blob(project, first)).toBeUndefined();
    expect(await driver.blob(project, '0'.repeat(40))).toBeUndefined();
    expect(await driver.commit(project, 'main')).toBeUndefined();
    expect(await driver.commit(project, `${first}\ncontents ${first}`)).toBeUndefined();
  });

  test('differ file by file', async () => {
    const changed = commit(first, { 'a.txt': 'one\n2\nthree\n', 'new file.txt': 'diff --git is text\n' });
    git(driver.path(project), ['update-ref', 'refs/heads/diffed', changed]);
    const files = await driver.diff(project, first, changed);
    expect(files).toMatchObject([
      { old_path: 'a.txt', new_path: 'a.txt', diff: expect.stringContaining('-two\n+2\n') },
      { old_path: null, old_id: null, new_path: 'new file.txt', diff: expect.stringContaining('+diff --git is text') },
    ]);
    expect(await driver.isReachable(project, changed, ['diffed'])).toBe(true);
    expect(await driver.isReachable(project, changed, ['main'])).toBe(false);
    git(driver.path(project), ['update-ref', 'refs/heads/folder/diffed', commit(changed, { z: 'z' })]);
    expect(await driver.isReachable(project, changed, ['folder', 'main'])).toBe(false);
  });
});

describe('expensive questions', () => {
  test('are given up in words, and neither merges nor other repositories wait for them', async () => {
    const stuck = join(folder, 'stuck.git');
    execFileSync('git', ['init', '--quiet', '--bare', stuck]);
    const sleeping = () => readGit(stuck, ['-c', 'alias.wait=!sleep 60', 'wait']);
    const [answeredMillisecondsMax, givenUpMillisecondsMax, roundsMax] = [5000, 15_000, 3];
    let isInTime = false;
    // Whoever is late in each round is so by itself; in one it may have been the machine.
    for (let round = 0; round < roundsMax && !isInTime; round += 1) {
      const before = Date.now();
      const asked = Array.from({ length: 30 }, () => sleeping().catch((error: unknown) => error));
      expect(await driver.isReachable(project, first, ['main'])).toBe(true);
      expect(await driver.merge(project, first, first, 'x', by)).toBe(first);
      const answeredMilliseconds = Date.now() - before;
      for (const problem of await Promise.all(asked)) expect(problem).toMatchObject({ kind: 'unavailable' });
      isInTime = answeredMilliseconds < answeredMillisecondsMax && Date.now() - before < givenUpMillisecondsMax;
    }
    expect(isInTime).toBe(true);
  });
});

describe('importing', () => {
  const silent = () => {};
  const never = new AbortController().signal;
  let server: Awaited<ReturnType<typeof serveRepositories>>;
  let origin: string;

  beforeAll(async () => {
    const path = join(folder, 'origin.git');
    execFileSync('git', ['init', '--quiet', '--bare', '-b', 'main', path]);
    const base = commitFiles(path, undefined, { 'README.md': 'hello\n', 'sub/x': '1' }, 'Origin');
    git(path, ['update-ref', 'refs/heads/main', base]);
    git(path, ['update-ref', 'refs/heads/feature/one', commitFiles(path, base, { 'README.md': 'feature\n' })]);
    server = await serveRepositories(folder);
    origin = server.urlOf('origin.git');
  });
  afterAll(() => server.close());

  test('brings a branch with its history, and lays files over it', async () => {
    const plain = await driver.import(project, { repository: origin, files: [] }, by, silent, never);
    expect([read(plain, 'README.md'), (await driver.commit(project, plain))?.message]).toEqual(['hello', 'Origin\n']);
    const files = [
      { path: '.upsun/config.yaml', mode: 0o644, contents: Buffer.from('x') },
      { path: 'sub', mode: 0o755, contents: Buffer.from('y') },
    ];
    const sha = await driver.import(project, { repository: `${origin}@feature/one`, config: origin, files }, by, silent, never);
    expect([
      read(sha, 'README.md'),
      read(sha, '.upsun/config.yaml'),
      git(driver.path(project), ['ls-tree', sha, 'sub']).slice(0, 6),
    ]).toEqual(['hello', 'x', '100755']);
    expect((await driver.commit(project, sha))?.parents).toHaveLength(1);
    const alone = await driver.import(project, { files: files.slice(0, 1) }, by, silent, never);
    expect((await driver.commit(project, alone))?.parents).toEqual([]);
  });

  test('says in words what is wrong with a source', async () => {
    const attempt = (repository: string) => driver.import(project, { repository, files: [] }, by, silent, never);
    await expect(attempt(`${origin}@absent`)).rejects.toThrow('has no branch absent');
    await expect(attempt(server.urlOf('elsewhere/origin.git'))).rejects.toThrow('redirects are not followed');
    for (const address of [
      'git@github.com:a/b.git',
      'ssh://x/y',
      'file:///etc',
      '/etc',
      '--upload-pack=x',
      'ext::sh -c id',
      'https://',
      'https://x/y?z',
    ])
      await expect(attempt(address)).rejects.toThrow('must be an address such as');
    for (const host of ['-x.example', 'example.org.', '.example'])
      await expect(attempt(`http://${host}/y.git`)).rejects.toThrow('must be an address such as');
    await expect(attempt(`${origin}@--upload-pack=x`)).rejects.toThrow('not the name of a branch');
  });

  test.each(['../x', '/etc/passwd', 'a/../b', '.git/config', 'a/.GIT/hooks', 'a//b', 'a/.git./x', 'GIT~1/x', 'a\\b', 'a\0b', ''])(
    'refuses the path %j',
    async (path) => {
      const files = [{ path, mode: 0o644, contents: Buffer.from('x') }];
      await expect(driver.import(project, { files }, by, silent, never)).rejects.toThrow('cannot be the path');
    },
  );

  test('refuses links and devices among files', async () => {
    const files = [{ path: 'a', mode: 0o120000, contents: Buffer.from('/etc/passwd') }];
    await expect(driver.import(project, { files }, by, silent, never)).rejects.toThrow('plain file');
  });

  test('stops when told, and leaves nothing behind', async () => {
    await expect(driver.import(project, { repository: origin, files: [] }, by, silent, AbortSignal.abort())).rejects.toThrow('aborted');
    const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /scratch-[^/]+\/./.test(path));
    expect(left).toEqual([]);
  });

  test('visits no address that is not public, by whatever name', async () => {
    const { port } = server;
    const look = (host: string) =>
      Promise.resolve(host === 'two.example' ? [{ address: '93.184.216.34' }, { address: '10.0.0.1' }] : [{ address: '127.0.0.1' }]);
    const careful = await openGit(join(folder, 'careful'), { allowPrivateAddresses: [], look });
    await careful.create(project, 'main');
    const hosts = [
      '127.0.0.1',
      'localhost',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '169.254.169.254',
      'rebound.example',
      'two.example',
      '0',
    ];
    for (const host of hosts)
      await expect(
        careful.import(project, { repository: `http://${host}:${port}/origin.git`, files: [] }, by, silent, never),
      ).rejects.toThrow('not a public address');
    await careful.close();
  });

  test('visits those addresses that are not public which the operator named, and no others', async () => {
    const { port } = server;
    const look = (host: string) => Promise.resolve([{ address: host === 'ours.example' ? '127.0.0.1' : '10.0.0.1' }]);
    const named = await openGit(join(folder, 'named'), { allowPrivateAddresses: ['127.0.0.0/30', 'fd00::/8'], look });
    await named.create(project, 'main');
    const from = (host: string) => named.import(project, { repository: `http://${host}:${port}/origin.git`, files: [] }, by, silent, never);
    expect(await from('ours.example')).toMatch(/^[0-9a-f]{40}$/);
    for (const host of ['127.0.0.4', 'other.example', '[::1]', '169.254.169.254'])
      await expect(from(host)).rejects.toThrow('not a public address');
    await named.close();
  });

  test('goes where the name pointed when it was checked', async () => {
    const { port } = server;
    const look = () => Promise.resolve([{ address: '127.0.0.1' }]);
    const pinned = await openGit(join(folder, 'pinned'), { allowPrivateAddresses: ['0.0.0.0/0', '::/0'], look });
    await pinned.create(project, 'main');
    const sha = await pinned.import(project, { repository: `http://nowhere.invalid:${port}/origin.git`, files: [] }, by, silent, never);
    expect(sha).toMatch(/^[0-9a-f]{40}$/);
    await pinned.close();
  });

  test.each([
    ['https://ada:secret@example.org/shop.git@feature/one', 'https://example.org/shop.git', 'feature/one', 'ada:secret'],
    ['https://example.org/@scope/shop.git', 'https://example.org/@scope/shop.git', undefined, undefined],
    ['https://example.org/@scope/shop.git@v1', 'https://example.org/@scope/shop.git', 'v1', undefined],
  ])('understands %s', (text, href, branch, credentials) => {
    expect(parseOrigin(text)).toMatchObject({ url: { href }, branch, credentials });
  });

  test('measures what comes object by object, too', async () => {
    const path = join(folder, 'origin.git');
    git(path, ['update-server-info']);
    const plain = createServer((request, response) => {
      const file = join(path, (request.url ?? '').split('?')[0]?.replace('/origin.git', '') ?? '');
      if (existsSync(file)) response.end(readFileSync(file));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const repository = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/origin.git`;
    expect(await driver.import(project, { repository, files: [] }, by, silent, never)).toMatch(/^[0-9a-f]{40}$/);
    const small = await openGit(join(folder, 'small-plain'), { allowPrivateAddresses: ['0.0.0.0/0', '::/0'], bytesMax: 100 });
    await small.create(project, 'main');
    await expect(small.import(project, { repository, files: [] }, by, silent, never)).rejects.toThrow('the most that is imported');
    await small.close();
    plain.close();
  });

  test('has a limit to its size', async () => {
    const small = await openGit(join(folder, 'small'), { allowPrivateAddresses: ['0.0.0.0/0', '::/0'], bytesMax: 100 });
    await small.create(project, 'main');
    await expect(small.import(project, { repository: origin, files: [] }, by, silent, never)).rejects.toThrow('the most that is imported');
    await small.close();
  });
});

test.each([
  ['8.8.8.8', true],
  ['93.184.216.34', true],
  ['2606:4700:4700::1111', true],
  ['127.0.0.1', false],
  ['0.0.0.0', false],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['169.254.169.254', false],
  ['172.31.255.255', false],
  ['192.168.1.1', false],
  ['198.18.0.1', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::ffff:10.0.0.1', false],
  ['::ffff:8.8.8.8', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['2001:db8::1', false],
  ['2001::1', false],
  ['fd00:ec2::254', false],
  ['fe80::1', false],
  ['ff02::1', false],
])('%s is public: %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});
