/**
 * SSH public keys as people paste them: one line `algorithm base64 comment`.
 * Whatever parses has exactly the length its algorithm prescribes, says the same algorithm inside as outside, and is a key that mathematics
 * accepts (a point on its curve, an odd modulus of enough bits). Options before the algorithm, certificates, DSA and private keys are refused.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

export interface PublicKey {
  type: Algorithm;
  /** The key in SSH's wire format, which is what the base64 of the line holds. */
  blob: Buffer;
  comment: string;
}

const lineCharactersMax = 8192;
const rsaBitsMin = 2048;
const rsaBitsMax = 16_384;

export function parsePublicKey(text: string): PublicKey | undefined {
  if (text.length > lineCharactersMax) return undefined;
  const match = /^([a-z0-9-]+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+([^\r\n\0]*))?$/.exec(text.trim());
  const [, type = '', base64 = '', comment = ''] = match ?? [];
  if (!isAlgorithm(type)) return undefined;
  const blob = Buffer.from(base64, 'base64');
  if (unpadded(blob.toString('base64')) !== unpadded(base64)) return undefined;
  return readPublicKey(blob)?.type === type ? { type, blob, comment: comment.trim() } : undefined;
}

/** A key in SSH's wire format; undefined unless it is one that may sign in. */
export function readPublicKey(blob: Buffer): { type: Algorithm; key: KeyObject } | undefined {
  const [name, ...fields] = readStrings(blob) ?? [];
  const type = name?.toString('latin1') ?? '';
  const jwk = isAlgorithm(type) ? algorithms[type](fields) : undefined;
  const key = jwk && keyOf(jwk);
  return isAlgorithm(type) && key ? { type, key } : undefined;
}

/** The line without its comment: equal exactly when the keys are. */
export const publicKeyLine = ({ type, blob }: Pick<PublicKey, 'type' | 'blob'>) => `${type} ${blob.toString('base64')}`;

/** What may sign in, and how the fields after the name make a key; undefined when a length is wrong. */
const algorithms = {
  'ssh-ed25519': ([point, ...rest]: Buffer[]) =>
    point?.length === 32 && rest.length === 0 ? { kty: 'OKP', crv: 'Ed25519', x: base64url(point) } : undefined,
  'ecdsa-sha2-nistp256': (fields: Buffer[]) => ellipticKey(fields, 'nistp256', 'P-256', 32),
  'ecdsa-sha2-nistp384': (fields: Buffer[]) => ellipticKey(fields, 'nistp384', 'P-384', 48),
  'ecdsa-sha2-nistp521': (fields: Buffer[]) => ellipticKey(fields, 'nistp521', 'P-521', 66),
  'ssh-rsa': rsaKey,
} satisfies Record<string, (fields: Buffer[]) => JsonWebKey | undefined>;

export type Algorithm = keyof typeof algorithms;

const isAlgorithm = (name: string): name is Algorithm => Object.hasOwn(algorithms, name);

function ellipticKey([curve, point, ...rest]: Buffer[], name: string, crv: string, coordinateBytes: number): JsonWebKey | undefined {
  const fits = curve?.toString('latin1') === name && point?.length === 1 + 2 * coordinateBytes && point[0] === 4 && rest.length === 0;
  if (!fits) return undefined;
  const middle = 1 + coordinateBytes;
  return { kty: 'EC', crv, x: base64url(point.subarray(1, middle)), y: base64url(point.subarray(middle)) };
}

function rsaKey([exponent, modulus, ...rest]: Buffer[]): JsonWebKey | undefined {
  const e = exponent && magnitude(exponent);
  const n = modulus && magnitude(modulus);
  if (!e || !n || rest.length > 0) return undefined;
  const bits = n.length * 8 - (Math.clz32(n[0] ?? 0) - 24);
  const fits = bits >= rsaBitsMin && bits <= rsaBitsMax && e.length <= 8 && isOdd(n) && isOdd(e) && !(e.length === 1 && e[0] === 1);
  return fits ? { kty: 'RSA', e: base64url(e), n: base64url(n) } : undefined;
}

const isOdd = (number: Buffer) => ((number.at(-1) ?? 0) & 1) === 1;

/** A positive number in SSH's form, without the zero byte that keeps it positive; undefined unless written in the shortest way. */
function magnitude(number: Buffer): Buffer | undefined {
  const [first = 0, second = 0] = number;
  if (number.length === 0 || first > 127) return undefined;
  if (first > 0) return number;
  return second > 127 ? number.subarray(1) : undefined;
}

const fieldsMax = 4;

/** Length-prefixed strings to the very end; undefined when the lengths do not add up. */
function readStrings(bytes: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (fields.length === fieldsMax || at + 4 > bytes.length) return undefined;
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) return undefined;
    fields.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

/** OpenSSL refuses what is no key, such as a point that is not on its curve. */
function keyOf(key: JsonWebKey): KeyObject | undefined {
  try {
    return createPublicKey({ key, format: 'jwk' });
  } catch {
    return undefined;
  }
}

const unpadded = (base64: string) => base64.replace(/=+$/, '');
const base64url = (bytes: Buffer) => bytes.toString('base64url');
