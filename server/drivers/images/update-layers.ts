/**
 * Security updates for layers that are built already. Debian is asked, now and then, for the versions of all packages in them; where it has newer ones,
 * the layer is built anew under another name, with all that lies above it, beside what is there. Only when all of them are whole do images become
 * another one, in one move: no deployment waits for it, what runs keeps what it runs on, and a failure changes nothing.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runConfined, type Say } from './build-command.ts';
import { aptFolder, debianArchitecture, requirePrograms, writeAptSettings } from './build-debian.ts';
import { ownPackages } from './debian-packages.ts';
import type { Update } from './images.ts';
import { layersFolder, recordOf, rootOf, type Packages } from './layer-cache.ts';
import { hashOf, type Layer, type Revisions } from './recipe.ts';

const revisionsFile = (folder: string) => join(folder, 'revisions.json');

export function readRevisions(folder: string): Revisions {
  if (!existsSync(revisionsFile(folder))) return {};
  const revisions: Revisions = JSON.parse(readFileSync(revisionsFile(folder), 'utf8'));
  return revisions;
}

function writeRevisions(folder: string, revisions: Revisions) {
  const fresh = `${revisionsFile(folder)}.${randomBytes(4).toString('hex')}`;
  writeFileSync(fresh, JSON.stringify(revisions, undefined, 1));
  renameSync(fresh, revisionsFile(folder));
}

interface Asking {
  /** Lines as of sources.list for a release. */
  sourcesOf: (suite: string) => Promise<readonly string[]>;
  say: Say;
  signal: AbortSignal;
}

interface Updating extends Asking {
  /** The layers of each type that is built, with these revisions. */
  imagesOf(revisions: Revisions): ReadonlyMap<string, readonly Layer[]>;
  build(layer: Layer): Promise<unknown>;
}

export async function updateLayers(folder: string, { imagesOf, build, ...asking }: Updating): Promise<Update> {
  const layers = new Map([...imagesOf(readRevisions(folder)).values()].flat().map((layer) => [layer.hash, layer]));
  const { revisions, packages } = await newerRevisions(folder, [...layers.values()], asking);
  const changed = [...imagesOf(revisions)].filter(([, image]) => image.some(({ hash }) => !layers.has(hash)));
  for (const [, image] of changed) for (const layer of image) await build(layer);
  if (changed.length > 0) writeRevisions(folder, revisions);
  return { packages, types: changed.map(([type]) => type) };
}

interface Newer {
  revisions: Revisions;
  packages: string[];
}

/** The revisions that the built layers should have. */
async function newerRevisions(folder: string, layers: readonly Layer[], asking: Asking): Promise<Newer> {
  await requirePrograms();
  const [before, said] = [readRevisions(folder), new Set<string>()];
  const revisions: Record<string, string> = { ...before };
  const debian = layers.filter(({ recipe }) => recipe.kind === 'debian-base' || recipe.kind === 'debian-packages');
  const known = debian.map((layer) => ({ layer, packages: packagesOf(folder, layer) }));
  const candidates = new Map<string, Packages>();
  for (const suite of new Set(debian.map((layer) => layer.suite ?? ''))) {
    const ofSuite = known.filter(({ layer }) => layer.suite === suite).map(({ layer, packages }) => [layer.hash, packages] as const);
    for (const [hash, versions] of await candidatesFor(folder, suite, new Map(ofSuite), asking)) candidates.set(hash, versions);
  }
  for (const { layer, packages } of known) {
    const now: Packages = { ...packages, ...candidates.get(layer.hash) };
    const newer = Object.keys(packages).filter((name) => packages[name] !== now[name]);
    // A layer that was built before versions were written down does not tell what it has.
    const isUnknown = Object.keys(packages).length === 0;
    if (newer.length === 0 && !isUnknown) continue;
    revisions[layer.key] = isUnknown ? 'known' : hashOf(now);
    if (revisions[layer.key] !== before[layer.key]) for (const name of newer) said.add(`${name} ${packages[name]} becomes ${now[name]}`);
  }
  return { revisions, packages: [...said].toSorted() };
}

/** The layer's own packages, without those of the layers below. */
function packagesOf(folder: string, { hash, below }: Layer): Packages {
  const lower = below.map((each) => rootOf(folder, each));
  return recordOf(folder, hash)?.packages ?? ownPackages(rootOf(folder, hash), lower);
}

/** For each layer of a release, the versions that apt would install now. */
async function candidatesFor(folder: string, suite: string, layers: ReadonlyMap<string, Packages>, { sourcesOf, say, signal }: Asking) {
  const scratch = join(layersFolder(folder), `${randomBytes(16).toString('hex')}.${randomBytes(4).toString('hex')}.building`);
  mkdirSync(scratch, { mode: 0o755 });
  try {
    await writeAptSettings(join(scratch, 'settings'), await sourcesOf(suite));
    for (const [hash, packages] of layers)
      if (Object.keys(packages).length > 0) writeFileSync(join(scratch, `${hash}.status`), statusOf(packages));
    const script = join(import.meta.dirname, 'compare-packages.sh');
    const argv = ['sh', script, basename(scratch), aptFolder(suite), debianArchitecture()];
    await runConfined([...unhurried, ...argv], layersFolder(folder), say, signal);
    return new Map([...layers.keys()].map((hash) => [hash, candidatesIn(join(scratch, `${hash}.policy`))]));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** For work that nobody waits for. */
export const unhurried: readonly string[] = ['nice', '-n', '10'];

/** Just enough of dpkg's list to tell apt what is installed. */
const statusOf = (packages: Packages) =>
  Object.entries(packages)
    .map(([name, version]) =>
      [
        `Package: ${name}`,
        'Status: install ok installed',
        'Maintainer: nobody',
        `Architecture: ${debianArchitecture()}`,
        `Version: ${version}`,
        'Description: installed\n\n',
      ].join('\n'),
    )
    .join('');

/** `openssl:`, and below it `  Installed: 3.0.1` and `  Candidate: 3.0.2`. */
function candidatesIn(file: string): Packages {
  if (!existsSync(file)) return {};
  const found = readFileSync(file, 'utf8').matchAll(/^(\S+):\n {2}Installed: \S+\n {2}Candidate: (\S+)$/gm);
  return Object.fromEntries([...found].map(([, name = '', candidate = '']) => [name.split(':', 1)[0] ?? '', candidate]));
}
