/**
 * Replies of HTTP/1 out of an application's bytes. Bodies are taken out of their framing here and framed anew for the client, so that nothing of
 * what an application says about framing reaches it.
 */
import { ChunkReader } from './chunk-reader.ts';
import { parseReplyHead, type ReplyHead } from './reply-head.ts';

export interface ReplySink {
  /** 1xx too; those are followed by another. */
  onHead(head: ReplyHead): void;
  /** A string is Latin-1. Bytes are valid only during the call, unless they are in a borrowed buffer that the receiver keeps. */
  onReplyBody(piece: Buffer | string): void;
  onReplyEnd(trailers: string): void;
  onBadReply(reason: string): void;
}

export interface ReplyReader {
  read(bytes: Buffer): void;
  /** Whether it reads text just now: Latin-1, which is cheaper than bytes for what is short. Otherwise all is read as bytes. */
  readonly takesText?: boolean;
  readText?(text: string): void;
  /** The application closed; true where that is how the reply ends. */
  end(): boolean;
  /** How many bytes of the body are still to come, as far as is known. */
  readonly bytesLeft: number;
}

const endOfHead = '\r\n\r\n';
const endOfHeadBytes = Buffer.from(endOfHead);

type State = 'head' | 'length' | 'chunks' | 'until-close' | 'over';

export class HttpReplyReader implements ReplyReader {
  readonly #sink: ReplySink;
  readonly #isHeadRequest: boolean;
  readonly #limits: { replyHeadBytesMax: number; replyHeaderLinesMax: number };
  #state: State = 'head';
  #partialHead: Buffer | undefined;
  #chunks: ChunkReader | undefined;
  bytesLeft = 0;

  constructor(sink: ReplySink, isHeadRequest: boolean, limits: { replyHeadBytesMax: number; replyHeaderLinesMax: number }) {
    this.#sink = sink;
    this.#isHeadRequest = isHeadRequest;
    this.#limits = limits;
  }

  read(bytes: Buffer) {
    let rest = bytes;
    // Several heads can come at once: 103, then 200.
    while (this.#state === 'head') {
      const after = this.#readHead(rest);
      if (!after) return;
      rest = after;
    }
    if (rest.length > 0) this.#readBody(rest);
  }

  get takesText() {
    return this.#state !== 'chunks' && !this.#partialHead;
  }

  readText(text: string) {
    let from = 0;
    while (this.#state === 'head') {
      const end = text.indexOf(endOfHead, from);
      if (end === -1 || end - from > this.#limits.replyHeadBytesMax) return this.read(Buffer.from(text.slice(from), 'latin1'));
      if (!this.#takeHead(text.slice(from, end))) return;
      from = end + endOfHead.length;
    }
    if (from === text.length) return;
    const rest = from === 0 ? text : text.slice(from);
    this.#readBody(rest);
  }

  end(): boolean {
    if (this.#state !== 'until-close') return false;
    this.#over('');
    return true;
  }

  /** What comes after the head; undefined where it is not whole or not right. */
  #readHead(bytes: Buffer): Buffer | undefined {
    const all = this.#partialHead ? Buffer.concat([this.#partialHead, bytes]) : bytes;
    const end = all.indexOf(endOfHeadBytes);
    if (end === -1 ? all.length > this.#limits.replyHeadBytesMax : end > this.#limits.replyHeadBytesMax) {
      this.#bad('the head is too large');
      return undefined;
    }
    if (end === -1) {
      this.#partialHead = all === bytes ? Buffer.from(bytes) : all;
      return undefined;
    }
    this.#partialHead = undefined;
    return this.#takeHead(all.toString('latin1', 0, end)) ? all.subarray(end + endOfHead.length) : undefined;
  }

  #takeHead(text: string): boolean {
    const head = parseReplyHead(text, this.#limits.replyHeaderLinesMax);
    if (typeof head === 'string') {
      this.#bad(head);
      return false;
    }
    this.#frame(head);
    this.#sink.onHead(head);
    if (this.#state === 'length' && this.bytesLeft === 0) this.#over('');
    return true;
  }

  #frame({ status, isChunked, contentLength }: ReplyHead) {
    if (status < 200) {
      // After 101 it is no HTTP any more: all that comes is passed on as it is.
      if (status === 101) {
        this.#state = 'until-close';
        this.bytesLeft = Infinity;
      }
    } else if (this.#isHeadRequest || status === 204 || status === 304) this.#state = 'length';
    else if (isChunked) {
      this.#state = 'chunks';
      this.bytesLeft = Infinity;
      this.#chunks = new ChunkReader(this.#limits.replyHeadBytesMax);
    } else if (contentLength === undefined) {
      this.#state = 'until-close';
      this.bytesLeft = Infinity;
    } else {
      this.#state = 'length';
      this.bytesLeft = contentLength;
    }
  }

  #readBody(bytes: Buffer | string) {
    if (this.#state === 'until-close') return this.#sink.onReplyBody(bytes);
    if (this.#state === 'chunks') return this.#readChunks(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    if (this.#state === 'over') return this.#bad('more bytes than the reply has');
    const isTooMuch = bytes.length > this.bytesLeft;
    const mine = isTooMuch ? bytes.slice(0, this.bytesLeft) : bytes;
    this.bytesLeft -= mine.length;
    if (mine.length > 0) this.#sink.onReplyBody(mine);
    if (isTooMuch) this.#bad('more bytes than the reply has');
    else if (this.bytesLeft === 0) this.#over('');
  }

  #readChunks(bytes: Buffer) {
    const chunks = this.#chunks;
    if (!chunks) return;
    const data = chunks.read(bytes);
    if (data.length > 0) this.#sink.onReplyBody(data);
    if (chunks.problem !== undefined) this.#bad(chunks.problem);
    else if (chunks.isWhole) this.#over(chunks.trailers);
  }

  #over(trailers: string) {
    this.#state = 'over';
    this.#sink.onReplyEnd(trailers);
  }

  #bad(reason: string) {
    this.#state = 'over';
    this.#sink.onBadReply(reason);
  }
}
