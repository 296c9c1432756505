/**
 * The writing half of a connection of HTTP/2. Frames are collected while events are handled, and go out in one piece with what all other connections have to say
 * (outgoing.ts). Bodies wait with their streams until there is room: of the two windows that the client opens, one for the stream and one for all, and in the socket.
 * Streams take turns, a frame each.
 */
import type { Socket } from 'node:net';
import { sendWithOthers } from '../outgoing.ts';
import { writeNow } from '../write-now.ts';
import { errorCodes, type ErrorCode } from './error-codes.ts';
import { FrameBuffer, giveBackFrames } from './frame-buffer.ts';
import { flags, frameTypes, standardWindow, windowMax } from './frames.ts';
import { HpackEncoder } from './hpack-encoder.ts';

/** Bodies are added up to here; what is more waits for the next time. */
const batchBytes = 64 * 1024;

/** - more: there is more to send. - done: there is nothing more for now, or no window. - no-shared-window: what all streams may send is spent. */
export type FrameOutcome = 'more' | 'done' | 'no-shared-window';

export interface SendingStream {
  /** Adds the next frame of its body, if there is one and the windows let it. */
  addFrame(sending: Http2Sending): FrameOutcome;
}

export class Http2Sending {
  readonly frames = new FrameBuffer();
  readonly encoder = new HpackEncoder();
  /** How many bytes of bodies the client still takes. */
  window = standardWindow;
  /** The first window of each stream. */
  streamWindow = standardWindow;
  readonly #socket: Socket;
  readonly #onRoom: () => void;
  /** Those that have something to send, in turn. */
  readonly #ready = new Set<SendingStream>();
  /** Those that wait for the window that all share. */
  readonly #waiting = new Set<SendingStream>();
  #underWay: Buffer | undefined;
  #underWaySince = 0;
  #isDue = false;
  #isEnding = false;

  /** `onRoom` is called when something was sent. */
  constructor(socket: Socket, onRoom: () => void) {
    this.#socket = socket;
    this.#onRoom = onRoom;
  }

  get unsentBytes() {
    return this.frames.length + (this.#underWay?.length ?? 0);
  }

  /** Since when what was written last is not taken; 0 where nothing waits. */
  get waitsSince() {
    return this.#underWay ? this.#underWaySince : 0;
  }

  /** Something was added to `frames`. */
  becomeDue() {
    if (this.#isDue) return;
    this.#isDue = true;
    sendWithOthers(this);
  }

  becomeReady(stream: SendingStream) {
    this.#ready.add(stream);
    this.becomeDue();
  }

  forget(stream: SendingStream) {
    this.#ready.delete(stream);
    this.#waiting.delete(stream);
  }

  /** False where the window would be larger than one can be. */
  widen(bytes: number): boolean {
    this.window += bytes;
    for (const stream of this.#waiting) this.becomeReady(stream);
    this.#waiting.clear();
    return this.window <= windowMax;
  }

  acknowledgeSettings() {
    this.frames.head(frameTypes.settings, flags.acknowledged, 0, 0);
    this.becomeDue();
  }

  answerPing(payload: Buffer) {
    this.frames.head(frameTypes.ping, flags.acknowledged, 0, payload.length);
    this.frames.raw(payload);
    this.becomeDue();
  }

  giveWindow(stream: number, bytes: number) {
    this.frames.numbers(frameTypes.windowUpdate, stream, bytes);
    this.becomeDue();
  }

  reset(stream: number, code: ErrorCode) {
    this.frames.numbers(frameTypes.reset, stream, code);
    this.becomeDue();
  }

  goAway(lastStream: number, code: ErrorCode = errorCodes.none) {
    this.frames.numbers(frameTypes.goAway, 0, lastStream, code);
    this.becomeDue();
  }

  /** Ends the socket after all that was added to `frames`. */
  end() {
    this.#isEnding = true;
    this.#ready.clear();
    this.#waiting.clear();
    this.becomeDue();
  }

  send() {
    this.#isDue = false;
    if (this.#underWay || this.#socket.destroyed) return;
    this.#addBodies();
    if (this.frames.length > 0) this.#write();
    if (this.#isEnding && !this.#underWay && !this.#socket.writableEnded) this.#socket.end();
  }

  #addBodies() {
    for (const stream of this.#ready) {
      if (this.frames.length >= batchBytes) return;
      this.#ready.delete(stream);
      const outcome = stream.addFrame(this);
      // A stream that is added again comes last.
      if (outcome === 'more') this.#ready.add(stream);
      else if (outcome === 'no-shared-window') this.#waiting.add(stream);
    }
  }

  #write() {
    const bytes = this.frames.take();
    this.#underWay = bytes;
    this.#underWaySince = performance.now();
    const written = writeNow(this.#socket, bytes, this.#onSent);
    if (written === 'sent') this.#onSent();
    else if (written === 'refused') this.#socket.write(bytes, () => this.#onSent());
  }

  readonly #onSent = () => {
    if (this.#underWay) giveBackFrames(this.#underWay);
    this.#underWay = undefined;
    if (this.#socket.destroyed) return;
    if (this.#ready.size > 0 || this.frames.length > 0 || this.#isEnding) this.becomeDue();
    this.#onRoom();
  };
}
