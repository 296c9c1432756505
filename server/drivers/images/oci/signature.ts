/**
 * Signatures as cosign makes them with a key: beside the image, under a tag made of its digest, lies a manifest whose layers are small documents that name
 * the digest, each with a signature of its bytes.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { Problem } from '../../../kernel/problem.ts';
import { manifestIn } from './image-documents.ts';
import type { Repository } from './registry.ts';

const signatureAnnotation = 'dev.cosignproject.cosign/signature';
const signaturesMax = 20;

/** Throws a Problem unless one of the signatures of the digest is by the key. */
export async function requireSignature(repository: Repository, name: string, digest: string, publicKey: string, signal: AbortSignal) {
  const key = keyOf(publicKey);
  const found = await repository.manifest(`${digest.replace(':', '-')}.sig`, signal);
  const layers = found ? manifestIn(found.body, `the signature of ${name}`).layers : [];
  for (const layer of layers.slice(0, signaturesMax)) {
    const signature = layer.annotations?.[signatureAnnotation];
    if (signature === undefined) continue;
    const payload = await repository.smallBlob(layer.digest, signal);
    if (verify('sha256', payload, key, Buffer.from(signature, 'base64')) && digestSigned(payload) === digest) return;
  }
  throw new Problem(
    'invalid-request',
    `${name} is not signed with the key that its configuration asks for (${digest}); sign it with cosign, or correct the key.`,
  );
}

function keyOf(pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch {
    throw new Problem('invalid-request', 'The key that images have to be signed with is not a public key in PEM.');
  }
}

function digestSigned(payload: Buffer): unknown {
  try {
    const { critical } = JSON.parse(payload.toString('utf8')) as { critical?: { image?: Record<string, unknown> } };
    return critical?.image?.['docker-manifest-digest'];
  } catch {
    return undefined;
  }
}
