/**
 * The body of a request on its way in. Until somebody takes it, what has arrived is kept and no more is read: it waits in the socket, at the client's.
 */

export interface BodySink {
  /** False: stop, until `onRoom` of the connection. */
  onBody(chunk: Buffer): boolean;
  onBodyEnd(trailers: readonly string[]): void;
}

/** How much of a body is kept while nobody takes it; one read can bring a little more. */
export const waitingBytesMax = 32 * 1024;

export class RequestBody {
  /** Undefined: not told beforehand. */
  readonly length: number | undefined;
  readonly isChunked: boolean;
  /** How many have arrived so far. */
  bytes = 0;
  isWhole = false;
  /** Whoever takes the body has no room. */
  isBlocked = false;
  #waiting: Buffer[] = [];
  waitingBytes = 0;
  #trailers: readonly string[] = [];
  #sink: BodySink | undefined;

  constructor(length: number | undefined, isChunked: boolean) {
    this.length = length;
    this.isChunked = isChunked;
  }

  get isExpected() {
    return this.isChunked || (this.length ?? 0) > 0;
  }

  /** More would only pile up. */
  get wantsPause() {
    return this.isBlocked || this.waitingBytes >= waitingBytesMax;
  }

  push(chunk: Buffer) {
    this.bytes += chunk.length;
    if (this.#sink) this.isBlocked = !this.#sink.onBody(chunk);
    else {
      this.#waiting.push(chunk);
      this.waitingBytes += chunk.length;
    }
  }

  end(trailers: readonly string[]) {
    this.isWhole = true;
    this.#trailers = trailers;
    this.#sink?.onBodyEnd(trailers);
  }

  flowTo(sink: BodySink) {
    this.#sink = sink;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.waitingBytes = 0;
    for (const chunk of waiting) this.isBlocked = !sink.onBody(chunk);
    if (this.isWhole) sink.onBodyEnd(this.#trailers);
  }

  /** Nobody wants the body any more. */
  discard() {
    this.flowTo(nowhere);
    this.isBlocked = false;
  }
}

const nowhere: BodySink = { onBody: () => true, onBodyEnd: () => {} };
