/** Packs as nobody's Git writes them: small, and standing for much. */
import { createHash } from 'node:crypto';
import { constants, deflateRawSync, deflateSync } from 'node:zlib';

const mebibyte = 1024 ** 2;
const zeros = Buffer.alloc(mebibyte);
const types = { commit: 1, tree: 2, blob: 3, delta: 7 } as const;

export interface PackedObject {
  id: string;
  packed: Buffer;
}

export function packOf(objects: readonly PackedObject[]): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const content = Buffer.concat([head, ...objects.map(({ packed }) => packed)]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

export function packedObject(type: 'commit' | 'tree' | 'blob', content: Buffer): PackedObject {
  const id = createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex');
  return { id, packed: Buffer.concat([headerOf(types[type], content.length), deflateSync(content)]) };
}

/** A file of nothing but zeros, about a thousandth of its size. */
export function packedZeros(mebibytes: number): PackedObject {
  const bytes = mebibytes * mebibyte;
  const hash = createHash('sha1').update(`blob ${bytes}\0`);
  for (let count = 0; count < mebibytes; count++) hash.update(zeros);
  const block = deflateRawSync(zeros, { finishFlush: constants.Z_FULL_FLUSH });
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE((((bytes % 65_521) << 16) | 1) >>> 0);
  const blocks = Array.from({ length: mebibytes }, () => block);
  const packed = Buffer.concat([headerOf(types.blob, bytes), Buffer.from([0x78, 0x9c]), ...blocks, Buffer.from([0x03, 0x00]), checksum]);
  return { id: hash.digest('hex'), packed };
}

/** No more than the first kilobytes of a file that says how large it is. */
export const beginningOf = (mebibytes: number): PackedObject => ({
  id: 'f'.repeat(40),
  packed: Buffer.concat([headerOf(types.blob, mebibytes * mebibyte), deflateSync(zeros).subarray(0, -4)]),
});

/** A mebibyte of zeros, and a few bytes that say: the same again, so many times. */
export function packedDelta(mebibytes: number): PackedObject[] {
  const base = packedObject('blob', zeros);
  const again = Buffer.concat(Array.from({ length: mebibytes }, () => Buffer.from([0xc0, 0x10])));
  const delta = Buffer.concat([lengthOf(mebibyte), lengthOf(mebibytes * mebibyte), again]);
  const packed = Buffer.concat([headerOf(types.delta, delta.length), Buffer.from(base.id, 'hex'), deflateSync(delta)]);
  return [base, { id: '', packed }];
}

export function treeOf(entries: readonly { mode: string; name: string; id: string }[]): Buffer {
  return Buffer.concat(entries.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]));
}

export const commitOf = (tree: string, ...parents: string[]): Buffer => {
  const ada = 'Ada <ada@example.org> 1700000000 +0000';
  return Buffer.from(`tree ${tree}\n${parents.map((parent) => `parent ${parent}\n`).join('')}author ${ada}\ncommitter ${ada}\n\nLarge\n`);
};

/** Four bits beside the type, then seven in each byte. */
function headerOf(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size % 16)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

function lengthOf(size: number): Buffer {
  const bytes = [size % 128];
  for (let rest = Math.floor(size / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}
