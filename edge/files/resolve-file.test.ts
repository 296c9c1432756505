/** An application that rewrites the folders that its own are mounted from: whatever it puts there, no byte of anybody else is found. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseEnvironment } from '../routing/environment-schema.ts';
import { openFileAt, readFileAt, resolveFile } from './resolve-file.ts';
import type { FilesAt } from '../routing/table.ts';
import { environmentOf, upstreamOf } from '../testing/edge.ts';

const canary = 'NOT YOURS';
const bytesMax = 1000;
let folder = '';
const at = (path: string) => join(folder, path);
const put = async (path: string, text: string) => {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), text);
};

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'edge-resolve-')));
  await put('pool/slug/index.html', 'slug');
  await put('pool/storage/z/s1/own.txt', 'own');
  await put('pool/other/data/canary.txt', canary);
  await put('outside/canary.txt', canary);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As the table has it for an application whose folder `s1` is `source_path` of its volume. */
const files = (source_path: string): FilesAt[] => [
  { at: '/app', folder: at('pool/slug'), below: '', is_immutable: true },
  { at: '/app/all', folder: at('pool/storage'), below: '', is_immutable: false },
  { at: '/app/s1', folder: at('pool/storage'), below: source_path, is_immutable: false },
];

/** What a visitor would get: the text, or the kind of what was found. */
const told = (where: FilesAt[], path: string): string => {
  const found = resolveFile(where, path);
  if (found.kind !== 'file') return found.kind;
  return readFileAt(found.host, bytesMax)?.bytes.toString() ?? 'nothing';
};

test('a folder of a volume is what is mounted, and may come later', async () => {
  expect(told(files('z/s1'), '/app/s1/own.txt')).toBe('own');
  expect(told(files(''), '/app/s1/z/s1/own.txt')).toBe('own');
  const later = files('made/later');
  expect([told(later, '/app/s1'), told(later, '/app/s1/own.txt')]).toEqual(['nothing', 'nothing']);
  await put('pool/storage/made/later/own.txt', 'made');
  expect([told(later, '/app/s1'), told(later, '/app/s1/own.txt')]).toEqual(['folder', 'made']);
});

test('links of the operator on the way to a volume are followed', async () => {
  await symlink('pool', at('linked'));
  const where: FilesAt[] = [{ at: '/app/s1', folder: at('linked/storage'), below: 'z/s1', is_immutable: false }];
  expect(told(where, '/app/s1/own.txt')).toBe('own');
});

test.each<[string, string, (to: string) => Promise<void>]>([
  ['the folder that is mounted', 'z/s1', (to) => swap('pool/storage/z/s1', to)],
  ['a folder above it', 'z/s1/deep', (to) => swap('pool/storage/z/s1', to)],
  ['the first folder of the volume', 'z', (to) => swap('pool/storage/z', to)],
])('a link in place of %s leads nowhere', async (_, source_path, attack) => {
  await put('outside/deep/canary.txt', canary);
  const where = files(source_path);
  for (const to of [at('outside'), '../../outside', '../../../outside', at('pool/other/data'), `/proc/self/root${at('outside')}`]) {
    await attack(to);
    for (const path of ['/app/s1', '/app/s1/', '/app/s1/canary.txt', '/app/s1/deep', '/app/s1/deep/canary.txt'])
      expect([to, path, told(where, path)]).toEqual([to, path, 'nothing']);
    expect(told(where, '/app/all/z/s1/canary.txt')).not.toBe(canary);
  }
});

/** As `mv s1 s1.old; ln -s … s1` does it. */
async function swap(path: string, to: string) {
  await rename(at(path), at(`${path}.old`)).catch(() => {});
  await rm(at(path), { force: true, recursive: true });
  await symlink(to, at(path));
}

test('a link that the application follows in its own container still leads there', async () => {
  await symlink('/app/all/z/s1', at('pool/storage/inside'));
  expect(told(files('z/s1'), '/app/all/inside/own.txt')).toBe('own');
});

