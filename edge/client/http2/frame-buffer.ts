/** Frames on their way out, one behind the other, as bytes that go out in one piece. */
import { flags, frameBytesMax, frameHeadBytes, frameTypes } from './frames.ts';

const firstBytes = 32 * 1024;
/** Buffers of the first size that nobody uses: most connections are silent most of the time. */
const spare: Buffer[] = [];
const spareMax = 64;
/** Up to this length a loop is cheaper than a call of Node's. */
const shortText = 48;

export function giveBackFrames(written: Buffer) {
  if (written.buffer.byteLength === firstBytes && spare.length < spareMax) spare.push(Buffer.from(written.buffer, 0, firstBytes));
}

export class FrameBuffer {
  #bytes: Buffer | undefined;
  length = 0;

  get written(): Buffer {
    return (this.#bytes ?? Buffer.alloc(0)).subarray(0, this.length);
  }

  /** What was written, to be given back when it is sent; the next frame begins anew. */
  take(): Buffer {
    const { written } = this;
    this.#bytes = undefined;
    this.length = 0;
    return written;
  }

  #room(count: number): Buffer {
    const bytes = this.#bytes ?? spare.pop() ?? Buffer.allocUnsafeSlow(firstBytes);
    this.#bytes = bytes;
    if (this.length + count <= bytes.length) return bytes;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, this.length + count));
    bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
    return larger;
  }

  head(type: number, flag: number, stream: number, length: number) {
    const bytes = this.#room(frameHeadBytes);
    let at = this.length;
    bytes[at++] = length >>> 16;
    bytes[at++] = length >>> 8;
    bytes[at++] = length;
    bytes[at++] = type;
    bytes[at++] = flag;
    bytes[at++] = stream >>> 24;
    bytes[at++] = stream >>> 16;
    bytes[at++] = stream >>> 8;
    bytes[at++] = stream;
    this.length = at;
  }

  /** A frame whose payload is numbers of four bytes. */
  numbers(type: number, stream: number, ...values: number[]) {
    this.head(type, 0, stream, 4 * values.length);
    for (const value of values) this.#number(value, 4);
  }

  settings(pairs: readonly (readonly [id: number, value: number])[]) {
    this.head(frameTypes.settings, 0, 0, 6 * pairs.length);
    for (const [id, value] of pairs) {
      this.#number(id, 2);
      this.#number(value, 4);
    }
  }

  #number(value: number, count: number) {
    this.length = this.#room(count).writeUIntBE(value, this.length, count);
  }

  raw(piece: Buffer) {
    piece.copy(this.#room(piece.length), this.length);
    this.length += piece.length;
  }

  /** Latin-1. */
  text(text: string) {
    const { length } = text;
    const bytes = this.#room(length);
    if (length > shortText) bytes.write(text, this.length, 'latin1');
    else for (let index = 0, at = this.length; index < length; index++, at++) bytes[at] = text.charCodeAt(index);
    this.length += length;
  }

  /** A number of HPACK: `mark` in front, the rest of the first byte as wide as the mask. */
  integer(mark: number, mask: number, value: number) {
    const bytes = this.#room(6);
    if (value < mask) {
      bytes[this.length++] = mark | value;
      return;
    }
    bytes[this.length++] = mark | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) bytes[this.length++] = (rest & 0x7f) | 0x80;
    bytes[this.length++] = rest;
  }

  /** Frames what `write` writes as a block of headers: one frame, or where that is too small, more behind it. */
  headers(stream: number, isEnd: boolean, write: (out: FrameBuffer) => void) {
    const start = this.length;
    const endFlag = isEnd ? flags.endStream : 0;
    this.head(frameTypes.headers, endFlag | flags.endHeaders, stream, 0);
    write(this);
    const length = this.length - start - frameHeadBytes;
    if (length <= frameBytesMax) this.#room(0).writeUIntBE(length, start, 3);
    else this.#splitHeaders(start, stream, endFlag);
  }

  #splitHeaders(start: number, stream: number, endFlag: number) {
    const block = Buffer.from(this.written.subarray(start + frameHeadBytes));
    this.length = start;
    for (let at = 0; at < block.length; at += frameBytesMax) {
      const part = block.subarray(at, at + frameBytesMax);
      const lastFlag = at + frameBytesMax >= block.length ? flags.endHeaders : 0;
      this.head(at === 0 ? frameTypes.headers : frameTypes.continuation, lastFlag | (at === 0 ? endFlag : 0), stream, part.length);
      this.raw(part);
    }
  }
}
