/**
 * A program of a service: a copy of the checkout or release that this command is part of, named by its version. It appears whole, by a rename, with what it
 * needs to run and without what only its developers need.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { longCommandSecondsMax, run } from '../../server/drivers/command.ts';
import { currentLink, currentVersion, type ServicePaths, programFolder } from './service-paths.ts';
import type { Service } from './service.ts';

/** The folder of the program that runs now. */
export const ownFolder = resolve(import.meta.dirname, '..', '..');

/** A link in the folder of an installed program to its settings; ./offshoot reads it. */
export const settingsLink = 'settings.env';

const left = new Set(['.git', 'data', 'node_modules', settingsLink]);
const commitCharacters = 12;

/** Such as 0.1.0-72b18a3c11f0, named by its commit; a folder without a commit, or with uncommitted changes, is named by a hash of all that is in it. */
export function versionOf(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return `${version}-${(committed(folder) ?? contentHash(folder)).slice(0, commitCharacters)}`;
}

function committed(folder: string): string | undefined {
  if (!existsSync(join(folder, '.git'))) return undefined;
  const git = (...args: string[]) =>
    // The checkout may be that of another user than root.
    execFileSync('git', ['-c', 'safe.directory=*', '-C', folder, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return git('status', '--porcelain') === '' ? git('rev-parse', 'HEAD') : undefined;
  } catch {
    return undefined;
  }
}

function contentHash(folder: string): string {
  const hash = createHash('sha256');
  const files = globSync('**', { cwd: folder, exclude: (name) => left.has(name) }).filter((name) => statSync(join(folder, name)).isFile());
  for (const name of files.toSorted()) hash.update(`\0${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

/** Copies the program into its folder, unless it is there already. */
export async function placeProgram({ paths, flush }: Pick<Service, 'paths' | 'flush'>, source: string, version: string): Promise<void> {
  const folder = programFolder(paths, version);
  if (existsSync(folder)) return;
  const scratch = `${folder}.new`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(paths.programs, { recursive: true, mode: 0o755 });
  await copyEntries(source, scratch, await entriesOf(source, (name) => !left.has(name)));
  const modules = realpathSync(join(source, 'node_modules'));
  const isNeeded = neededModules(readFileSync(join(source, 'package-lock.json'), 'utf8'));
  await copyEntries(modules, join(scratch, 'node_modules'), await entriesOf(modules, isNeeded));
  await symlink(paths.settings, join(scratch, settingsLink));
  // The program is flushed before a link leads to it: after a power failure it is whole or absent.
  await flush(scratch);
  await rename(scratch, folder);
}

/** Packages of a scope are entries of their own. */
async function entriesOf(folder: string, isWanted: (name: string) => boolean): Promise<string[]> {
  const names = await readdir(folder);
  const inScopes = names.filter((name) => name.startsWith('@')).map(async (scope) => scoped(scope, await readdir(join(folder, scope))));
  return [...names.filter((name) => !name.startsWith('@')), ...(await Promise.all(inScopes)).flat()].filter(isWanted);
}

const scoped = (scope: string, names: readonly string[]) => names.map((name) => `${scope}/${name}`);

/** Owned by whoever does it. Node itself takes many times as long for so many files. */
async function copyEntries(from: string, to: string, entries: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true });
  const copy = ['cp', '--recursive', '--no-dereference', '--preserve=mode', '--parents', '--reflink=auto', '--'];
  await run('env', [`--chdir=${from}`, ...copy, ...entries.map((name) => `./${name}`), resolve(to)], longCommandSecondsMax);
}

interface Lock {
  packages: Record<string, { dev?: boolean }>;
}

const caches = new Set(['.cache', '.vitest-cache']);

/** Of entries of node_modules: all but caches and packages for developers. */
export function neededModules(lockText: string): (path: string) => boolean {
  const { packages } = JSON.parse(lockText) as Lock;
  const forDevelopers = new Set(
    Object.entries(packages).flatMap(([path, { dev }]) => (dev === true ? [path.replace(/^node_modules\//, '')] : [])),
  );
  return (path) => !caches.has(path) && !forDevelopers.has(path);
}

/** Has the next start run this version. The link is replaced by a rename, so it is never missing. */
export async function makeCurrent(paths: ServicePaths, version: string): Promise<void> {
  const link = currentLink(paths);
  await rm(`${link}.new`, { force: true });
  await symlink(version, `${link}.new`);
  await rename(`${link}.new`, link);
  await run('sync', ['--', paths.programs]);
}

/** Removes programs that nobody needs. One that is still in use, such as by an edge that was not replaced yet, stays until the next time. */
export async function removeOldPrograms(paths: ServicePaths, kept: readonly string[]): Promise<void> {
  const running = runningCommands();
  for (const entry of await readdir(paths.programs, { withFileTypes: true })) {
    const folder = programFolder(paths, entry.name);
    const isKept = kept.includes(entry.name) || entry.name === currentVersion(paths);
    if (entry.isDirectory() && !isKept && !running.some((command) => command.includes(`${folder}/`)))
      await rm(folder, { recursive: true, force: true });
  }
}

/** The command lines of all processes, each with its program. */
function runningCommands(): string[] {
  return globSync('/proc/[0-9]*').flatMap((process) => {
    try {
      return [`${readlinkSync(join(process, 'exe'))} ${readFileSync(join(process, 'cmdline'), 'latin1')}`];
    } catch {
      return []; // a process of the kernel, or one that has ended
    }
  });
}
