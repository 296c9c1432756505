/** Reads OpenSSH certificates (PROTOCOL.certkeys) that one authority has signed, and no others. */
import { verify, type KeyObject } from 'node:crypto';
import { readPublicKey } from './public-key.ts';
import { string, WireReader } from './wire.ts';

export interface Certificate {
  kind: number;
  keyId: string;
  principals: string[];
  /** In seconds since 1970. */
  validAfter: number;
  validBefore: number;
  criticalOptions: Map<string, string>;
  extensions: Map<string, string>;
  /** The key that is certified. */
  key: KeyObject;
}

const suffix = '-cert-v01@openssh.com';
const certificateBytesMax = 16 * 1024;
const listMax = 64;

/** How many strings make up the key of each type, after its name. */
const fieldsOf: Record<string, number> = {
  'ssh-ed25519': 1,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'ssh-rsa': 2,
};

/** Undefined: it is no certificate, or not one of this authority. */
export function readCertificate(blob: Buffer, authority: KeyObject, authorityBlob: Buffer): Certificate | undefined {
  if (blob.length > certificateBytesMax) return undefined;
  try {
    return parse(blob, authority, authorityBlob);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function parse(blob: Buffer, authority: KeyObject, authorityBlob: Buffer): Certificate | undefined {
  const reader = new WireReader(blob);
  const name = reader.text();
  const type = name.endsWith(suffix) ? name.slice(0, -suffix.length) : '';
  const fields = Object.hasOwn(fieldsOf, type) ? fieldsOf[type] : undefined;
  if (fields === undefined) return undefined;
  reader.string();
  const keyFields = Array.from({ length: fields }, () => string(reader.string()));
  reader.uint64();
  const kind = reader.uint32();
  const keyId = reader.text();
  const principals = strings(reader.string());
  const [validAfter, validBefore] = [Number(reader.uint64()), Number(reader.uint64())];
  const [criticalOptions, extensions] = [tuples(reader.string()), tuples(reader.string())];
  reader.string();
  const signer = reader.string();
  const signed = blob.subarray(0, reader.at);
  const signature = new WireReader(reader.string());
  const isOurs = signer.equals(authorityBlob) && signature.text() === 'ssh-ed25519' && verify(null, signed, authority, signature.string());
  const key = readPublicKey(Buffer.concat([string(type), ...keyFields]))?.key;
  if (!isOurs || !reader.isAtEnd || !key) return undefined;
  return { kind, keyId, principals, validAfter, validBefore, criticalOptions, extensions, key };
}

function strings(bytes: Buffer): string[] {
  const reader = new WireReader(bytes);
  const all: string[] = [];
  while (!reader.isAtEnd) {
    if (all.length >= listMax) throw new RangeError('The list is too long');
    all.push(reader.text());
  }
  return all;
}

/** A value is a string within a string, or nothing. */
function tuples(bytes: Buffer): Map<string, string> {
  const reader = new WireReader(bytes);
  const all = new Map<string, string>();
  while (!reader.isAtEnd) {
    if (all.size >= listMax) throw new RangeError('The list is too long');
    const name = reader.text();
    const value = reader.string();
    all.set(name, value.length === 0 ? '' : new WireReader(value).text());
  }
  return all;
}
