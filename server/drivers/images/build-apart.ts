/**
 * Programs of a newer Debian than the image, for tools that must not be older than what they talk to. They come with the loader and all libraries that
 * they need, in a folder of their own, and each is called by a small script; nothing else in the image sees those libraries.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BuildFailure, runConfined, runPlain } from './build-command.ts';
import { aptSettings, archiveLine, debianArchitecture, keyring, requirePrograms, type Building } from './build-debian.ts';
import type { DebianApart } from './recipe.ts';

const listMillisecondsMax = 30_000;
const run = promisify(execFile);

export async function buildDebianApart({ suite, packages, into, programs }: DebianApart, building: Building) {
  const { folder, say, progress, signal, within = [] } = building;
  await requirePrograms();
  const extracted = join(folder, 'extracted');
  say(`Fetching ${packages.join(', ')} of Debian ${suite}`);
  await runConfined(
    [
      ...within,
      'mmdebstrap',
      '--mode=root',
      '--variant=extract',
      '--format=directory',
      `--architectures=${debianArchitecture()}`,
      `--keyring=${keyring}`,
      '--aptopt=Acquire::Languages "none"',
      '--aptopt=Acquire::Retries "3"',
      ...(await aptSettings()).map((line) => `--aptopt=${line}`),
      `--include=${packages.join(',')}`,
      suite,
      extracted,
      ...(building.sources ?? [await archiveLine(suite)]),
    ],
    folder,
    say,
    signal,
  );
  progress(0.8);
  const root = join(folder, 'root');
  for (const path of ['bin', 'lib']) mkdirSync(join(root, into, path), { recursive: true, mode: 0o755 });
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true, mode: 0o755 });
  const libraries = librariesIn(extracted);
  const needed = new Set(['loader']);
  for (const program of programs) {
    const file = join(extracted, program);
    for (const name of await neededBy(file, libraries)) needed.add(name);
    copyFileSync(file, join(root, into, 'bin', basename(program)));
    writeFileSync(join(root, 'usr/local/bin', basename(program)), callOf(into, basename(program)));
  }
  for (const name of needed)
    copyFileSync(name === 'loader' ? libraries.loader : join(libraries.folder, name), join(root, into, 'lib', name));
  await runPlain(['chmod', '--recursive', 'u=rwX,go=rX', '--', root], root, say, signal);
  await runPlain(['chmod', '755', '--', join(root, into, 'lib/loader'), ...programFiles(root, programs)], root, say, signal);
}

const programFiles = (root: string, programs: readonly string[]) =>
  programs.map((program) => join(root, 'usr/local/bin', basename(program)));

/** Programs that call each other look for the others beside the name by which they were called. */
const callOf = (into: string, program: string) =>
  `#!/bin/sh\nexec ${into}/lib/loader --argv0 "$0" --library-path ${into}/lib ${into}/bin/${program} "$@"\n`;

interface Libraries {
  folder: string;
  loader: string;
}

function librariesIn(extracted: string): Libraries {
  const lib = join(extracted, 'usr/lib');
  const folder = join(lib, readdirSync(lib).find((name) => name.endsWith('-linux-gnu')) ?? '');
  const loader = readdirSync(folder).find((name) => /^ld-linux[^/]*\.so\.\d+$/.test(name));
  if (loader === undefined) throw new BuildFailure(`There is no loader of programs in ${dirname(folder)}.`);
  return { folder, loader: join(folder, loader) };
}

/** The loader lists them without running the program: `libpq.so.5 => /…/libpq.so.5 (0x…)`. */
async function neededBy(program: string, { folder, loader }: Libraries): Promise<string[]> {
  const { stdout } = await run(loader, ['--library-path', folder, '--list', program], { timeout: listMillisecondsMax });
  return [...stdout.matchAll(/^\s*(lib[^\s/]+) => /gm)].map(([, name = '']) => name);
}
