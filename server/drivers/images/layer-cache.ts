/**
 * The folder of layers. A layer is built in a scratch folder beside its place, flushed to disk and renamed, so it is complete or absent whatever
 * was killed when; builds of one layer take turns, also between processes, and the later ones find it done.
 *
 *     <folder>/layers/<hash>/root         what is mounted
 *     <folder>/layers/<hash>/layer.json   recipe, size, seconds that it took, layers below
 *     <folder>/layers/<hash>/used         touched at each use
 *     <folder>/layers/<hash>.<random>.building
 *     <folder>/locks/<hash>               held by whoever builds it; beside it what that one reports, and who waits for it
 *     <folder>/revisions.json             which layers are to be made with newer packages (update-layers.ts)
 *     <folder>/oci                        images of other registries that were brought (oci/bring-image.ts)
 *     <folder>/apt/<release>              package lists and downloads, shared by builds
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifUnlocked, withFileLock } from '../file-lock.ts';
import { runPlain } from './build-command.ts';
import type { CollectLimits } from './images.ts';
import { mountedLayers } from './mounted-layers.ts';
import type { Layer } from './recipe.ts';
import { followReport, type LayerReport, writtenReport } from './shared-progress.ts';

/** A layer in use is marked at least this often; only a layer whose mark is much older can be removed. */
const freshSeconds = 300;
const inUseSeconds = 3600;
const removalRetriesMax = 10;
const layerName = /^[0-9a-f]{32}$/;
const scratchName = /^([0-9a-f]{32})\.[0-9a-f]+\.(?:building|removing)$/;

export interface LayerRecord {
  hash: string;
  /** Absent where it is the same as the hash. */
  key?: string;
  bytes: number;
  seconds: number;
  below: string[];
  /** The Debian packages of the layer with their versions, without those of the layers below; only where the layer itself does not tell. */
  packages?: Packages;
}

/** Name to version. */
export type Packages = Readonly<Record<string, string>>;
/** What a layer is made of is noted beside it, for people. */
type NamedLayer = Pick<Layer, 'hash' | 'key' | 'below'> & { recipe: object };
type Build = (scratch: string, report: LayerReport) => Promise<Packages | void>;

export const layersFolder = (folder: string) => join(folder, 'layers');
export const rootOf = (folder: string, hash: string) => join(layersFolder(folder), hash, 'root');
const lockOf = (folder: string, hash: string) => join(folder, 'locks', hash);
const usedMark = (folder: string, hash: string) => join(layersFolder(folder), hash, 'used');

/** Other users may pass through these folders to what is theirs inside, but not list them. */
export function createFolders(folder: string) {
  for (const path of [folder, layersFolder(folder), join(folder, 'locks'), join(folder, 'apt')]) {
    if (existsSync(path)) continue;
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o711);
  }
}

/** Undefined: the layer is not built. Counts as a use. */
export async function useLayer(folder: string, hash: string, signal: AbortSignal): Promise<LayerRecord | undefined> {
  if (secondsUnused(folder, hash) < freshSeconds) return recordOf(folder, hash);
  if (!existsSync(usedMark(folder, hash))) return undefined;
  // Done under the lock, so that the layer is not being removed for its age at this very moment.
  return withFileLock(lockOf(folder, hash), signal, async () => markUsed(folder, hash));
}

/** Whoever waits while another process builds the layer gets the same report. */
export async function ensureLayer(folder: string, layer: NamedLayer, build: Build, report: LayerReport, signal: AbortSignal) {
  const { hash } = layer;
  const built = await useLayer(folder, hash, signal);
  if (built) return built;
  const stopFollowing = followReport(folder, hash, report);
  const buildUnlessBuilt = async () => {
    stopFollowing();
    const builtMeanwhile = markUsed(folder, hash);
    if (builtMeanwhile) return builtMeanwhile;
    await removeScratch(folder, hash);
    const scratch = scratchOf(folder, hash, 'building');
    mkdirSync(scratch, { mode: 0o755 });
    try {
      return await buildInto(folder, layer, scratch, build, writtenReport(folder, hash, report), signal);
    } catch (error) {
      await removeFolder(scratch);
      throw error;
    }
  };
  return withFileLock(lockOf(folder, hash), signal, buildUnlessBuilt).finally(stopFollowing);
}

async function buildInto(
  folder: string,
  { hash, key, recipe, below }: NamedLayer,
  scratch: string,
  build: Build,
  report: LayerReport,
  signal: AbortSignal,
): Promise<LayerRecord> {
  const started = performance.now();
  const packages = await build(scratch, report);
  for (const name of readdirSync(scratch)) if (name !== 'root') await removeFolder(join(scratch, name));
  chmodSync(join(scratch, 'root'), 0o755);
  const bytes = await bytesIn(join(scratch, 'root'), signal);
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  const record: LayerRecord = { hash, key, bytes, seconds, below: [...below], ...(packages && { packages }) };
  writeFileSync(join(scratch, 'layer.json'), JSON.stringify({ ...record, recipe }));
  writeFileSync(join(scratch, 'used'), '');
  await runPlain(['sync', '--file-system', '--', scratch], scratch, report.say, signal);
  renameSync(scratch, join(layersFolder(folder), hash));
  return record;
}

async function bytesIn(root: string, signal: AbortSignal) {
  let said = '';
  await runPlain(['du', '--summarize', '--block-size=1', '--', root], root, (line) => (said = line), signal);
  return Number.parseInt(said, 10);
}

/** What goes, and what stays whatever its age. */
export interface Keeping {
  keep: ReadonlySet<string>;
  /** By key, the layer that images are made of now. Other layers of the same key are replaced, and go when nobody uses them any more. */
  current: ReadonlyMap<string, string>;
}

