/** An image as a folder of files (`dir:` for skopeo and buildah): for programs that build on it, which want it as it is in its registry. */
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../../kernel/problem.ts';
import { configIn, manifestIn } from './image-documents.ts';
import type { RegistryAccess } from './oci-image.ts';
import { requireReference, textOf } from './reference.ts';
import { openRepository, type RegistryWay } from './registry.ts';
import { downloadBytesMax, layersMax, resolveImage } from './resolve-image.ts';

export interface ImageLayout {
  reference: string;
  digest: string;
  /** Of its configuration, by which it is known where it is unpacked. */
  id: string;
  /** A folder inside the one that it was asked to be put into. */
  name: string;
}

/** What is there already stays: it is called by its digest. Nobody else may write to the folder. */
export async function fetchLayout(
  way: RegistryWay,
  text: string,
  access: RegistryAccess,
  folder: string,
  signal: AbortSignal,
): Promise<ImageLayout> {
  const reference = requireReference(text);
  const repository = openRepository(reference, way, access.credentials);
  const name = textOf(reference);
  const { digest, manifest } = await resolveImage(repository, reference, signal, access.publicKey);
  const { config, layers } = manifestIn(manifest, name);
  if (layers.length > layersMax || layers.reduce((sum, { size }) => sum + size, 0) > downloadBytesMax)
    throw new Problem('too-large', `${name} is larger than images can be here: ${layersMax} layers, and ${downloadBytesMax} bytes.`);
  const layout = { reference: name, digest, id: config.digest.slice('sha256:'.length), name: digest.slice('sha256:'.length) };
  if (existsSync(join(folder, layout.name))) return layout;
  const described = await repository.smallBlob(config.digest, signal);
  configIn(described, name);
  const scratch = join(folder, `${randomBytes(8).toString('hex')}.new`);
  const fileOf = (blob: string) => join(scratch, blob.slice('sha256:'.length));
  try {
    mkdirSync(scratch, { recursive: true });
    writeFileSync(join(scratch, 'version'), 'Directory Transport Version: 1.1\n');
    writeFileSync(join(scratch, 'manifest.json'), manifest);
    writeFileSync(fileOf(config.digest), described);
    for (const { digest: blob, size } of layers) {
      const hash = createHash('sha256');
      let bytes = 0;
      const checked = new Transform({
        transform(chunk: Buffer, _, done) {
          hash.update(chunk);
          bytes += chunk.length;
          done(bytes > size ? new Problem('unavailable', `A layer of ${name} is larger than its manifest says.`) : null, chunk);
        },
      });
      await pipeline(await repository.blob(blob, signal), checked, createWriteStream(fileOf(blob)), { signal });
      if (`sha256:${hash.digest('hex')}` !== blob)
        throw new Problem('unavailable', `A layer of ${name} was changed on the way; try again.`);
    }
    // Another build may have been faster.
    if (!existsSync(join(folder, layout.name))) renameSync(scratch, join(folder, layout.name));
    return layout;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
