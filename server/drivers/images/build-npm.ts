/** Layers of npm packages: the tarball, checked against the recipe's integrity, unpacked where it is wanted. No script of a package runs. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, symlinkSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { authorityFile } from './build-authorities.ts';
import { BuildFailure, runPlain } from './build-command.ts';
import type { Building } from './build-debian.ts';
import type { NpmPackage, NpmPackages } from './recipe.ts';

export async function buildNpmPackages(recipe: NpmPackages, building: Building) {
  const root = join(building.folder, 'root');
  mkdirSync(root, { mode: 0o755 });
  for (const [index, npmPackage] of recipe.packages.entries()) {
    const tarball = await fetchTarball(npmPackage, building);
    building.progress((index + 0.7) / recipe.packages.length);
    await unpack(npmPackage, tarball, root, building);
    building.progress((index + 1) / recipe.packages.length);
  }
  for (const [link, to] of Object.entries(recipe.links ?? {})) {
    mkdirSync(dirname(join(root, link)), { recursive: true });
    symlinkSync(to, join(root, link));
  }
  await runPlain(['chmod', '--recursive', 'u=rwX,go=rX', '--', root], root, building.say, building.signal);
}

async function fetchTarball({ name, version, integrity }: NpmPackage, building: Building): Promise<string> {
  const { folder, say, signal } = building;
  const downloads = join(folder, 'downloads');
  rmSync(downloads, { recursive: true, force: true });
  mkdirSync(downloads);
  const npm = join(dirname(createRequire(import.meta.url).resolve('npm/package.json')), 'bin', 'npm-cli.js');
  const options = ['--ignore-scripts', '--loglevel=error', '--no-update-notifier', `--cache=${join(folder, 'npm-cache')}`];
  say(`Fetching ${name} ${version}`);
  await runPlain([process.execPath, npm, 'pack', ...options, '--', `${name}@${version}`], downloads, say, signal, authorityFile(building));
  const [file = ''] = readdirSync(downloads);
  const tarball = join(downloads, file);
  const found = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
  if (found !== integrity)
    throw new BuildFailure(`${name} ${version} is not what the catalogue expects: ${found} instead of ${integrity}.`);
  return tarball;
}

async function unpack(npmPackage: NpmPackage, tarball: string, root: string, { say, signal }: Building) {
  const { name, version, from, into, without = [], linksListedIn } = npmPackage;
  const target = join(root, into);
  mkdirSync(target, { recursive: true });
  say(`Unpacking ${name} ${version}`);
  const prefix = from === undefined ? 'package' : `package/${from}`;
  await runPlain(
    [
      'tar',
      '--extract',
      '--gzip',
      '--no-same-owner',
      `--file=${tarball}`,
      `--directory=${target}`,
      `--strip-components=${prefix.split('/').length}`,
      ...without.map((path) => `--exclude=${prefix}/${path}`),
      '--',
      prefix,
    ],
    root,
    say,
    signal,
  );
  if (linksListedIn !== undefined) makeListedLinks(target, from ?? '', linksListedIn);
}

/** The list names a link and its target from the root of the package; both are always in one folder. */
function makeListedLinks(target: string, from: string, file: string) {
  const list: unknown = JSON.parse(readFileSync(join(target, file), 'utf8'));
  if (!Array.isArray(list) || !list.every(isLink)) throw new BuildFailure(`${file} is not a list of symbolic links.`);
  for (const { source, target: link } of list) {
    if (dirname(source) !== dirname(link) || link.includes('..')) throw new BuildFailure(`${file} links across folders: ${link}.`);
    symlinkSync(basename(source), join(target, link.slice(from.length)));
  }
}

const isLink = (entry: unknown): entry is { source: string; target: string } =>
  typeof entry === 'object' &&
  entry !== null &&
  'source' in entry &&
  'target' in entry &&
  typeof entry.source === 'string' &&
  typeof entry.target === 'string';