test('a second name of a file is that file, and what is no file is none', async () => {
  await link(at('pool/storage/z/s1/own.txt'), at('pool/storage/z/s1/second.txt'));
  expect(told(files('z/s1'), '/app/s1/second.txt')).toBe('own');
  await once(spawn('mkfifo', [at('pool/storage/z/s1/pipe')]), 'exit');
  await once(spawn('mkfifo', [at('pool/storage/pipe')]), 'exit');
  expect(told(files('z/s1'), '/app/s1/pipe')).toBe('nothing');
  expect(told(files('pipe'), '/app/s1')).toBe('nothing');
  expect(readFileAt(at('pool/storage/pipe'), bytesMax)).toBeUndefined();
  expect(await openFileAt(at('pool/storage/pipe'))).toBeUndefined();
});

test('of a table that an older edge has kept no link is followed at all', async () => {
  const where: FilesAt[] = [{ at: '/app/s1', folder: at('pool/storage/z/s1'), is_immutable: false }];
  expect(told(where, '/app/s1/own.txt')).toBe('own');
  await swap('pool/storage/z/s1', at('outside'));
  expect([told(where, '/app/s1'), told(where, '/app/s1/canary.txt')]).toEqual(['nothing', 'nothing']);
});

test('a table names folders of volumes by plain names, or as older ones do', () => {
  const parsed = (below: object) => () =>
    parseEnvironment(
      environmentOf([], {
        upstreams: { 'app:http': upstreamOf([], { files: [{ at: '/app', folder: '/volume', is_immutable: false, ...below }] }) },
      }),
    );
  for (const below of ['', 'a', 'a/b', '..a/...']) expect(parsed({ below })).not.toThrow();
  expect(parsed({})).not.toThrow();
  for (const below of ['..', 'a/..', 'a/../b', './a', '/a', 'a/', 'a//b', 'a/./b', 'a\0', 1, null])
    expect([below, parsed({ below })]).toEqual([below, expect.toSatisfy((parse: () => unknown) => isRefused(parse))]);
});

function isRefused(parse: () => unknown) {
  try {
    parse();
    return false;
  } catch (error) {
    return String(error).includes('below');
  }
}

/** Exchanges two names as fast as it can, in one step each time, so that both are always there; ends when it may not any more. */
const exchanging = `
my ($folder, $renameat2) = ($ARGV[0], (POSIX::uname())[4] eq 'x86_64' ? 316 : 276);
$| = 1; print "ready\\n";
syscall($renameat2, -100, "$folder/real", -100, "$folder/lie", 2) for 1 .. 100_000_000;
`;

test.each([
  ['the folder that is mounted', 'pool/storage/z', 'z/real'],
  ['a folder above it', 'pool/storage', 'real/s1'],
])('while an application exchanges %s for a link, thousands of requests find its own or nothing', async (_, place, source_path) => {
  await mkdir(at('pool/storage/z/real'), { recursive: true });
  await put(`pool/storage/${source_path}/canary.txt`, 'own');
  for (const outside of ['outside', 'outside/s1', 'pool/other/data/s1']) await put(`${outside}/canary.txt`, canary);
  await symlink(at('outside'), at(`${place}/lie`));
  const child = spawn('perl', ['-MPOSIX', '-e', exchanging, at(place)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  try {
    await once(child.stdout, 'data');
    const seen = new Map<string, number>();
    const isRare = (text: string) => (seen.get(text) ?? 0) < 50;
    const count = (text: string) => seen.set(text, (seen.get(text) ?? 0) + 1);
    for (let round = 0; round < 5000 || isRare('own') || isRare('nothing'); round++) {
      const where = files(source_path);
      count(told(where, '/app/s1/canary.txt'));
      const found = resolveFile(where, '/app/s1/canary.txt');
      const open = found.kind === 'file' ? await openFileAt(found.host) : undefined;
      count(open ? await open.file.readFile('utf8') : 'nothing');
      await open?.file.close();
    }
    expect([...seen.keys()].toSorted()).toEqual(['nothing', 'own']);
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
});
