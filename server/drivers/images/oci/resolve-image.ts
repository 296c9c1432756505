/** Which image a name means now, on this machine, and how large one may be. */
import { Problem } from '../../../kernel/problem.ts';
import { manifestForThisMachine, platformName } from './image-documents.ts';
import { textOf, type Reference } from './reference.ts';
import type { Repository } from './registry.ts';
import { requireSignature } from './signature.ts';

export const layersMax = 127;
/** Of all layers together, as they are sent. */
export const downloadBytesMax = 8 * 1024 ** 3;

/** The manifest for this machine's platform, found by the tag or digest; signed, where a key is given, under either of its digests. */
export async function resolveImage(repository: Repository, reference: Reference, signal: AbortSignal, publicKey: string | undefined) {
  const name = textOf(reference);
  const first = await repository.manifest(reference.digest ?? reference.tag, signal);
  if (!first)
    throw new Problem('invalid-request', `There is no image ${name}: ${reference.host} does not have it; check its name and its tag.`);
  if (publicKey !== undefined) await requireSignature(repository, name, first.digest, publicKey, signal);
  const own = manifestForThisMachine(first.body, name);
  if (own === undefined) return { digest: first.digest, manifest: first.body };
  const found = await repository.manifest(own, signal);
  if (!found)
    throw new Problem('unavailable', `${reference.host} lists ${name} for ${platformName()} and does not have it; try again later.`);
  return { digest: found.digest, manifest: found.body };
}
