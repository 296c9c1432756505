/**
 * The records of FastCGI: requests into bytes, and replies out of them. Each request has a connection of its own. PHP gives a whole process to a
 * connection: on one that is kept it would wait for the same visitor to come again, while others wait to be accepted.
 */
import { addLine, emptyHead, headerOf, trimBlanks, type ReplyHead } from './reply-head.ts';
import type { ReplyReader, ReplySink } from './reply-reader.ts';

const version = 1;
const requestId = 1;
const [beginRequest, endRequest, params, stdin, stdout, stderr] = [1, 3, 4, 5, 6, 7];
const responder = 1;
const flags = 0;
const headBytes = 8;
const contentBytesMax = 65_535;

function recordHead(type: number, contentBytes: number): Buffer {
  const head = Buffer.alloc(headBytes);
  head[0] = version;
  head[1] = type;
  head.writeUInt16BE(requestId, 2);
  head.writeUInt16BE(contentBytes, 4);
  return head;
}

/** Everything before the body. */
export function encodeRequest(pairs: readonly (readonly [name: string, value: string])[]): Buffer {
  const begin = Buffer.from([0, responder, flags, 0, 0, 0, 0, 0]);
  const encoded = Buffer.concat(pairs.flatMap(([name, value]) => encodePair(name, value)));
  const pieces = [recordHead(beginRequest, begin.length), begin];
  for (let start = 0; start < encoded.length; start += contentBytesMax) {
    const part = encoded.subarray(start, start + contentBytesMax);
    pieces.push(recordHead(params, part.length), part);
  }
  pieces.push(recordHead(params, 0));
  return Buffer.concat(pieces);
}

function encodePair(name: string, value: string): Buffer[] {
  const [nameBytes, valueBytes] = [Buffer.from(name, 'latin1'), Buffer.from(value, 'latin1')];
  return [encodeLength(nameBytes.length), encodeLength(valueBytes.length), nameBytes, valueBytes];
}

function encodeLength(length: number): Buffer {
  if (length < 128) return Buffer.from([length]);
  const encoded = Buffer.alloc(4);
  encoded.writeUInt32BE(length + 2 ** 31);
  return encoded;
}

export function encodeBody(chunk: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let start = 0; start < chunk.length; start += contentBytesMax) {
    const part = chunk.subarray(start, start + contentBytesMax);
    pieces.push(recordHead(stdin, part.length), part);
  }
  return pieces;
}

export const endOfBody = recordHead(stdin, 0);

type State = 'record-head' | 'content' | 'padding';

export class FastcgiReplyReader implements ReplyReader {
  readonly #sink: ReplySink;
  readonly #onStderr: (text: string) => void;
  readonly #headBytesMax: number;
  readonly #isHeadRequest: boolean;
  #state: State = 'record-head';
  #head = Buffer.alloc(headBytes);
  #headFilled = 0;
  #contentLeft = 0;
  #padding = 0;
  #cgi: CgiHead | undefined = new CgiHead();
  #bodyLeft = Infinity;
  #isOver = false;

  constructor(sink: ReplySink, isHeadRequest: boolean, headBytesMax: number, onStderr: (text: string) => void) {
    this.#sink = sink;
    this.#isHeadRequest = isHeadRequest;
    this.#headBytesMax = headBytesMax;
    this.#onStderr = onStderr;
  }

  get bytesLeft() {
    return this.#cgi ? 0 : Infinity;
  }

