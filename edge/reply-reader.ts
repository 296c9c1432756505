/**
 * Replies of HTTP/1 out of an application's bytes. Bodies are taken out of their framing here and framed anew for the client, so that nothing of
 * what an application says about framing reaches it.
 */
import { ChunkReader } from './chunk-reader.ts';
import { parseReplyHead, type ReplyHead } from './reply-head.ts';

export interface ReplySink {
  /** 1xx too; those are followed by another. */
  onHead(head: ReplyHead): void;
  /** Valid only during the call, unless it is in a borrowed buffer that the receiver keeps. */
  onReplyBody(bytes: Buffer): void;
  onReplyEnd(trailers: string): void;
  onBadReply(reason: string): void;
}

export interface ReplyReader {
  read(bytes: Buffer): void;
  /** The application closed; true where that is how the reply ends. */
  end(): boolean;
  /** How many bytes of the body are still to come, as far as one knows. */
  readonly bytesLeft: number;
}

const endOfHead = Buffer.from('\r\n\r\n');

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

  end(): boolean {
    if (this.#state !== 'until-close') return false;
    this.#over('');
    return true;
  }

  /** What comes after the head; undefined where it is not whole or not right. */
  #readHead(bytes: Buffer): Buffer | undefined {
    const all = this.#partialHead ? Buffer.concat([this.#partialHead, bytes]) : bytes;
    const end = all.indexOf(endOfHead);
    if (end === -1 ? all.length > this.#limits.replyHeadBytesMax : end > this.#limits.replyHeadBytesMax) {
      this.#bad('the head is too large');
      return undefined;
    }
    if (end === -1) {
      this.#partialHead = all === bytes ? Buffer.from(bytes) : all;
      return undefined;
    }
    this.#partialHead = undefined;
    const head = parseReplyHead(all.toString('latin1', 0, end), this.#limits.replyHeaderLinesMax);
    if (typeof head === 'string') {
      this.#bad(head);
      return undefined;
    }
    const rest = all.subarray(end + endOfHead.length);
    this.#frame(head);
    this.#sink.onHead(head);
    if (this.#state === 'length' && this.bytesLeft === 0) this.#over('');
    return rest;
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

  #readBody(bytes: Buffer) {
    if (this.#state === 'until-close') return this.#sink.onReplyBody(bytes);
    if (this.#state === 'chunks') return this.#readChunks(bytes);
    if (this.#state === 'over') return this.#bad('more bytes than the reply has');
    const isTooMuch = bytes.length > this.bytesLeft;
    const mine = isTooMuch ? bytes.subarray(0, this.bytesLeft) : bytes;
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
