/** The writing half of a stream: what its visit has to say, until the client and the socket have room for it. */
import { giveBack } from '../buffers.ts';
import { flags, frameBytesMax, frameTypes, windowMax } from './frames.ts';
import type { FrameOutcome, Http2Sending, SendingStream } from './sending.ts';

/** Past this, whoever writes is asked to wait. There may be a hundred streams on each connection. */
const queuedBytesMax = 64 * 1024;

interface Piece {
  bytes: Buffer | string;
  lent: Buffer | undefined;
}

export interface WritingUser {
  /** There is room again after `write` said that there is none. */
  onRoom(): void;
  /** The last frame of the stream was added to those that go out. */
  onWritten(): void;
}

export class StreamWriting implements SendingStream {
  readonly #id: number;
  readonly #sending: Http2Sending;
  readonly #user: WritingUser;
  #window: number;
  #pieces: Piece[] = [];
  /** How much of the first piece is sent. */
  #sentOfFirst = 0;
  #queuedBytes = 0;
  #isFull = false;
  #isEnding = false;
  #trailers = '';
  /** Milliseconds of `performance.now()`. */
  movedAt = performance.now();
  /** Nothing more is said on this stream. */
  isOver = false;

  constructor(id: number, sending: Http2Sending, user: WritingUser) {
    this.#id = id;
    this.#sending = sending;
    this.#user = user;
    this.#window = sending.streamWindow;
  }

  /** Whether something waits for the client. */
  get isWaiting() {
    return this.#queuedBytes > 0;
  }

  /** `lines` are whole headers, each with its end. */
  head(status: number, lines: string, isEnd: boolean) {
    if (this.isOver) return;
    const { frames, encoder } = this.#sending;
    frames.headers(this.#id, isEnd, (out) => encoder.encode(out, status, lines));
    this.#sending.becomeDue();
    if (isEnd) this.#finish();
  }

  /** False: wait for `onRoom`. */
  write(bytes: Buffer | string, lent: Buffer | undefined): boolean {
    if (this.isOver || this.#isEnding) return true;
    if (bytes.length === 0) return !this.#isFull;
    if (this.#queuedBytes === 0) this.movedAt = performance.now();
    this.#pieces.push({ bytes, lent });
    this.#queuedBytes += bytes.length;
    this.#sending.becomeReady(this);
    if (this.#queuedBytes < queuedBytesMax) return true;
    this.#isFull = true;
    return false;
  }

  end(trailers: string) {
    if (this.isOver || this.#isEnding) return;
    this.#isEnding = true;
    this.#trailers = trailers;
    this.#sending.becomeReady(this);
  }

  /** False where the window would be larger than one can be. */
  widen(bytes: number): boolean {
    this.#window += bytes;
    if (this.#window > 0 && this.#queuedBytes > 0) this.#sending.becomeReady(this);
    return this.#window <= windowMax;
  }

  addFrame(sending: Http2Sending): FrameOutcome {
    if (this.isOver) return 'done';
    const queued = this.#queuedBytes;
    const count = Math.min(queued, frameBytesMax, this.#window, sending.window);
    if (queued > 0 && count <= 0) return this.#window > 0 ? 'no-shared-window' : 'done';
    const isLast = this.#isEnding && count === queued;
    if (count > 0 || (isLast && this.#trailers === '')) this.#addData(sending, count, isLast && this.#trailers === '');
    if (isLast) {
      if (this.#trailers !== '') sending.frames.headers(this.#id, true, (out) => sending.encoder.encode(out, undefined, this.#trailers));
      this.#finish();
    } else if (this.#isFull && this.#queuedBytes < queuedBytesMax) {
      this.#isFull = false;
      this.#user.onRoom();
    }
    return this.#queuedBytes > 0 ? 'more' : 'done';
  }

  #addData(sending: Http2Sending, count: number, isEnd: boolean) {
    const { frames } = sending;
    frames.head(frameTypes.data, isEnd ? flags.endStream : 0, this.#id, count);
    this.#window -= count;
    sending.window -= count;
    this.#queuedBytes -= count;
    this.movedAt = performance.now();
    for (let left = count; left > 0;) {
      const [piece] = this.#pieces;
      if (!piece) return;
      const { bytes, lent } = piece;
      const part = Math.min(left, bytes.length - this.#sentOfFirst);
      const end = this.#sentOfFirst + part;
      if (typeof bytes === 'string') frames.text(part === bytes.length ? bytes : bytes.slice(this.#sentOfFirst, end));
      else frames.raw(part === bytes.length ? bytes : bytes.subarray(this.#sentOfFirst, end));
      left -= part;
      this.#sentOfFirst = end;
      if (end < bytes.length) continue;
      this.#sentOfFirst = 0;
      this.#pieces.shift();
      if (lent) giveBack(lent);
    }
  }

  #finish() {
    this.close();
    this.#user.onWritten();
  }

  /** What was not sent is not sent any more. */
  close() {
    this.isOver = true;
    for (const { lent } of this.#pieces) if (lent) giveBack(lent);
    this.#pieces = [];
    this.#queuedBytes = 0;
    this.#sending.forget(this);
  }
}
