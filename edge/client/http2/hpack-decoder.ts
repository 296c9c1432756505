/**
 * Headers out of HPACK (RFC 7541). A block that is small may stand for headers that are large, so what is too much is counted and left out, while the table
 * that both sides share is kept in step. A block that is not right leaves the table unknown, and the connection cannot go on.
 */
import { staticTable } from './hpack-static-table.ts';
import { readHuffman } from './huffman.ts';

/** What each header counts for beside its text. */
export const headerOverheadBytes = 32;
export const tableBytesMax = 4096;

export interface DecodedHeaders {
  /** Name, value, name, value. */
  list: string[];
  /** There was more than may be; the list is not whole. */
  isTooLarge: boolean;
  /** Each is in lower case and fit to be a line of HTTP/1.1. */
  areSound: boolean;
}

interface Entry {
  name: string;
  value: string;
  bytes: number;
  isSound: boolean;
}

/** Names of HTTP/2 have no capitals; values neither begin nor end with a blank, nor hold what could end a line. */
const soundName = /^:?[!#$%&'*+.^_`|~0-9a-z-]+$/;
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const soundValue = /^(?![\t ])[^\0-\x08\x0a-\x1f\x7f]*(?<![\t ])$/;

const entryOf = (name: string, value: string): Entry => ({
  name,
  value,
  bytes: name.length + value.length + headerOverheadBytes,
  isSound: soundName.test(name) && soundValue.test(value),
});

const staticEntries = staticTable.map(([name, value]) => entryOf(name, value));
const integerMax = 2 ** 24;
const text = Buffer.allocUnsafeSlow(64 * 1024);

/** Thrown within a block, and caught at its end. */
class BadBlock extends Error {}

export class HpackDecoder {
  /** The newest last. */
  #table: Entry[] = [];
  #tableBytes = 0;
  #tableBytesMax = tableBytesMax;
  readonly #listBytesMax: number;
  readonly #linesMax: number;
  #block: Buffer = text;
  #at = 0;

  constructor(listBytesMax: number, linesMax: number) {
    this.#listBytesMax = listBytesMax;
    this.#linesMax = linesMax;
  }

  /** Undefined where the block is not right. */
  decode(block: Buffer): DecodedHeaders | undefined {
    this.#block = block;
    this.#at = 0;
    try {
      return this.#decode(block.length);
    } catch (error) {
      if (error instanceof BadBlock) return undefined;
      throw error;
    }
  }

  #decode(length: number): DecodedHeaders {
    const headers: DecodedHeaders = { list: [], isTooLarge: false, areSound: true };
    let [bytes, mayResize] = [0, true];
    while (this.#at < length) {
      const entry = this.#next(mayResize);
      if (!entry) continue;
      mayResize = false;
      bytes += entry.bytes;
      headers.isTooLarge ||= bytes > this.#listBytesMax || headers.list.length >= 2 * this.#linesMax;
      headers.areSound &&= entry.isSound;
      if (!headers.isTooLarge) headers.list.push(entry.name, entry.value);
    }
    return headers;
  }

  /** Undefined after a change of the table's size, which may stand only before all headers. */
  #next(mayResize: boolean): Entry | undefined {
    const first = this.#block[this.#at] ?? 0;
    if (first & 0x80) return this.#entry(this.#integer(0x7f));
    if (first & 0x40) {
      const entry = this.#literal(0x3f);
      this.#insert(entry);
      return entry;
    }
    if ((first & 0x20) === 0) return this.#literal(0x0f);
    const size = this.#integer(0x1f);
    if (!mayResize || size > tableBytesMax) throw new BadBlock();
    this.#tableBytesMax = size;
    this.#evict();
    return undefined;
  }

  #literal(indexMask: number): Entry {
    const index = this.#integer(indexMask);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    return entryOf(name, this.#string());
  }

  #entry(index: number): Entry {
    const entry =
      index <= staticEntries.length ? staticEntries[index - 1] : this.#table[this.#table.length - (index - staticEntries.length)];
    if (!entry) throw new BadBlock();
    return entry;
  }

  #insert(entry: Entry) {
    this.#table.push(entry);
    this.#tableBytes += entry.bytes;
    this.#evict();
  }

  #evict() {
    let count = 0;
    for (; this.#tableBytes > this.#tableBytesMax; count++) this.#tableBytes -= this.#table[count]?.bytes ?? 0;
    if (count > 0) this.#table.splice(0, count);
  }

  /** A number whose first bits are those of the mask; where they are all 1, the rest follows in groups of seven. */
  #integer(mask: number): number {
    let value = (this.#block[this.#at++] ?? 0) & mask;
    if (value < mask) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#block[this.#at++];
      if (byte === undefined || factor > integerMax) throw new BadBlock();
      value += (byte & 0x7f) * factor;
      if (value > integerMax) throw new BadBlock();
      if ((byte & 0x80) === 0) return value;
    }
  }

  #string(): string {
    const isCompressed = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    // Where the block has ended, no length follows.
    if (this.#at >= this.#block.length) throw new BadBlock();
    const length = this.#integer(0x7f);
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#block.length) throw new BadBlock();
    if (!isCompressed) return this.#block.toString('latin1', from, this.#at);
    const written = readHuffman(this.#block, from, this.#at, text);
    if (written === -1) throw new BadBlock();
    return text.toString('latin1', 0, written);
  }
}
