/** Whether a key signed something, as SSH spells signatures. SHA-1 counts for nothing. */
import { verify, type KeyObject } from 'node:crypto';
import { WireReader } from './wire.ts';

const hashes: Record<string, string | null> = {
  'ssh-ed25519': null,
  'rsa-sha2-256': 'sha256',
  'rsa-sha2-512': 'sha512',
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
};

export const signatureAlgorithms: readonly string[] = Object.keys(hashes);

const coordinateBytes: Record<string, number> = { 'ecdsa-sha2-nistp256': 32, 'ecdsa-sha2-nistp384': 48, 'ecdsa-sha2-nistp521': 66 };

const algorithmsOf: Record<string, RegExp> = { ed25519: /^ssh-ed25519$/, rsa: /^rsa-/, ec: /^ecdsa-/ };

/** `signature` without its algorithm; `isWire` where two numbers are still as SSH writes them. */
export function isSignature(key: KeyObject, algorithm: string, data: Buffer, signature: Buffer, isWire: boolean): boolean {
  const hash = Object.hasOwn(hashes, algorithm) ? hashes[algorithm] : undefined;
  if (hash === undefined || !algorithmsOf[key.asymmetricKeyType ?? '']?.test(algorithm)) return false;
  const bytes = coordinateBytes[algorithm];
  try {
    if (bytes === undefined) return verify(hash, data, key, signature);
    return isWire
      ? verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, fixedWidth(signature, bytes))
      : verify(hash, data, { key, dsaEncoding: 'der' }, signature);
  } catch {
    return false;
  }
}

/** Checks a signature that has its algorithm in front. */
export function isWholeSignature(key: KeyObject, data: Buffer, whole: Buffer): boolean {
  try {
    const reader = new WireReader(whole);
    const algorithm = reader.text();
    return isSignature(key, algorithm, data, reader.string(), true);
  } catch {
    return false;
  }
}

function fixedWidth(signature: Buffer, bytes: number): Buffer {
  const reader = new WireReader(signature);
  return Buffer.concat([reader.string(), reader.string()].map((number) => padded(number, bytes)));
}

function padded(number: Buffer, bytes: number): Buffer {
  const shortest = number[0] === 0 ? number.subarray(1) : number;
  if (shortest.length > bytes) throw new RangeError('A number is too large');
  return Buffer.concat([Buffer.alloc(bytes - shortest.length), shortest]);
}
