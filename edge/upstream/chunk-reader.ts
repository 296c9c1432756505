/** The chunks of a reply, strictly: hexadecimal sizes, CRLF and nothing else at the ends of lines. Extensions are dropped, trailers checked. */
import { addLine, emptyHead, trimBlanks } from './reply-head.ts';

/** How long the line between two chunks may be. */
const lineBytesMax = 256;
const sizeDigitsMax = 12;

const [carriageReturn, lineFeed] = [13, 10];

type State = 'size' | 'data' | 'end-of-data' | 'trailer' | 'whole';

const notInTrailers = new Set([
  'content-length',
  'transfer-encoding',
  'host',
  'connection',
  'trailer',
  'content-encoding',
  'content-type',
  'set-cookie',
  'authorization',
  'cache-control',
]);

export class ChunkReader {
  problem: string | undefined;
  /** Lines for the client, each with its end. */
  trailers = '';
  #state: State = 'size';
  #left = 0;
  #line = '';
  #trailerBytes = 0;
  readonly #trailerBytesMax: number;

  constructor(trailerBytesMax: number) {
    this.#trailerBytesMax = trailerBytesMax;
  }

  get isWhole() {
    return this.#state === 'whole';
  }

  /** The data in these bytes, moved together to their beginning. */
  read(bytes: Buffer): Buffer {
    let filled = 0;
    let at = 0;
    while (at < bytes.length && this.problem === undefined) {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        if (at !== filled) bytes.copyWithin(filled, at, end);
        filled += end - at;
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = 'end-of-data';
      } else if (this.#state === 'whole') this.problem = 'more bytes than the reply has';
      else at = this.#readLine(bytes, at);
    }
    return bytes.subarray(0, filled);
  }

  #readLine(bytes: Buffer, from: number): number {
    const feed = bytes.indexOf(lineFeed, from);
    const end = feed === -1 ? bytes.length : feed;
    const lineMax = this.#state === 'trailer' ? this.#trailerBytesMax : lineBytesMax;
    if (this.#line.length + end - from > lineMax) this.problem = 'a line between chunks is too long';
    else this.#line += bytes.toString('latin1', from, end);
    if (feed === -1 || this.problem !== undefined) return end;
    const line = this.#line;
    this.#line = '';
    if (line.charCodeAt(line.length - 1) !== carriageReturn) this.problem = 'a line between chunks ends without CR';
    else this.#onLine(line.slice(0, -1));
    return feed + 1;
  }

  #onLine(line: string) {
    if (this.#state === 'end-of-data') {
      if (line !== '') this.problem = 'a chunk is longer than its size';
      this.#state = 'size';
    } else if (this.#state === 'size') this.#onSize(line);
    else if (line === '') this.#state = 'whole';
    else this.#onTrailer(line);
  }

  #onSize(line: string) {
    const size = /^([0-9a-f]+)[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/i.exec(line)?.[1];
    if (size === undefined || size.length > sizeDigitsMax) this.problem = 'a chunk size that is not one';
    else {
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
    }
  }

  #onTrailer(line: string) {
    this.#trailerBytes += line.length;
    const colon = line.indexOf(':');
    const trailer = emptyHead(0, '');
    if (colon === -1 || this.#trailerBytes > this.#trailerBytesMax) this.problem = 'trailers that are none';
    else this.problem = addLine(trailer, line.slice(0, colon), trimBlanks(line, colon + 1, line.length));
    if (!notInTrailers.has(line.slice(0, colon).toLowerCase())) this.trailers += trailer.passed;
  }
}
