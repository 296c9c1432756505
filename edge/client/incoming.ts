/**
 * The reading half of a client's socket. Its bytes are read in turn with all others (reading-turns.ts) and are requests to a parser; after a request that
 * asked for another protocol they are kept, until the other side agrees to speak it and takes them as they are.
 */
import type { Socket } from 'node:net';
import type { ClientReading } from './client-reading.ts';
import type { EdgeLimits } from '../limits.ts';
import { Reader, type ReadingTurns } from './reading-turns.ts';
import type { Refusal } from './refusals.ts';
import { RequestParser, type RequestHead } from './request-parser.ts';

export interface IncomingUser {
  /** True: what follows is not HTTP any more. A refusal ends the reading. */
  onHead(head: RequestHead): boolean | Refusal;
  onBody(chunk: Buffer): void;
  onEnd(trailers: string[]): void;
  /** All that had arrived is parsed. */
  onParsed(): void;
  onRefused(refusal: Refusal): void;
  /** Whether the request that is being answered asked for another protocol. */
  changesProtocol(): boolean;
}

export class Incoming {
  readonly #user: IncomingUser;
  readonly #parser: RequestParser;
  readonly #reading: ClientReading;
  readonly #reader: Reader;
  /** Where bytes go once they are no HTTP any more. */
  #raw: ((chunk: Buffer) => void) | undefined;
  /** What came after the head of a request that asked for another protocol. */
  readonly #early: Buffer[] = [];
  /** Found in a head, while the parser was still at work. */
  #refusal: Refusal | undefined;
  #isIgnoring = false;

  constructor(socket: Socket, user: IncomingUser, limits: EdgeLimits, turns: ReadingTurns) {
    this.#user = user;
    this.#parser = new RequestParser(
      {
        onHead: (head) => this.#onHead(head),
        onBody: (chunk) => user.onBody(chunk),
        onEnd: (trailers) => user.onEnd(trailers),
        onRead: (rest) => this.#onRead(rest),
        onRefused: (refusal) => user.onRefused(refusal),
      },
      limits.headerBytesMax,
      limits.headerLinesMax,
    );
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    this.#reading = this.#parser.readFrom(socket);
    this.#reader = new Reader(turns, this.#reading);
  }

  get isPaused() {
    return this.#reading.isPaused;
  }

  /** Whether bytes go to another protocol. */
  get isRaw() {
    return this.#raw !== undefined;
  }

  /** Whether something came for a protocol that is not spoken yet. Should it never be, nothing else can be made of these bytes. */
  get hasEarly() {
    return this.#early.length > 0;
  }

  /** Whose share reading takes of: an environment, or the client's address. */
  belongTo(owner: string) {
    this.#reader.belongTo(owner);
  }

  pause() {
    this.#reading.pause();
  }

  resume() {
    this.#reading.resume();
  }

  /** After 101: bytes of the client from here on, the ones that came early first. */
  takeOver(onBytes: (chunk: Buffer) => void) {
    this.#raw = onBytes;
    this.resume();
    for (const chunk of this.#early.splice(0)) onBytes(chunk);
  }

  /** What still comes is read, so that the client can finish, and thrown away. */
  ignoreRest() {
    this.#isIgnoring = true;
    this.#reading.leaveToStream();
  }

  /** The client sends no more. */
  end() {
    this.#reader.onRead();
    this.#reader.close();
  }

  close() {
    this.#raw = undefined;
    this.#reader.close();
    // The parser may be what found out that the socket is closed, and cannot be closed from within its own events.
    setImmediate(() => this.#parser.close());
  }

  #onData(chunk: Buffer) {
    this.#reader.onRead();
    if (this.#raw) return this.#raw(chunk);
    if (this.#isIgnoring) return;
    if (this.#user.changesProtocol()) return this.#keepEarly(chunk);
    this.#parse(chunk);
  }

  #parse(chunk: Buffer) {
    for (let rest = chunk; rest.length > 0;) {
      const taken = this.#parser.execute(rest);
      if (typeof taken === 'string') return this.#user.onRefused(taken);
      if (this.#refusal) return this.#user.onRefused(this.#refusal);
      // A parser that takes nothing now would take nothing the next time, either.
      if (taken === 0) return this.#user.onRefused('malformed');
      rest = rest.subarray(taken);
      if (rest.length > 0 && this.#user.changesProtocol()) {
        this.#keepEarly(rest);
        break;
      }
    }
    this.#user.onParsed();
  }

  /** The parser has read from the socket by itself. */
  #onRead(rest: Buffer) {
    this.#reader.onRead();
    if (this.#refusal) return this.#user.onRefused(this.#refusal);
    const isChanging = this.#user.changesProtocol();
    if (isChanging) this.#reading.leaveToStream();
    if (rest.length > 0 && !isChanging) return this.#parse(rest);
    if (rest.length > 0) this.#keepEarly(rest);
    this.#user.onParsed();
  }

  #onHead(head: RequestHead): boolean {
    const answer = this.#refusal ?? this.#user.onHead(head);
    if (typeof answer === 'boolean') return answer;
    this.#refusal = answer;
    return true;
  }

  /** The other side has not agreed to the protocol yet; nothing should come before it does. */
  #keepEarly(chunk: Buffer) {
    this.#early.push(chunk);
    this.pause();
  }
}
