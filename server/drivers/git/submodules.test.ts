import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import { commitFiles, git } from '../../testing/repository.ts';
import type { Git, SubmoduleFetching } from './git.ts';
import { openGit } from './open-git.ts';
import { declaredIn, originOf, type SubmoduleOrigin } from './submodule-origin.ts';
import { serveRepositories } from './test-git-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'offshoot-submodules-'));
const absent = 'a'.repeat(40);
let driver: Git;
let server: Awaited<ReturnType<typeof serveRepositories>>;
let project: string;
let lines: string[];
let made = 0;

beforeAll(async () => {
  mkdirSync(join(folder, 'web'));
  driver = await openGit(join(folder, 'repositories'), { allowPrivateAddresses: ['0.0.0.0/0', '::/0'] });
  server = await serveRepositories(join(folder, 'web'));
});
beforeEach(async () => {
  project = `p${(made += 1)}`;
  lines = [];
  server.visits.length = 0;
  await driver.create(project, 'main');
});
afterAll(async () => {
  server.close();
  await driver.close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

const fetching = (changes: Partial<SubmoduleFetching> = {}): SubmoduleFetching => ({
  log: (line) => void lines.push(line),
  signal: new AbortController().signal,
  projectAt: () => undefined,
  mayUse: () => Promise.resolve(),
  ...changes,
});

type Links = Record<string, string>;

const treeWith = (repository: string, files: Record<string, string>, links: Links = {}): string =>
  git(repository, ['rev-parse', `${commitFiles(repository, undefined, files, 'Change', links)}^{tree}`]);

/** As Git itself would not write it. */
function rawTree(...entries: [modeAndName: string, sha: string][]): string {
  const content = Buffer.concat(entries.flatMap(([text, sha]) => [Buffer.from(`${text}\0`), Buffer.from(sha, 'hex')]));
  const args = ['--git-dir', driver.path(project), 'hash-object', '-t', 'tree', '-w', '--literally', '--stdin'];
  return execFileSync('git', args, { input: content, encoding: 'utf8' }).trim();
}

const moduleList = (modules: Record<string, string>) =>
  Object.entries(modules)
    .map(([path, url], n) => `[submodule "m${n}"]\n\tpath = ${path}\n\turl = ${url}\n`)
    .join('');

/** A repository on the web with one commit on its main branch. */
function published(name: string, files: Record<string, string>, links: Links = {}): string {
  const path = join(folder, 'web', name);
  if (!existsSync(path)) execFileSync('git', ['init', '--quiet', '--bare', '-b', 'main', path]);
  const commit = commitFiles(path, undefined, files, 'Change', links);
  git(path, ['update-ref', 'refs/heads/main', commit]);
  return commit;
}

const pushed = (modules: Record<string, string>, links: Links, files: Record<string, string> = {}) =>
  treeWith(driver.path(project), { '.gitmodules': moduleList(modules), 'index.js': 'x', ...files }, links);

async function filesOf(tree: string, how = fetching()): Promise<Record<string, string>> {
  const whole = await driver.withSubmodules(project, tree, how);
  const out = join(folder, `out-${randomBytes(4).toString('hex')}`);
  mkdirSync(out);
  await driver.checkout(whole?.repository ?? project, whole?.tree ?? tree, out);
  const found = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    found.map(({ parentPath, name }) => [join(parentPath, name).slice(out.length + 1), readFileSync(join(parentPath, name), 'utf8')]),
  );
}

test('the files of submodules are in their places, and of submodules of submodules, and are fetched once', async () => {
  const inner = published('deep/inner.git', { 'inner.txt': 'inner' });
  const lib = published(
    'lib.git',
    { 'lib.txt': 'one', '.gitmodules': moduleList({ 'sub/inner': '../deep/inner.git' }) },
    { 'sub/inner': inner },
  );
  const tree = pushed({ 'vendor/lib': server.urlOf('lib.git') }, { 'vendor/lib': lib });
  const expected = { 'index.js': 'x', 'vendor/lib/lib.txt': 'one', 'vendor/lib/sub/inner/inner.txt': 'inner' };
  expect(await filesOf(tree)).toMatchObject(expected);
  expect(lines).toEqual([
    `  Fetching submodule vendor/lib: ${lib.slice(0, 7)} of ${server.urlOf('lib.git')}`,
    `  Fetching submodule vendor/lib/sub/inner: ${inner.slice(0, 7)} of ${server.urlOf('deep/inner.git')}`,
  ]);

  lines.length = server.visits.length = 0;
  expect(await filesOf(tree)).toMatchObject(expected);
  expect(lines).toEqual([
    `  Using submodule vendor/lib: ${lib.slice(0, 7)}, which was fetched before`,
    `  Using submodule vendor/lib/sub/inner: ${inner.slice(0, 7)}, which was fetched before`,
  ]);
  expect(server.visits).toEqual([]);
  expect(await driver.withSubmodules(project, tree)).toEqual(await driver.withSubmodules(project, tree, fetching()));

  // Another commit is another tree; a folder without submodules keeps its own.
  const next = published('lib.git', { 'lib.txt': 'two' });
  const changed = pushed({ 'vendor/lib': server.urlOf('lib.git') }, { 'vendor/lib': next });
  expect(await filesOf(changed)).toMatchObject({ 'vendor/lib/lib.txt': 'two' });
  const [before, after] = [await driver.withSubmodules(project, tree), await driver.withSubmodules(project, changed)];
  expect(before?.tree).not.toBe(after?.tree);
  const root = (await driver.tree(after?.repository ?? '', after?.tree ?? '')) ?? [];
  expect(root.map(({ path, type }) => [path, type])).toEqual([
    ['.gitmodules', 'blob'],
    ['index.js', 'blob'],
    ['vendor', 'tree'],
  ]);
});

test('a commit without submodules is as it is, and nothing is kept for it', async () => {
  const tree = treeWith(driver.path(project), { '.gitmodules': moduleList({ gone: 'https://example.org/x.git' }), a: '1' });
  expect(await driver.withSubmodules(project, tree, fetching())).toBeUndefined();
  const loose = treeWith(driver.path(project), { '.gitmodules': '', a: '1' }, { x: absent });
  expect(await driver.withSubmodules(project, loose, fetching())).toBeUndefined();
  expect(lines).toEqual(['  W: x is a submodule that .gitmodules does not tell the address of: its folder stays empty.']);
  const left = treeWith(
    driver.path(project),
    { '.gitmodules': `${moduleList({ x: 'https://example.org/x.git' })}\tupdate = none\n` },
    { x: absent },
  );
  expect(await driver.withSubmodules(project, left, fetching())).toBeUndefined();
  expect(existsSync(driver.path(`${project}-submodules`))).toBe(false);
});

test('a server that gives out branches only is asked for those', async () => {
  const oldest = await serveRepositories(join(folder, 'web'), 'the oldest protocol');
  const old = published('old.git', { a: 'old' });
  const path = join(folder, 'web', 'old.git');
  git(path, ['update-ref', 'refs/heads/main', commitFiles(path, old, { a: 'new' })]);
  expect(await filesOf(pushed({ old: oldest.urlOf('old.git') }, { old }))).toMatchObject({ 'old/a': 'old' });
  oldest.close();
});

test('what cannot be fetched is said, with the submodule', async () => {
  const lib = published('words.git', { a: '1' });
  const said = async (url: string, commit = lib) => {
    try {
      await driver.withSubmodules(project, pushed({ 'vendor/lib': url }, { 'vendor/lib': commit }), fetching());
      return '';
    } catch (error) {
      return error instanceof Problem ? error.message : error;
    }
  };
  expect(await said(server.urlOf('absent.git'))).toMatch(
    /^The submodule 'vendor\/lib' cannot be fetched: there is no Git repository that answers/,
  );
  expect(await said(server.urlOf('words.git'), absent)).toBe(
    `The submodule 'vendor/lib' cannot be fetched: ${server.urlOf('words.git')} has no commit ${absent}; push it there first.`,
  );
  expect(await said(server.urlOf('elsewhere/words.git'))).toContain('redirects are not followed');
  expect(await said('https://nowhere.invalid/x.git')).toContain(
    "The submodule 'vendor/lib' cannot be fetched: There is no host nowhere.invalid",
  );
  expect(await said('git@github.com:a/b.git')).toBe(
    "The submodule 'vendor/lib' cannot be fetched: its address git@github.com:a/b.git is not one that can be visited; submodules are fetched from https:// and http:// addresses, and from projects of this installation; keys for others are not offered yet.",
  );
  for (const url of ['file:///etc', '/etc', 'ext::sh -c id', '--upload-pack=x', 'ssh://user:secret@x/y', 'git://x/y', '-x', '\\"\\"'])
    expect(await said(url)).toMatch(/^The submodule 'vendor\/lib' cannot be fetched: its address (?!.*secret)/);
  expect(await said('./x')).toContain('leads from this project to nothing that is a project');
  expect(await said('../../../etc')).toContain('leads from this project to nothing');
  await expect(driver.withSubmodules(project, pushed({ lib: server.urlOf('words.git') }, { lib: absent }))).rejects.toThrow(
    'is not here any more',
  );
});

test('no address is visited that is not public', async () => {
  const careful = await openGit(join(folder, 'repositories'), { allowPrivateAddresses: [] });
  const lib = published('private.git', { a: '1' });
  for (const url of [server.urlOf('private.git'), 'http://localhost/x.git', 'http://169.254.169.254/x.git', 'http://[::1]/x.git'])
    await expect(careful.withSubmodules(project, pushed({ lib: url }, { lib }), fetching())).rejects.toThrow(
      /^The submodule 'lib' cannot be fetched: .* is not a public address/,
    );
  expect(server.visits).toEqual([]);
  await careful.close();
});

test('another project is used only by those who may, and only what its branches have', async () => {
  const other = `${project}other`;
  await driver.create(other, 'main');
  const [shown, hidden] = [
    commitFiles(driver.path(other), undefined, { a: 'shown' }),
    commitFiles(driver.path(other), undefined, { a: 'hidden' }),
  ];
  git(driver.path(other), ['update-ref', 'refs/heads/main', shown]);
  const asked: string[][] = [];
  const may = fetching({ mayUse: (...what) => Promise.resolve(void asked.push(what)) });
  expect(await filesOf(pushed({ lib: `../${other}.git` }, { lib: shown }), may)).toMatchObject({ 'lib/a': 'shown' });
  const byUrl = fetching({ projectAt: (url) => (url === 'ssh://here/other' ? other : undefined), mayUse: may.mayUse });
  await expect(driver.withSubmodules(project, pushed({ lib: 'ssh://here/other' }, { lib: hidden }), byUrl)).rejects.toThrow(
    'has no commit',
  );
  expect(asked).toEqual([
    [other, 'lib'],
    [other, 'lib'],
  ]);
  const not = fetching({ mayUse: () => Promise.reject(new Problem('forbidden', 'No.')) });
  await expect(driver.withSubmodules(project, pushed({ lib: `../${other}` }, { lib: hidden }), not)).rejects.toThrow('No.');
});

describe('hostile', () => {
  test('submodules without end, too many, too large and too slow are given up', async () => {
    const loop = join(folder, 'web', 'loop.git');
    let commit = published('loop.git', { a: '0' });
    for (let n = 0; n < 8; n++) {
      commit = commitFiles(loop, undefined, { '.gitmodules': moduleList({ x: './' }), a: String(n) }, 'Deeper', { x: commit });
    }
    git(loop, ['update-ref', 'refs/heads/main', commit]);
    await expect(driver.withSubmodules(project, pushed({ x: server.urlOf('loop.git') }, { x: commit }), fetching())).rejects.toThrow(
      "The submodule 'x/x/x/x/x/x' cannot be fetched: there are more than 5 submodules in each other.",
    );
    const one = published('one.git', { a: '1' });
    const many = Array.from({ length: 60 }, (_, n) => `m${n}`);
    const tree = pushed(
      Object.fromEntries(many.map((path) => [path, server.urlOf('one.git')])),
      Object.fromEntries(many.map((path) => [path, one])),
    );
    await expect(driver.withSubmodules(project, tree, fetching())).rejects.toThrow('there are more than 50 submodules');
    const small = await openGit(join(folder, 'repositories'), { allowPrivateAddresses: ['0.0.0.0/0', '::/0'], bytesMax: 2000 });
    const large = published('large.git', { a: randomBytes(5000).toString('hex') });
    const heavy = pushed({ large: server.urlOf('large.git') }, { large });
    await expect(small.withSubmodules(project, heavy, fetching())).rejects.toThrow(
      "The submodule 'large' cannot be fetched: all of them together are larger",
    );
    await small.close();
    const hasty = await openGit(join(folder, 'repositories'), { allowPrivateAddresses: ['0.0.0.0/0', '::/0'], secondsMax: 0 });
    await expect(hasty.withSubmodules(project, heavy, fetching())).rejects.toThrow('took too long');
    await hasty.close();
    await expect(driver.withSubmodules(project, heavy, fetching({ signal: AbortSignal.abort() }))).rejects.toThrow('abort');
    const left = readdirSync(join(folder, 'repositories'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      /scratch-[^/]+\/./.test(path),
    );
    expect(left).toEqual([]);
  });

  test.each(['../escaped', '/etc/x', '.git/hooks', 'a/../../b', '.GIT', 'a/.git', '-x', 'a\nb', 'a\u001bb'])(
    'a submodule at %j leads nowhere',
    async (path) => {
      const lib = published('paths.git', { 'post-checkout': 'evil' });
      const list = treeWith(driver.path(project), { '.gitmodules': moduleList({ [path]: server.urlOf('paths.git') }) });
      const [, blob = ''] = /blob ([0-9a-f]{40})/.exec(git(driver.path(project), ['ls-tree', list])) ?? [];
      const tree = rawTree(['100644 .gitmodules', blob], [`160000 ${path}`, lib]);
      const outcome = await filesOf(tree).then(
        (files) => Object.keys(files).toSorted(),
        (error: unknown) => (error instanceof Problem ? 'refused' : error),
      );
      expect(outcome).toEqual(path === '-x' ? ['-x/post-checkout', '.gitmodules'] : 'refused');
      expect(readdirSync(folder)).not.toContain('escaped');
    },
  );

  test('a list that is a link, no list, or endless is refused; what it asks to run is not run', async () => {
    const repository = driver.path(project);
    const link = git(repository, ['hash-object', '-w', '--stdin'], { input: '/etc/passwd' });
    await expect(driver.withSubmodules(project, rawTree(['120000 .gitmodules', link]), fetching())).rejects.toThrow('must be a plain file');
    const refused = (text: string) =>
      driver.withSubmodules(project, treeWith(repository, { '.gitmodules': text }, { x: absent }), fetching());
    await expect(refused('[submodule "x')).rejects.toThrow('.gitmodules cannot be read');
    await expect(refused(`# ${'x'.repeat(300_000)}`)).rejects.toThrow('larger than 256 KiB');
    const lib = published('run.git', { a: '1' });
    const mark = join(folder, 'was-run');
    const text = `[include]\n\tpath = /etc/gitconfig\n[core]\n\tsshCommand = touch ${mark}\n[submodule "x"]\n\tpath = x\n\turl = ${server.urlOf('run.git')}\n\tupdate = !touch ${mark}\n`;
    expect(await filesOf(treeWith(repository, { '.gitmodules': text }, { x: lib }))).toMatchObject({ 'x/a': '1' });
    expect(existsSync(mark)).toBe(false);
  });

  test('a submodule under a link of the tree does not get behind it', async () => {
    const lib = published('link.git', { escaped: 'x' });
    const outside = mkdtempSync(join(folder, 'outside-'));
    const repository = driver.path(project);
    const blobs = { list: moduleList({ 'a/lib': server.urlOf('link.git') }), target: outside };
    const sha = (text: string) => git(repository, ['hash-object', '-w', '--stdin'], { input: text });
    const tree = rawTree(
      ['100644 .gitmodules', sha(blobs.list)],
      ['120000 a', sha(blobs.target)],
      ['40000 a', rawTree(['160000 lib', lib])],
    );
    await filesOf(tree).catch(() => {});
    expect(readdirSync(outside)).toEqual([]);
  });
});

test.each<[string, string, string]>([
  ['https://example.org/team/shop.git', '../lib.git', 'https://example.org/team/lib.git'],
  ['https://example.org/team/shop.git', '../../other/lib', 'https://example.org/other/lib'],
  ['https://example.org/team/shop.git/', './lib.git', 'https://example.org/team/shop.git/lib.git'],
])('from %s, %s is %s', (around, url, expected) => {
  const from: SubmoduleOrigin = { kind: 'web', url: new URL(around), credentials: 'ada:secret' };
  expect(originOf('x', url, from, () => undefined)).toMatchObject({ kind: 'web', url: { href: expected }, credentials: 'ada:secret' });
  expect(() => originOf('x', '../../../../lib', from, () => undefined)).toThrow('leads out of https://example.org');
});

test('names of submodules may be anything; the last address counts', () => {
  const listing = [
    'submodule.../../x.path\na/',
    'submodule.../../x.url\n1',
    'submodule.../../x.url\n2',
    'submodule.b.path\nb',
    'core.x\ny',
    '',
  ];
  expect([...declaredIn(listing.join('\0'))]).toEqual([['a', { url: '2', isLeftOut: false }]]);
});

test('what was kept goes with the project', async () => {
  const lib = published('gone.git', { a: '1' });
  await filesOf(pushed({ lib: server.urlOf('gone.git') }, { lib }));
  expect(existsSync(driver.path(`${project}-submodules`))).toBe(true);
  await driver.remove(project);
  expect([existsSync(driver.path(`${project}-submodules`)), existsSync(driver.path(project))]).toEqual([false, false]);
});
