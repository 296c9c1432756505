/**
 * Whether a socket is read from: while there is room for what comes, and it has its turn. A stream of Node that is paused goes on reading until it holds
 * 64 KiB, and does so for each of thousands; here the system itself is told not to read, and nothing arrives at all. The stream does not know: it believes
 * that it is being read for, and so never starts or stops the reading by itself. Node keeps these parts out of its documentation, so a socket that is not
 * as expected is paused as a stream.
 */
import type { Socket } from 'node:net';
import { constants } from 'node:os';

export interface ReadingHandle {
  isStreamBase: boolean;
  /** `readStart` and `readStop` answer 0, or the number of an error. */
  readStart(): number;
  readStop(): number;
  /** Called after each read, also by the end and by errors (`bytesRead`). */
  onread?: (this: ReadingHandle, bytes: ArrayBuffer | undefined) => unknown;
}

interface Internals {
  streamBaseState: ArrayLike<number>;
  kReadBytesOrError: number;
}

function readInternals(): Internals | undefined {
  try {
    const found = (process as unknown as { binding(name: string): Partial<Internals> }).binding('stream_wrap');
    const { streamBaseState, kReadBytesOrError } = found;
    return streamBaseState && kReadBytesOrError !== undefined ? { streamBaseState, kReadBytesOrError } : undefined;
  } catch {
    return undefined;
  }
}

const internals = readInternals();
export const canCountBytes = internals !== undefined;
/** How many bytes came with the read that is being told of; below zero it is the number of an error, or the end. */
export const bytesRead = () => internals?.streamBaseState[internals.kReadBytesOrError] ?? 0;

export class SocketReading {
  /** Whoever takes the bytes has no room. */
  isPaused = false;
  #awaitsTurn = false;
  readonly #socket: Socket;
  readonly #handle: ReadingHandle | undefined;

  /** The socket must be connected: until then it may take another handle. */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#handle = readingHandleOf(socket);
  }

  pause() {
    if (this.isPaused) return;
    this.isPaused = true;
    if (!this.#awaitsTurn) this.#stop();
  }

  resume() {
    if (!this.isPaused) return;
    this.isPaused = false;
    if (!this.#awaitsTurn) this.#start();
  }

  awaitTurn() {
    this.#awaitsTurn = true;
    if (!this.isPaused) this.#stop();
  }

  takeTurn() {
    this.#awaitsTurn = false;
    if (!this.isPaused) this.#start();
  }

  #start() {
    if (!this.#handle) this.#socket.resume();
    else if (!this.#socket.destroyed && this.#handle.readStart() !== 0) this.#socket.destroy();
  }

  #stop() {
    if (!this.#handle) this.#socket.pause();
    else if (!this.#socket.destroyed && this.#handle.readStop() !== 0) this.#socket.destroy();
  }
}

const connectionReset = -constants.errno.ECONNRESET;

/** Many clients end a connection with a reset. Node makes an error of each, with all that stood on the stack, which takes more time than a request. */
export function endQuietly(socket: Socket) {
  const handle = readingHandleOf(socket);
  const onread = handle?.onread;
  if (!handle || !onread || !canCountBytes) return;
  handle.onread = function onRead(bytes) {
    if (bytesRead() !== connectionReset) return onread.call(this, bytes);
    socket.destroy();
    return undefined;
  };
}

/** That of TLS is used like that of a plain socket. */
export function readingHandleOf(socket: Socket): ReadingHandle | undefined {
  const { _handle: handle } = socket as Socket & { _handle?: Partial<ReadingHandle> | null };
  return handle?.isStreamBase && handle.readStart && handle.readStop ? (handle as ReadingHandle) : undefined;
}
