/**
 * Types of the catalogue that are images of a registry. The first who needs one has the tag looked up, and what it meant then is noted: everybody starts from the
 * same image until an update looks the tag up again.
 *
 *     <folder>/oci/pins/<hash>.json     which image a reference stands for here
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { type ImageTypes, entryOf, typesOf } from './image-types.ts';
import type { Image, Images, Update } from './images.ts';
import { hashOf } from './recipe.ts';

/** Programs that images of others may lack, and that the platform runs in containers. They lie below, so that those of the image hide ours; the Debian below them does not. */
const toolsType = 'oci:image';

interface Pin {
  reference: string;
  /** As `bring` calls it. */
  type: string;
}

const pinsFolder = (folder: string) => join(folder, 'oci', 'pins');
const pinFile = (folder: string, reference: string) => join(pinsFolder(folder), `${hashOf(reference)}.json`);

function readPin(folder: string, reference: string): string | undefined {
  const file = pinFile(folder, reference);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Pin).type : undefined;
}

function writePin(folder: string, pin: Pin) {
  mkdirSync(pinsFolder(folder), { recursive: true, mode: 0o700 });
  const scratch = join(pinsFolder(folder), `${randomBytes(8).toString('hex')}.new`);
  writeFileSync(scratch, JSON.stringify(pin));
  renameSync(scratch, pinFile(folder, pin.reference));
}

/** `images` knows recipes and digests; what comes back knows these types too. */
export function withRegistryTypes(images: Images, folder: string, catalogue: ImageTypes): Images {
  const hasTools = () => Object.hasOwn(catalogue, 'oci');
  const referenceOf = (type: string) => (type.startsWith('oci-image:') ? undefined : entryOf(catalogue, type).version.image);
  const onTools = (type: string, tools: Image | undefined, image: Image): Image => ({
    type,
    hash: hashOf([tools?.hash, image.hash]),
    layers: [...(tools?.layers.slice(1) ?? []), ...image.layers],
    bytes: (tools?.bytes ?? 0) + image.bytes,
  });

  return {
    ...images,

    async ensure(type, onProgress, signal) {
      const reference = referenceOf(type);
      if (reference === undefined) return images.ensure(type, onProgress, signal);
      const tools = hasTools() ? await images.ensure(toolsType, undefined, signal) : undefined;
      const pinned = readPin(folder, reference);
      if (pinned !== undefined) return onTools(type, tools, await images.ensure(pinned, onProgress, signal));
      const brought = await images.bring(reference, {}, onProgress, signal);
      writePin(folder, { reference, type: brought.type });
      return onTools(type, tools, brought);
    },

    async built(type) {
      const reference = referenceOf(type);
      if (reference === undefined) return images.built(type);
      const pinned = readPin(folder, reference);
      const tools = hasTools() ? await images.built(toolsType) : undefined;
      const image = pinned === undefined || (hasTools() && !tools) ? undefined : await images.built(pinned);
      return image && onTools(type, tools, image);
    },

    async update(onLine = () => {}, signal = new AbortController().signal) {
      const update = await images.update(onLine, signal);
      const newer = await lookUpAgain(images, folder, catalogue, onLine, signal);
      return { packages: [...update.packages, ...newer.packages], types: [...update.types, ...newer.types] };
    },
  };
}

/** A registry that does not answer keeps nobody from the rest. */
async function lookUpAgain(
  images: Images,
  folder: string,
  catalogue: ImageTypes,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<Update> {
  const update: Update = { packages: [], types: [] };
  for (const type of typesOf(catalogue)) {
    const reference = entryOf(catalogue, type).version.image;
    const pinned = reference === undefined ? undefined : readPin(folder, reference);
    if (reference === undefined || pinned === undefined || !(await images.built(pinned))) continue;
    try {
      const brought = await images.bring(reference, {}, undefined, signal);
      if (brought.type === pinned) continue;
      writePin(folder, { reference, type: brought.type });
      update.packages.push(`${reference} becomes ${brought.digest}`);
      update.types.push(type);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      onLine(`${reference} stays as it is: ${error.message}`);
    }
  }
  return update;
}