  /** The data of all records in these bytes, moved together. */
  read(bytes: Buffer) {
    let filled = 0;
    for (let at = 0; at < bytes.length && !this.#isOver;) {
      if (this.#state === 'record-head') at = this.#readRecordHead(bytes, at);
      else {
        const left = this.#state === 'content' ? this.#contentLeft : this.#padding;
        const end = Math.min(bytes.length, at + left);
        if (this.#state === 'padding') this.#padding -= end - at;
        else {
          filled = this.#readContent(bytes, at, end, filled);
          this.#contentLeft -= end - at;
        }
        at = end;
      }
      if (this.#state === 'content' && this.#contentLeft === 0) this.#state = 'padding';
      if (this.#state === 'padding' && this.#padding === 0) {
        this.#state = 'record-head';
        if (this.#head[1] === endRequest) return this.#finish(bytes.subarray(0, filled), at < bytes.length);
      }
    }
    if (filled > 0 && !this.#isOver) this.#pass(bytes.subarray(0, filled));
  }

  /** Only a record ends a reply. */
  end() {
    return false;
  }

  #readRecordHead(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + headBytes - this.#headFilled);
    bytes.copy(this.#head, this.#headFilled, from, end);
    this.#headFilled += end - from;
    if (this.#headFilled < headBytes) return end;
    this.#headFilled = 0;
    const type = this.#head[1] ?? 0;
    if (this.#head[0] !== version || ![endRequest, stdout, stderr].includes(type)) this.#bad('not a record of FastCGI');
    this.#contentLeft = this.#head.readUInt16BE(4);
    this.#padding = this.#head[6] ?? 0;
    this.#state = 'content';
    return end;
  }

  /** Where the data ends after this. */
  #readContent(bytes: Buffer, from: number, to: number, filled: number): number {
    const type = this.#head[1];
    if (type === stderr) this.#onStderr(bytes.toString('utf8', from, to));
    if (type !== stdout) return filled;
    let start = from;
    if (this.#cgi) {
      const taken = this.#cgi.read(bytes.subarray(from, to));
      if (this.#cgi.bytes > this.#headBytesMax) this.#bad('the head is too large');
      if (!this.#cgi.isWhole || this.#isOver) return filled;
      start += taken;
      this.#begin(this.#cgi);
      if (this.#isOver) return filled;
    }
    if (start !== filled) bytes.copyWithin(filled, start, to);
    return filled + to - start;
  }

  #begin(cgi: CgiHead) {
    this.#cgi = undefined;
    const head = cgi.parse();
    if (typeof head === 'string') return this.#bad(head);
    head.keepAlive = false;
    this.#bodyLeft = this.#isHeadRequest || head.status === 204 || head.status === 304 ? 0 : (head.contentLength ?? Infinity);
    this.#sink.onHead(head);
  }

  #pass(data: Buffer) {
    if (this.#isHeadRequest) return;
    if (data.length > this.#bodyLeft) return this.#bad('more bytes than the reply has');
    this.#bodyLeft -= data.length;
    if (data.length > 0) this.#sink.onReplyBody(data);
  }

  #finish(data: Buffer, isMoreThere: boolean) {
    if (this.#cgi) return this.#bad('no whole head');
    this.#pass(data);
    if (this.#isOver) return;
    const isShort = this.#bodyLeft !== Infinity && this.#bodyLeft > 0;
    if (isShort || isMoreThere) return this.#bad(isShort ? 'fewer bytes than the reply has' : 'more bytes than the reply has');
    this.#isOver = true;
    this.#sink.onReplyEnd('');
  }

  #bad(reason: string) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.onBadReply(reason);
  }
}

const endOfCgiHead = /\r?\n\r?\n/g;

/** The head of a CGI program: lines, then an empty one. Some end them with a bare line feed. */
class CgiHead {
  isWhole = false;
  #text = '';

  get bytes() {
    return this.#text.length;
  }

  /** How many of the bytes belong to it. */
  read(bytes: Buffer): number {
    const before = this.#text.length;
    const text = this.#text + bytes.toString('latin1');
    // The search does not start at the beginning each time: a head may come byte by byte.
    endOfCgiHead.lastIndex = Math.max(0, before - 3);
    const end = endOfCgiHead.exec(text);
    this.isWhole = end !== null;
    this.#text = end ? text.slice(0, end.index) : text;
    return end ? end.index + end[0].length - before : bytes.length;
  }

  parse(): ReplyHead | string {
    const head = emptyHead(200, 'OK');
    for (const line of this.#text.split(/\r?\n/)) {
      const colon = line.indexOf(':');
      if (colon === -1) return 'a header without a colon';
      const [name, value] = [line.slice(0, colon), trimBlanks(line, colon + 1, line.length)];
      const problem = /^(?:status|transfer-encoding|connection)$/i.test(name) ? undefined : addLine(head, name, value);
      if (problem !== undefined) return problem;
      if (!/^status$/i.test(name)) continue;
      const status = /^([2-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/.exec(value);
      if (!status) return 'a status that is none';
      [head.status, head.reason] = [Number(status[1]), status[2] ?? ''];
    }
    if (headerOf(head, 'location') !== undefined && !/^status:/im.test(this.#text)) [head.status, head.reason] = [302, 'Found'];
    return head;
  }
}
