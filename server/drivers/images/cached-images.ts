/** The images driver: looks the type up in the catalogue, and builds the layers that are missing, lowest first. */
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { withFileLock } from '../file-lock.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { bringAhead, type EnsureImage, readAhead } from './ahead.ts';
import { buildAuthorities } from './build-authorities.ts';
import { BuildFailure, runPlain } from './build-command.ts';
import { buildDebianApart } from './build-apart.ts';
import { buildDebianBase, buildDebianPackages, type Building, mirrorLines } from './build-debian.ts';
import { buildMavenJars } from './build-maven.ts';
import { buildNpmPackages } from './build-npm.ts';
import { ensureLayers, type EnsureLayer } from './ensure-layers.ts';
import { builtTypesOf, type ImageTypes, recipesOf } from './image-types.ts';
import type { Image, Images, Progress } from './images.ts';
import {
  collectable,
  collectLayers,
  createFolders,
  ensureLayer,
  type Keeping,
  type LayerRecord,
  type Packages,
  recordOf,
  records,
  rootOf,
  useLayer,
} from './layer-cache.ts';
import { bringAgain, bringImage, broughtImage, type Bringing, isBroughtType } from './oci/bring-image.ts';
import { fetchLayout } from './oci/image-layout.ts';
import { type Files, hashOf, type Layer, layersOf, type Recipe } from './recipe.ts';
import { withRegistryTypes } from './registry-types.ts';
import type { LayerReport } from './shared-progress.ts';
import { readRevisions, unhurried, updateLayers } from './update-layers.ts';
import { whileWanted } from './wanted-layers.ts';

/** How the time of a build divides, in seconds on two cores; only for the percentage. */
const usualSeconds: Record<Recipe['kind'], number> = {
  'debian-base': 20,
  'debian-packages': 15,
  'debian-apart': 15,
  'npm-packages': 4,
  'maven-jars': 10,
  authorities: 1,
  files: 0.1,
};

export interface ImagesOptions {
  /** How registries of other people's images are reached; without it, images come from the catalogue alone. */
  outbound?: Outbound;
  /** Registries, as `host:port`, that are asked over plain HTTP. */
  plainRegistries?: readonly string[];
  /** Where packages of Debian come from, in the place of the mirrors of this machine. */
  sources?: readonly string[];
  /** Certificate authorities that images are to trust beside the public ones, as PEM. */
  authorities?: readonly string[];
}

export function openImages(folder: string, catalogue: ImageTypes, options: ImagesOptions = {}): Images {
  const { sources, authorities = [], plainRegistries = [] } = options;
  createFolders(folder);
  const bringing = (): Bringing => {
    if (!options.outbound) throw new Problem('unavailable', 'This process has no way to registries of images.');
    return { folder, way: { outbound: options.outbound, plainRegistries } };
  };
  const trust: Recipe[] = authorities.length === 0 ? [] : [{ kind: 'authorities', certificates: authorities }];
  const layersOfType = (type: string, revisions = readRevisions(folder)) =>
    layersOf([...recipesOf(catalogue, type), ...trust], process.arch, revisions);
  const keeping = (keep: ReadonlySet<string>): Keeping => ({
    keep: new Set([...keep].map(hashOfLayer)),
    current: new Map(builtTypesOf(catalogue).flatMap((type) => layersOfType(type).map(({ key, hash }) => [key, hash] as const))),
  });
  const from = { authorities, ...(sources && { sources }) };
  const ensureImage: EnsureImage = async (type, onProgress, signal) => {
    const layers = layersOfType(type);
    const progress = progressOver(layers, onProgress);
    const ensure: EnsureLayer = async (layer, index, either) => {
      const report = progress.ofLayer(index);
      const record = await ensureOne(folder, layer, { ...from, ...report }, either);
      report.progress(1);
      return record;
    };
    const built = await ensureLayers(layers, ensure, signal);
    onProgress({ percent: 100, line: `${type} is ready.` });
    return imageOf(folder, type, built);
  };

  const images: Images = {
    bring: (reference, access = {}, onProgress = () => {}, signal = new AbortController().signal) =>
      bringImage(bringing(), reference, access, onProgress, signal),

    fetchLayout: async (reference, access, into, signal) => fetchLayout(bringing().way, reference, access, into, signal),

    async ensure(type, onProgress = () => {}, signal = new AbortController().signal) {
      if (isBroughtType(type)) return (await broughtImage(folder, type)) ?? bringAgain(bringing(), type, onProgress, signal);
      const missing = layersOfType(type).filter(({ hash }) => !recordOf(folder, hash));
      const ensure = () => ensureImage(type, onProgress, signal);
      if (missing.length === 0) return ensure();
      return whileWanted(
        folder,
        missing.map(({ hash }) => hash),
        signal,
        ensure,
      );
    },

    bringAhead: (types, report, signal) => bringAhead({ folder, layersOf: layersOfType, ensure: ensureImage, report }, types, signal),

    ahead: () => readAhead(folder),

    async built(type) {
      if (isBroughtType(type)) return broughtImage(folder, type);
      const built: LayerRecord[] = [];
      for (const { hash } of layersOfType(type)) {
        const record = await useLayer(folder, hash, AbortSignal.timeout(lockMillisecondsMax));
        if (!record) return undefined;
        built.push(record);
      }
      return imageOf(folder, type, built);
    },

    collect: (limits, keep = new Set()) => collectLayers(folder, limits, keeping(keep)),

    bytes: (limits, keep = new Set()) => ({
      taken: bytesOf(records(folder)),
      collectable: bytesOf(collectable(folder, limits, keeping(keep)).flatMap((hash) => recordOf(folder, hash) ?? [])),
    }),

    update: (onLine = () => {}, signal = new AbortController().signal) =>
      withFileLock(join(folder, 'locks', 'update'), signal, async () => {
        const types = builtTypesOf(catalogue).filter((type) => layersOfType(type).every(({ hash }) => recordOf(folder, hash)));
        const report = { ...from, say: onLine, progress: () => {}, within: unhurried };
        const update = await updateLayers(folder, {
          imagesOf: (revisions) => new Map(types.map((type) => [type, layersOfType(type, revisions)])),
          build: (layer) => ensureOne(folder, layer, report, signal),
          sourcesOf: async (suite) => sources ?? mirrorLines(suite),
          say: onLine,
          signal,
        });
        noteUpdate(folder);
        return update;
      }),

    secondsSinceUpdate: () => (records(folder).length === 0 ? undefined : secondsSinceUpdate(folder)),
  };
  return withRegistryTypes(images, folder, catalogue);
}

