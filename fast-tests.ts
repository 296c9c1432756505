/**
 * Which tests make up the fast loop, `./offshoot test fast`: those that need neither a container nor a whole platform. Nobody keeps a list. A test's
 * imports are followed through test code; if one of them opens a door to the machine or to a platform, the test is not fast. In the loop the programs
 * behind these doors refuse to run, so that a test that comes to them in another way fails there and says why.
 */
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const root = import.meta.dirname;

/** Files and folders, with what whoever imports them by value has in hand. */
export const doors: Readonly<Record<string, string>> = {
  'server/drivers/runtime/': 'containers',
  'server/drivers/images/cached-images.ts': 'images, which are built',
  'server/drivers/volumes/': 'file systems, which are made and mounted',
  'server/drivers/blobs/': 'the store of backups',
  'server/drivers/edge/open-edge.ts': 'an edge in processes of its own',
  'server/platform.ts': 'a platform with a database and every room',
  'e2e/': 'a platform that is started by its command',
};

/** Programs that stand behind them. */
const programs = ['runc', 'conmon', 'mmdebstrap', 'mkfs.btrfs', 'mkfs.xfs', 'losetup', 'restic'];

const others = new Set(['node_modules', 'data']);

export const fastTests = (): string[] =>
  globSync('**/*.test.ts', { cwd: root, exclude: (name) => others.has(name) })
    .filter((file) => doorsOf(file).length === 0)
    .toSorted();

/** Which doors a test opens, itself or by what it shares with other tests. */
export function doorsOf(test: string): string[] {
  const [reached, opened] = [new Set([test]), new Set<string>()];
  for (const file of reached) {
    const door = Object.keys(doors).find((name) => (name.endsWith('/') ? file.startsWith(name) : file === name));
    if (door !== undefined) opened.add(door);
    else if (isTestCode(file)) for (const imported of importsOf(file)) reached.add(imported);
  }
  return [...opened];
}

/** What product code imports is its own affair: it is loaded, and nothing of it is opened by that. */
const isTestCode = (file: string) => /(?:^|\/)(?:test-[^/]+|conformance|[^/]+\.test)\.ts$|(?:^|\/)testing\//.test(file);

/** By value: types open nothing. */
const importsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import|export)(?! type\b)[^;]*? from '(\.[^']+)'/gms)]
    .map(([, path = '']) => normalize(join(dirname(file), path)))
    .filter((path) => existsSync(join(root, path)));

/** A folder to be searched before all others, in which the programs say that they are not run. */
export function refusingPrograms(): string {
  const folder = join(root, 'node_modules', '.cache', 'offshoot-refusing-programs');
  mkdirSync(folder, { recursive: true });
  for (const program of programs) {
    const file = join(folder, program);
    writeFileSync(file, `#!/bin/sh\necho "${program} is not run in the fast loop: see fast-tests.ts" >&2\nexit 127\n`);
    chmodSync(file, 0o755);
  }
  return folder;
}