/** Removes layers that were replaced or not used for so long, and more of them, those longest unused first, until the rest is small enough. */
export async function collectLayers(folder: string, limits: CollectLimits, keeping: Keeping) {
  await removeScratch(folder);
  await removeOldDownloads(folder);
  const removed: string[] = [];
  const needed = new Set<string>();
  for (const hash of collectable(folder, limits, keeping)) {
    const below = recordOf(folder, hash)?.below ?? [];
    if (!needed.has(hash) && (await removeLayer(folder, hash))) removed.push(hash);
    else for (const each of below) needed.add(each);
  }
  return removed;
}

/** The layers in the order in which they can go: those that lie above others first. */
export function collectable(folder: string, { ageSecondsMax, bytesMax }: CollectLimits, { keep, current }: Keeping): string[] {
  const left = new Map(records(folder).map((record) => [record.hash, record]));
  const kept = withLayersBelow(new Set([...keep, ...mountedLayers(folder)]), left);
  const isReplaced = ({ hash, key = hash }: LayerRecord) => current.has(key) && current.get(key) !== hash;
  const chosen: string[] = [];
  for (let rounds = left.size; rounds > 0; rounds--) {
    const bytes = [...left.values()].reduce((sum, record) => sum + record.bytes, 0);
    const needed = new Set([...left.values()].flatMap(({ below }) => below));
    const [oldest] = [...left.values()]
      .filter(({ hash }) => !kept.has(hash) && !needed.has(hash) && secondsUnused(folder, hash) > inUseSeconds)
      .filter((record) => bytes > bytesMax || isReplaced(record) || secondsUnused(folder, record.hash) > ageSecondsMax)
      .toSorted((a, b) => Number(isReplaced(b)) - Number(isReplaced(a)) || secondsUnused(folder, b.hash) - secondsUnused(folder, a.hash));
    if (oldest === undefined) break;
    left.delete(oldest.hash);
    chosen.push(oldest.hash);
  }
  return chosen;
}

function withLayersBelow(keep: ReadonlySet<string>, layers: ReadonlyMap<string, LayerRecord>) {
  return new Set([...keep].flatMap((hash) => [hash, ...(layers.get(hash)?.below ?? [])]));
}

/** False where somebody builds or uses it just now. */
async function removeLayer(folder: string, hash: string): Promise<boolean> {
  const scratch = scratchOf(folder, hash, 'removing');
  const renamed = await ifUnlocked(lockOf(folder, hash), async () => {
    if (secondsUnused(folder, hash) <= inUseSeconds) return false;
    renameSync(join(layersFolder(folder), hash), scratch);
    return true;
  });
  if (renamed) await removeFolder(scratch);
  return renamed ?? false;
}

/** What broken builds and removals left, of one layer whose lock the caller holds, or of all that nobody works on. */
async function removeScratch(folder: string, ofHash?: string) {
  for (const name of readdirSync(layersFolder(folder))) {
    const [, hash] = scratchName.exec(name) ?? [];
    if (hash === undefined) continue;
    const remove = () => removeFolder(join(layersFolder(folder), name));
    if (hash === ofHash) await remove();
    else if (ofHash === undefined) await ifUnlocked(lockOf(folder, hash), remove);
  }
}

/** Those of each release, and what earlier versions of the platform kept for the only release that they knew. */
async function removeOldDownloads(folder: string) {
  const apt = join(folder, 'apt');
  const folders = readdirSync(apt, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const releases = folders.map(({ name }) => join(apt, name));
  for (const one of [apt, ...releases]) await removeOldDownloadsIn(one);
}

/** Does not remove downloads while a build uses them: install-packages.sh holds the same lock. */
async function removeOldDownloadsIn(apt: string) {
  const updated = statSync(join(apt, 'lists', 'updated'), { throwIfNoEntry: false });
  if (!updated || Date.now() - updated.mtimeMs < downloadSecondsMax * 1000) return;
  const remove = ['rm', '-rf', '--', 'lists', 'parsed', 'archives'];
  await runPlain(
    ['flock', '--nonblock', '--conflict-exit-code', '0', 'lists.lock', ...remove],
    apt,
    () => {},
    new AbortController().signal,
  );
}
const downloadSecondsMax = 86_400;

export const records = (folder: string): LayerRecord[] =>
  readdirSync(layersFolder(folder))
    .filter((name) => layerName.test(name))
    .flatMap((hash) => recordOf(folder, hash) ?? []);

export function recordOf(folder: string, hash: string): LayerRecord | undefined {
  const file = join(layersFolder(folder), hash, 'layer.json');
  if (!existsSync(file)) return undefined;
  const record: LayerRecord = JSON.parse(readFileSync(file, 'utf8'));
  return record;
}

function markUsed(folder: string, hash: string): LayerRecord | undefined {
  const record = recordOf(folder, hash);
  if (record) utimesSync(usedMark(folder, hash), new Date(), new Date());
  return record;
}

/** Infinity where there is no such layer. */
function secondsUnused(folder: string, hash: string) {
  const used = statSync(usedMark(folder, hash), { throwIfNoEntry: false });
  return used ? (Date.now() - used.mtimeMs) / 1000 : Number.POSITIVE_INFINITY;
}

const scratchOf = (folder: string, hash: string, why: 'building' | 'removing') =>
  join(layersFolder(folder), `${hash}.${randomBytes(4).toString('hex')}.${why}`);

/** What a killed build started dies with it, but perhaps a moment later. */
const removeFolder = (path: string) => rm(path, { recursive: true, force: true, maxRetries: removalRetriesMax, retryDelay: 100 });