const updateMark = (folder: string) => join(folder, 'updated');
const noteUpdate = (folder: string) => writeFileSync(updateMark(folder), '');

/** Where nobody has ever asked, counting begins now. */
function secondsSinceUpdate(folder: string): number {
  if (!existsSync(updateMark(folder))) noteUpdate(folder);
  return (Date.now() - statSync(updateMark(folder)).mtimeMs) / 1000;
}

const bytesOf = (layers: readonly LayerRecord[]) => layers.reduce((sum, { bytes }) => sum + bytes, 0);

const lockMillisecondsMax = 30_000;

/** Containers name layers by their folders. */
const hashOfLayer = (layer: string) => (basename(layer) === 'root' ? basename(dirname(layer)) : layer);

const imageOf = (folder: string, type: string, built: LayerRecord[]): Image => ({
  type,
  hash: hashOf(built.map(({ hash }) => hash)),
  layers: built.map(({ hash }) => rootOf(folder, hash)),
  bytes: bytesOf(built),
});

type Report = Pick<Building, 'say' | 'progress' | 'within' | 'sources' | 'authorities'>;

async function ensureOne(folder: string, layer: Layer, report: Report, signal: AbortSignal): Promise<LayerRecord> {
  const below = layer.below.map((hash) => `${hash}/root`);
  const build = (scratch: string, written: LayerReport) => buildLayer(layer, { folder: scratch, below, signal, ...report, ...written });
  try {
    return await ensureLayer(folder, layer, build, report, signal);
  } catch (cause) {
    if (!(cause instanceof BuildFailure)) throw cause;
    const internal = { ...(cause.internal !== undefined && { internal: cause.internal }) };
    throw new Problem('unavailable', `An image could not be built; try again later. Its last words were:\n${cause.message}`, {
      cause,
      ...internal,
    });
  }
}

function buildLayer({ recipe, suite }: Layer, building: Building): Promise<Packages | void> {
  switch (recipe.kind) {
    case 'debian-base':
      return buildDebianBase(recipe, building);
    case 'debian-packages':
      return buildDebianPackages(recipe, suite ?? withoutBase(), building);
    case 'debian-apart':
      return buildDebianApart(recipe, building);
    case 'npm-packages':
      return buildNpmPackages(recipe, building);
    case 'maven-jars':
      return buildMavenJars(recipe, building);
    case 'authorities':
      return buildAuthorities(recipe, building);
    case 'files':
      return writeFiles(recipe, building);
  }
}

const withoutBase = (): never => {
  throw new TypeError('Packages of Debian need a base below them, which says of which release they are.');
};

async function writeFiles({ files, programs = {}, links = {} }: Files, { folder, say, signal }: Building) {
  const write = (path: string, text: string, mode: number) => {
    const file = join(folder, 'root', path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, text, { mode });
  };
  for (const [path, text] of Object.entries(files)) write(path, text, 0o644);
  for (const [path, text] of Object.entries(programs)) write(path, text, 0o755);
  for (const [path, to] of Object.entries(links)) {
    mkdirSync(dirname(join(folder, 'root', path)), { recursive: true, mode: 0o755 });
    symlinkSync(to, join(folder, 'root', path));
  }
  await runPlain(['chmod', '--recursive', 'u=rwX,go=rX', '--', join(folder, 'root')], folder, say, signal);
}

function progressOver(layers: readonly Layer[], onProgress: (progress: Progress) => void) {
  const seconds = layers.map(({ recipe }) => usualSeconds[recipe.kind]);
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  const parts = layers.map(() => 0);
  const percent = () => Math.round((100 * sum(seconds.map((value, index) => value * (parts[index] ?? 0)))) / sum(seconds));
  return {
    ofLayer: (index: number): LayerReport => ({
      say: (line) => onProgress({ percent: percent(), line }),
      // The percentage never goes back.
      progress: (part) => (parts[index] = Math.max(parts[index] ?? 0, part)),
    }),
  };
}
