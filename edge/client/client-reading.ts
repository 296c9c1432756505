/**
 * How a client's socket is read: below Node's streams where that is possible. The parser then takes the bytes where they arrive, as node:http has it do
 * for its own servers, and a request costs no buffer and no way through a stream; the end and errors are events of the socket as ever. Node keeps these
 * parts out of its documentation, so a socket that is not as expected is read as a stream, and its data must be handed to the parser.
 */
import { HTTPParser } from 'node:_http_common';
import type { Socket } from 'node:net';
import { readingHandleOf, SocketReading } from './socket-reading.ts';

const canReadByItself =
  typeof HTTPParser.kOnExecute === 'number' &&
  (['consume', 'unconsume', 'getCurrentBuffer'] as const).every((name) => typeof HTTPParser.prototype[name] === 'function');

export class ClientReading extends SocketReading {
  readonly #socket: Socket;
  readonly #parser: HTTPParser;
  #isBelowStreams = false;

  constructor(socket: Socket, parser: HTTPParser) {
    super(socket);
    this.#socket = socket;
    this.#parser = parser;
    const handle = readingHandleOf(socket);
    // What a stream has read already must not be overtaken.
    if (!handle || !canReadByItself || socket.readableLength > 0) return;
    parser.consume(handle);
    this.#isBelowStreams = true;
  }

  get isBelowStreams() {
    return this.#isBelowStreams;
  }

  /** What comes from here on is data of the socket, and not taken by the parser. */
  leaveToStream() {
    if (!this.#isBelowStreams) return;
    this.#isBelowStreams = false;
    if (!this.#socket.destroyed) this.#parser.unconsume();
  }
}
