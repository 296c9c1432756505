/**
 * Brings an image of a registry onto this machine: finds out which one a tag means now, and fetches the layers that are not here. From then on it is known by
 * its digest, and what is here of it is used without asking anybody.
 *
 *     <folder>/oci/<hash>.json     an image that was brought: its digest, its layers, how it wants to be run
 *
 * Layers are kept beside those of the catalogue, under what is in them, and images share them. What was had with credentials is shared only by those who have
 * the same ones: who merely knows the digest of a layer does not get it.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import type { Progress } from '../images.ts';
import { ensureLayer, type LayerRecord, rootOf, useLayer } from '../layer-cache.ts';
import { hashOf } from '../recipe.ts';
import { configIn, manifestIn } from './image-documents.ts';
import type { OciConfig, OciImage, RegistryAccess } from './oci-image.ts';
import { requireReference, textOf, type Reference } from './reference.ts';
import { openRepository, type Repository, type RegistryWay } from './registry.ts';
import { downloadBytesMax, layersMax, resolveImage } from './resolve-image.ts';
import { imageLimits, unpackLayer } from './unpack-layer.ts';

/** Raised when the same layer would now be unpacked differently. */
const format = 1;

const prefix = 'oci-image:';
/** Whether a type names an image that was brought, as opposed to one of the catalogue. */
export const isBroughtType = (type: string) => type.startsWith(prefix);

/** What such a type was brought as: its registry, its name, and its digest. */
export const pinnedReference = (type: string): string => type.slice(prefix.length).split('#', 1)[0] ?? '';

interface KeptImage {
  reference: string;
  digest: string;
  layers: readonly KeptLayer[];
  config: OciConfig;
}

interface KeptLayer {
  hash: string;
  diffId: string;
  blob: string;
  mediaType: string;
  bytes: number;
}

const recordsFolder = (folder: string) => join(folder, 'oci');
const fileOf = (folder: string, type: string) => join(recordsFolder(folder), `${hashOf(type)}.json`);

export interface Bringing {
  folder: string;
  way: RegistryWay;
}

/** Stands for credentials in names, and tells nothing of them. Undefined: everybody may have the image. */
const accessKey = ({ host }: Reference, { credentials }: RegistryAccess) =>
  credentials && hashOf({ host, username: credentials.username, password: credentials.password });

const typeOf = ({ host, name }: Reference, digest: string, access: string | undefined) =>
  `${prefix}${host}/${name}@${digest}${access === undefined ? '' : `#${access}`}`;

