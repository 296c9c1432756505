/** Signatures of DNS messages with a key that both sides know (TSIG, RFC 8945). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { classes, type DnsReply, nameBytes, numbers, readName, recordBytes, types } from './message.ts';

export const signatureAlgorithms = ['hmac-sha256', 'hmac-sha384', 'hmac-sha512'] as const;
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

export interface SigningKey {
  name: string;
  algorithm: SignatureAlgorithm;
  /** In base64. */
  secret: string;
}

/** How far clocks may be apart. */
const fudgeSeconds = 300;
const additionalCountAt = 10;

interface Stamp {
  at: number;
  fudge: number;
  error: number;
  other: Buffer;
}

/** What is signed beside the message. */
const variables = ({ name, algorithm }: SigningKey, { at, fudge, error, other }: Stamp) =>
  Buffer.concat([
    nameBytes(name),
    numbers([classes.ANY, 2], [0, 4]),
    nameBytes(algorithm),
    numbers([at, 6], [fudge, 2], [error, 2], [other.length, 2]),
    other,
  ]);

const macOf = (key: SigningKey, ...parts: readonly Buffer[]) =>
  createHmac(key.algorithm.slice('hmac-'.length), Buffer.from(key.secret, 'base64')).update(Buffer.concat(parts)).digest();

export function signMessage(message: Buffer, key: SigningKey, now = new Date()): { signed: Buffer; mac: Buffer } {
  const stamp = { at: Math.floor(now.getTime() / 1000), fudge: fudgeSeconds, error: 0, other: Buffer.alloc(0) };
  const mac = macOf(key, message, variables(key, stamp));
  const data = Buffer.concat([
    nameBytes(key.algorithm),
    numbers([stamp.at, 6], [stamp.fudge, 2], [mac.length, 2]),
    mac,
    numbers([message.readUInt16BE(0), 2], [0, 2], [0, 2]),
  ]);
  const signed = Buffer.concat([message, recordBytes({ name: key.name, type: types.TSIG, class: classes.ANY, ttl: 0, data })]);
  signed.writeUInt16BE(signed.readUInt16BE(additionalCountAt) + 1, additionalCountAt);
  return { signed, mac };
}

export const signatureErrors = { badSignature: 16, badKey: 17, badTime: 18 } as const;

/** Undefined where the message is not signed. */
export function readSignature({ records }: DnsReply) {
  const last = records.at(-1);
  if (last?.type !== types.TSIG) return undefined;
  const { name: algorithm, end } = readName(last.data, 0);
  const macLength = last.data.readUInt16BE(end + 8);
  const after = end + 10 + macLength;
  return {
    algorithm,
    mac: last.data.subarray(end + 10, after),
    beginsAt: last.at,
    stamp: {
      at: last.data.readUIntBE(end, 6),
      fudge: last.data.readUInt16BE(end + 6),
      error: last.data.readUInt16BE(after + 2),
      other: last.data.subarray(after + 6),
    },
  };
}

/** Whether an answer was signed with the key, for the request with this signature, now. */
export function isSignedReply(bytes: Buffer, reply: DnsReply, requestMac: Buffer, key: SigningKey, now = new Date()): boolean {
  const signature = readSignature(reply);
  if (!signature || signature.algorithm !== key.algorithm) return false;
  const unsigned = Buffer.from(bytes.subarray(0, signature.beginsAt));
  unsigned.writeUInt16BE(unsigned.readUInt16BE(additionalCountAt) - 1, additionalCountAt);
  const mac = macOf(key, numbers([requestMac.length, 2]), requestMac, unsigned, variables(key, signature.stamp));
  const isFresh = Math.abs(now.getTime() / 1000 - signature.stamp.at) <= signature.stamp.fudge;
  return isFresh && mac.length === signature.mac.length && timingSafeEqual(mac, signature.mac);
}
