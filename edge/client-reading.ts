/**
 * How a client's socket is read: below Node's streams where that is possible. The parser then takes the bytes where they arrive, as node:http has it do
 * for its own servers, and a request costs no buffer and no way through a stream; the end and errors are events of the socket as ever. Node keeps these
 * parts out of its documentation, so a socket that is not as expected is read as a stream, and its data must be handed to the parser.
 */
import { HTTPParser } from 'node:_http_common';
import type { Socket } from 'node:net';

interface Handle {
  isStreamBase: boolean;
  reading: boolean;
  /** Both answer 0, or the number of an error. */
  readStart(): number;
  readStop(): number;
}

const canReadByItself =
  typeof HTTPParser.kOnExecute === 'number' &&
  (['consume', 'unconsume', 'getCurrentBuffer'] as const).every((name) => typeof HTTPParser.prototype[name] === 'function');

export class ClientReading {
  isPaused = false;
  readonly #socket: Socket;
  readonly #parser: HTTPParser;
  /** As long as the parser reads by itself. */
  #handle: Handle | undefined;

  constructor(socket: Socket, parser: HTTPParser) {
    this.#socket = socket;
    this.#parser = parser;
    const handle = handleOf(socket);
    // What a stream has read already must not be overtaken.
    if (!handle || !canReadByItself || socket.readableLength > 0) return;
    parser.consume(handle);
    this.#handle = handle;
  }

  get isBelowStreams() {
    return this.#handle !== undefined;
  }

  pause() {
    if (this.isPaused) return;
    this.isPaused = true;
    if (this.#handle) this.#stop(this.#handle);
    else this.#socket.pause();
  }

  resume() {
    if (!this.isPaused) return;
    this.isPaused = false;
    if (this.#handle) this.#start(this.#handle);
    else this.#socket.resume();
  }

  /** What comes from here on is data of the socket, and not taken by the parser. */
  leaveToStream() {
    const handle = this.#handle;
    this.#handle = undefined;
    if (!handle || this.#socket.destroyed) return;
    this.#parser.unconsume();
    if (!this.isPaused) return;
    this.#socket.pause();
    // The stream believes that it is being read for, up to what it keeps while it is paused.
    this.#start(handle);
  }

  #start(handle: Handle) {
    handle.reading = true;
    if (handle.readStart() !== 0) this.#socket.destroy();
  }

  #stop(handle: Handle) {
    handle.reading = false;
    if (handle.readStop() !== 0) this.#socket.destroy();
  }
}

/** TLS has its own, which wants more care than it gives back. */
function handleOf(socket: Socket): Handle | undefined {
  if ('encrypted' in socket) return undefined;
  const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null };
  return handle?.isStreamBase && handle.readStart && handle.readStop ? (handle as Handle) : undefined;
}