export async function bringImage(
  { folder, way }: Bringing,
  text: string,
  access: RegistryAccess,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<OciImage> {
  const reference = requireReference(text);
  const repository = openRepository(reference, way, access.credentials);
  const name = textOf(reference);
  const { digest, manifest } = await resolveImage(repository, reference, signal, access.publicKey);
  const type = typeOf(reference, digest, accessKey(reference, access));
  const sharing = { host: reference.host, access: accessKey(reference, access) };
  const kept = keptImage(folder, type) ?? (await describe(repository, name, digest, manifest, sharing, signal));
  await fetchLayers(folder, repository, kept, onProgress, signal);
  keep(folder, type, kept);
  const image = await broughtImage(folder, type);
  if (!image) throw new Problem('unavailable', `${name} was removed while it was being brought; try again.`);
  onProgress({ percent: 100, line: `${name} is ready.` });
  return { ...image, reference: name };
}

/** An image that was brought before; undefined where a layer of it is missing by now. Counts as a use. */
export async function broughtImage(folder: string, type: string): Promise<OciImage | undefined> {
  const kept = keptImage(folder, type);
  if (!kept) return undefined;
  const layers: LayerRecord[] = [];
  for (const { hash } of kept.layers) {
    const record = await useLayer(folder, hash, AbortSignal.timeout(lockMillisecondsMax));
    if (!record) return undefined;
    layers.push(record);
  }
  return {
    type,
    hash: hashOf(layers.map(({ hash }) => hash)),
    layers: layers.map(({ hash }) => rootOf(folder, hash)),
    bytes: layers.reduce((sum, { bytes }) => sum + bytes, 0),
    reference: kept.reference,
    digest: kept.digest,
    diffIds: kept.layers.map(({ diffId }) => diffId),
    config: kept.config,
  };
}
const lockMillisecondsMax = 30_000;

/** Brings again what was removed meanwhile, without credentials: what takes some is brought again by whoever has them. */
export async function bringAgain(
  bringing: Bringing,
  type: string,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<OciImage> {
  const there = await broughtImage(bringing.folder, type);
  if (there) return there;
  const reference = pinnedReference(type);
  if (!type.includes('#')) return bringImage(bringing, reference, {}, onProgress, signal);
  throw new Problem(
    'unavailable',
    `The image ${reference} is not on this machine any more, and it takes credentials to have it; redeploy what uses it.`,
  );
}

async function describe(
  repository: Repository,
  name: string,
  digest: string,
  manifest: Buffer,
  { host, access }: { host: string; access: string | undefined },
  signal: AbortSignal,
): Promise<KeptImage> {
  const { config: configBlob, layers } = manifestIn(manifest, name);
  if (layers.length > layersMax)
    throw new Problem('too-large', `${name} has ${layers.length} layers; ${layersMax} are the most that an image can have here.`);
  const bytes = layers.reduce((sum, { size }) => sum + size, 0);
  if (bytes > downloadBytesMax)
    throw new Problem('too-large', `${name} has ${bytes} bytes; ${downloadBytesMax} are the most that an image can have here.`);
  const { diffIds, config } = configIn(await repository.smallBlob(configBlob.digest, signal), name);
  if (diffIds.length !== layers.length)
    throw new Problem(
      'invalid-request',
      `${name} is not an image that can be run here: it names ${layers.length} layers and describes ${diffIds.length}.`,
    );
  return {
    reference: name,
    digest,
    config,
    layers: layers.map(({ digest: blob, mediaType, size }, index) => {
      const diffId = diffIds[index] ?? '';
      return { hash: layerHash(diffId, access ?? host), diffId, blob, mediaType, bytes: size };
    }),
  };
}

/** Layers are shared by those who have them from the same registry, with the same credentials: nobody waits for a layer that a stranger's registry claims to be sending. */
const layerHash = (diffId: string, sharedBy: string) => hashOf({ kind: 'oci-layer', format, diffId, sharedBy });

async function fetchLayers(
  folder: string,
  repository: Repository,
  { reference, layers }: KeptImage,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
) {
  const all = Math.max(
    1,
    layers.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  let done = 0;
  const limits = imageLimits();
  for (const [index, layer] of layers.entries()) {
    const { hash, diffId, mediaType, blob } = layer;
    const line = `Fetching layer ${index + 1} of ${layers.length} of ${reference}`;
    const told = (bytes: number) => onProgress({ percent: Math.min(99, (100 * (done + bytes)) / all), line });
    let arrived = 0;
    const limited = (bytes: number) => {
      arrived += bytes;
      if (arrived > layer.bytes) throw new Problem('unavailable', `A layer of ${reference} is larger than its manifest says.`);
      told(arrived);
    };
    const build = async (scratch: string) => {
      await requireRoom(folder, reference);
      const archive = { name: reference, mediaType, diffId, read: (either: AbortSignal) => repository.blob(blob, either) };
      limits.take(await unpackLayer(archive, scratch, signal, limited, limits.left()));
    };
    const recipe = { kind: 'oci-layer', diffId };
    const report = { say: () => {}, progress: (part: number) => told(part * layer.bytes) };
    await ensureLayer(folder, { hash, key: hash, recipe, below: [] }, build, report, signal);
    done += layer.bytes;
  }
}

const roomBytesMin = 4 * 1024 ** 3;

/** Images of others are nobody's disk but the machine's. */
async function requireRoom(folder: string, name: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < roomBytesMin)
    throw new Problem('unavailable', `There is no room for the image ${name} on the machine; the operator has to make some.`);
}

function keptImage(folder: string, type: string): KeptImage | undefined {
  const file = fileOf(folder, type);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as KeptImage) : undefined;
}

function keep(folder: string, type: string, image: KeptImage) {
  mkdirSync(recordsFolder(folder), { recursive: true, mode: 0o700 });
  const scratch = join(recordsFolder(folder), `${randomBytes(8).toString('hex')}.new`);
  writeFileSync(scratch, JSON.stringify(image));
  renameSync(scratch, fileOf(folder, type));
}
