/**
 * Headers into HPACK (RFC 7541). What an application says again and again is one byte from its second time on. Text is not compressed: that would take more of
 * the processor than it saves of the network, once what comes again is in the table.
 */
import { copyOf, headerName } from '../header-names.ts';
import { headerOverheadBytes, tableBytesMax } from './hpack-decoder.ts';
import { staticTable } from './hpack-static-table.ts';
import type { FrameBuffer } from './frame-buffer.ts';

const nameIndexes = new Map<string, number>();
staticTable.forEach(([name], index) => nameIndexes.set(name, nameIndexes.get(name) ?? index + 1));
const statusIndexes = new Map(staticTable.flatMap(([name, value], index) => (name === ':status' ? [[Number(value), index + 1]] : [])));
const statusNameIndex = 8;

/** Headers that frame a reply in HTTP/1.1, or change its protocol. */
const notInHttp2 = new Set(['connection', 'upgrade', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'sec-websocket-accept']);
/** Headers that are rarely the same twice, or that are secrets: they have no place in the table. */
const notInTable = new Set([
  'x-request-id',
  'content-length',
  'content-range',
  'content-location',
  'etag',
  'last-modified',
  'location',
  'age',
  'set-cookie',
  'authorization',
  'server-timing',
]);
/** A longer one would put too many others out of the table. */
const tabledBytesMax = 512;

interface Entry {
  line: string;
  bytes: number;
}

export class HpackEncoder {
  /** The number that each line was given when it came into the table. */
  readonly #numbers = new Map<string, number>();
  #table: Entry[] = [];
  /** How many lines have ever come into the table. */
  #inserted = 0;
  #tableBytes = 0;
  #tableBytesMax = tableBytesMax;
  /** Changes of the table's size that the other side has yet to be told: the smallest, and the last. */
  #resizes: number[] = [];

  /** The other side keeps no larger table than this. */
  limitTable(bytesMax: number) {
    const bytes = Math.min(bytesMax, tableBytesMax);
    if (bytes === this.#tableBytesMax) return;
    this.#tableBytesMax = bytes;
    this.#resizes = [Math.min(bytes, this.#resizes[0] ?? bytes), bytes];
    this.#evict();
  }

  /** `lines` are whole lines of HTTP/1.1, each with its end. Without a status they are trailers. */
  encode(out: FrameBuffer, status: number | undefined, lines: string) {
    for (const bytes of this.#resizes) out.integer(0x20, 0x1f, bytes);
    if (this.#resizes.length > 0) this.#resizes = [];
    if (status !== undefined) encodeStatus(out, status);
    for (let start = 0, end = lines.indexOf('\r\n'); end !== -1; start = end + 2, end = lines.indexOf('\r\n', start))
      this.#encodeLine(out, lines.slice(start, end));
  }

  #encodeLine(out: FrameBuffer, line: string) {
    const number = this.#numbers.get(line);
    if (number !== undefined) return out.integer(0x80, 0x7f, staticTable.length + this.#inserted - number);
    const colon = line.indexOf(':');
    const { lower } = headerName(line.slice(0, colon));
    if (lower === '' || notInHttp2.has(lower)) return;
    const value = line.slice(colon + 1).trim();
    const bytes = lower.length + value.length + headerOverheadBytes;
    const isTabled = bytes <= Math.min(tabledBytesMax, this.#tableBytesMax) && !notInTable.has(lower);
    encodeLiteral(out, isTabled, lower, value);
    if (isTabled) this.#insert({ line: copyOf(line), bytes });
  }

  #insert(entry: Entry) {
    this.#table.push(entry);
    this.#tableBytes += entry.bytes;
    this.#numbers.set(entry.line, this.#inserted++);
    this.#evict();
  }

  #evict() {
    let count = 0;
    for (; this.#tableBytes > this.#tableBytesMax; count++) {
      const { line = '', bytes = 0 } = this.#table[count] ?? {};
      this.#tableBytes -= bytes;
      this.#numbers.delete(line);
    }
    if (count > 0) this.#table = this.#table.slice(count);
  }
}

function encodeStatus(out: FrameBuffer, status: number) {
  const index = statusIndexes.get(status);
  if (index !== undefined) return out.integer(0x80, 0x7f, index);
  out.integer(0, 0x0f, statusNameIndex);
  encodeText(out, String(status));
}

function encodeLiteral(out: FrameBuffer, isTabled: boolean, name: string, value: string) {
  const nameIndex = nameIndexes.get(name) ?? 0;
  if (isTabled) out.integer(0x40, 0x3f, nameIndex);
  else out.integer(0, 0x0f, nameIndex);
  if (nameIndex === 0) encodeText(out, name);
  encodeText(out, value);
}

function encodeText(out: FrameBuffer, text: string) {
  out.integer(0, 0x7f, text.length);
  out.text(text);
}
