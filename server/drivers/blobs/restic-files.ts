/**
 * The files of a repository, as restic's design document has them: as much of it as it takes to tell sound pieces from damaged ones, and to put the sound ones
 * into a file of their own. (restic learned that after the version that Debian has.) Every file is named by the hash of what is in it, and so is every piece.
 */
import { createCipheriv, randomBytes, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

const decompressed = promisify(zstdDecompress);

/** What restic calls a blob: a part of a file, or the list of what is in a folder. */
const Piece = Type.Object({
  id: Type.String(),
  type: Type.Union([Type.Literal('data'), Type.Literal('tree')]),
  /** Where the piece is in the pack, encrypted. */
  offset: Type.Integer(),
  length: Type.Integer(),
  /** Only for a piece that is compressed. */
  uncompressed_length: Type.Optional(Type.Integer()),
});
export type Piece = Static<typeof Piece>;

const IndexFile = Type.Object({ packs: Type.Array(Type.Object({ id: Type.String(), blobs: Type.Array(Piece) })) });

const MasterKey = Type.Object({ encrypt: Type.String(), mac: Type.Object({ k: Type.String(), r: Type.String() }) });

/** Opens and seals what is in a repository. */
export interface Seal {
  /** Opens a box without checking its signature: whoever asks compares hashes. */
  opened(box: Buffer): Promise<Buffer>;
  sealed(content: Buffer): Promise<Buffer>;
  /** Signs what is encrypted already. */
  signed(vector: Buffer, encrypted: Buffer): Buffer;
}

const vectorBytes = 16;
const signatureBytes = 16;

/** `masterKey` is as restic prints it. */
export function openSeal(masterKey: string): Promise<Seal> {
  const { encrypt, mac } = Value.Parse(MasterKey, JSON.parse(masterKey));
  const bytes = (text: string) => Buffer.from(text, 'base64');
  return sealOf({ encrypt: bytes(encrypt), k: bytes(mac.k), r: bytes(mac.r) });
}

interface Keys {
  encrypt: Buffer;
  /** The keys of the signature, which is Poly1305 with AES. */
  k: Buffer;
  r: Buffer;
}

export async function sealOf({ encrypt, k, r: unclamped }: Keys): Promise<Seal> {
  const r = numberOf(unclamped) & rBits;
  const cipher = await webcrypto.subtle.importKey('raw', encrypt, 'AES-CTR', false, ['encrypt', 'decrypt']);
  const manner = (vector: Buffer) => ({ name: 'AES-CTR', counter: vector, length: 128 });
  const signed = (vector: Buffer, encrypted: Buffer) => {
    const once = createCipheriv('aes-128-ecb', k, null).setAutoPadding(false).update(vector);
    return Buffer.concat([vector, encrypted, poly1305(encrypted, r, numberOf(once))]);
  };
  return {
    opened: async (box) => {
      const vector = box.subarray(0, vectorBytes);
      const encrypted = box.subarray(vectorBytes, box.length - signatureBytes);
      return Buffer.from(await webcrypto.subtle.decrypt(manner(vector), cipher, encrypted));
    },
    sealed: async (content) => {
      const vector = randomBytes(vectorBytes);
      return signed(vector, Buffer.from(await webcrypto.subtle.encrypt(manner(vector), cipher, content)));
    },
    signed,
  };
}

const prime = 2n ** 130n - 5n;
/** The bits of r that Poly1305 uses; all others are cleared. */
const rBits = 0x0ffffffc0ffffffc0ffffffc0fffffffn;
const blockBytes = 16;

function poly1305(message: Buffer, r: bigint, s: bigint): Buffer {
  let sum = 0n;
  for (let at = 0; at < message.length; at += blockBytes) {
    const block = message.subarray(at, at + blockBytes);
    sum = ((sum + numberOf(block) + (1n << BigInt(8 * block.length))) * r) % prime;
  }
  const signature = BigInt.asUintN(128, sum + s);
  const written = Buffer.alloc(signatureBytes);
  written.writeBigUInt64LE(BigInt.asUintN(64, signature));
  written.writeBigUInt64LE(signature >> 64n, 8);
  return written;
}

/** The number in 16 bytes or fewer, the least significant first. */
function numberOf(bytes: Buffer): bigint {
  const whole = bytes.length === blockBytes ? bytes : Buffer.concat([bytes], blockBytes);
  return whole.readBigUInt64LE() | (whole.readBigUInt64LE(8) << 64n);
}

export const hashOf = async (content: Buffer): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', content)).toString('hex');

const compressedMark = 2;

/** The pieces of each pack that the index names. */
export async function readIndex(seal: Seal, content: Buffer): Promise<Map<string, Piece[]>> {
  const opened = await seal.opened(content);
  const text = opened[0] === compressedMark ? await decompressed(opened.subarray(1)) : opened;
  const index: unknown = JSON.parse(text.toString());
  if (!Value.Check(IndexFile, index)) throw new Error('An index of restic is not as we know them');
  return new Map(index.packs.map(({ id, blobs }) => [id, blobs]));
}

/** The kinds of pieces by their number in a header: what they are, and whether they are compressed. */
const pieceTypes = [
  { type: 'data', isCompressed: false },
  { type: 'tree', isCompressed: false },
  { type: 'data', isCompressed: true },
  { type: 'tree', isCompressed: true },
] as const;
const hashBytes = 32;
const numberBytes = 4;

/** The pieces that a pack lists at its end. Where the end is damaged: none, or nonsense that no hash fits. */
export async function readHeader(seal: Seal, pack: Buffer): Promise<Piece[]> {
  if (pack.length < numberBytes) return [];
  const end = pack.length - numberBytes;
  const start = end - pack.readUInt32LE(end);
  if (start < 0 || end - start < vectorBytes + signatureBytes) return [];
  const header = await seal.opened(pack.subarray(start, end));
  const pieces: Piece[] = [];
  for (let [at, offset] = [0, 0]; at < header.length;) {
    const kind = pieceTypes[header[at] ?? -1];
    const bytes = 1 + numberBytes + (kind?.isCompressed ? numberBytes : 0) + hashBytes;
    if (!kind || at + bytes > header.length) return pieces;
    const length = header.readUInt32LE(at + 1);
    const id = header.toString('hex', at + bytes - hashBytes, at + bytes);
    const uncompressed = kind.isCompressed ? { uncompressed_length: header.readUInt32LE(at + 1 + numberBytes) } : {};
    pieces.push({ id, type: kind.type, offset, length, ...uncompressed });
    at += bytes;
    offset += length;
  }
  return pieces;
}

export async function isSound(seal: Seal, pack: Buffer, { id, offset, length, uncompressed_length }: Piece): Promise<boolean> {
  if (offset + length > pack.length || length < vectorBytes + signatureBytes) return false;
  const opened = await seal.opened(pack.subarray(offset, offset + length));
  // A damaged piece may not even be decompressible.
  const content = uncompressed_length === undefined ? opened : await decompressed(opened).catch(() => undefined);
  return content !== undefined && (await hashOf(content)) === id;
}

/** A pack with some pieces of another. */
export async function packOf(seal: Seal, pack: Buffer, pieces: readonly Piece[]): Promise<Buffer> {
  const boxes = pieces.map(({ offset, length }) => {
    const box = pack.subarray(offset, offset + length);
    // The damage may be in the signature, so the box is signed anew.
    return seal.signed(box.subarray(0, vectorBytes), box.subarray(vectorBytes, box.length - signatureBytes));
  });
  const entries = pieces.map(({ id, type, length, uncompressed_length }) => {
    const kind = pieceTypes.findIndex((known) => known.type === type && known.isCompressed === (uncompressed_length !== undefined));
    const numbers = uncompressed_length === undefined ? [length] : [length, uncompressed_length];
    return Buffer.concat([Buffer.from([kind]), ...numbers.map(number32), Buffer.from(id, 'hex')]);
  });
  const header = await seal.sealed(Buffer.concat(entries));
  return Buffer.concat([...boxes, header, number32(header.length)]);
}

function number32(number: number): Buffer {
  const written = Buffer.alloc(numberBytes);
  written.writeUInt32LE(number);
  return written;
}
