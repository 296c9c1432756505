/**
 * Requests out of bytes of strangers: llhttp as Node has it, with nothing lenient switched on. node:http would put an IncomingMessage and a
 * ServerResponse around each request, which together cost as much as all else that the edge does for it; here its parser is used without them.
 */
import { HTTPParser, methods } from 'node:_http_common';
import type { Socket } from 'node:net';
import { ClientReading } from './client-reading.ts';

export interface RequestHead {
  method: string;
  target: string;
  /** The version of HTTP: `major` and `minor`. */
  major: number;
  minor: number;
  /** Name, value, name, value; as they came. */
  headers: string[];
  /** The client named a protocol to change to. */
  wantsUpgrade: boolean;
  keepAlive: boolean;
}

export interface RequestEvents {
  /** True: what follows is not HTTP any more. */
  onHead(head: RequestHead): boolean;
  onBody(chunk: Buffer): void;
  onEnd(trailers: string[]): void;
  /** The parser has read by itself. `rest` is what it did not take: what stands behind a request that asked for another protocol. */
  onRead(rest: Buffer): void;
  onRefused(refused: Refused): void;
}

const nothing = Buffer.alloc(0);
const nothingLenient = 0;
const [bodyFollows, connectionIsHandedOver] = [0, 2];

export type Refused = 'malformed' | 'too-large';
type Failed = Error & { code: string };

export class RequestParser {
  readonly #parser = new HTTPParser();
  readonly #events: RequestEvents;
  readonly #headerLinesMax: number;
  #lines: string[] = [];
  #isTooLarge = false;
  /** The last head asked for another protocol: what stands behind its request is not taken. */
  #mayStop = false;

  constructor(events: RequestEvents, headerBytesMax: number, headerLinesMax: number) {
    this.#events = events;
    this.#headerLinesMax = headerLinesMax;
    const parser = this.#parser;
    parser.initialize(HTTPParser.REQUEST, {}, headerBytesMax, nothingLenient);
    parser[HTTPParser.kOnHeaders] = (lines: string[]) => this.#collect(lines);
    parser[HTTPParser.kOnHeadersComplete] = this.#onHead.bind(this);
    parser[HTTPParser.kOnBody] = (chunk: Buffer) => this.#events.onBody(chunk);
    parser[HTTPParser.kOnMessageComplete] = () => this.#onEnd();
    parser[HTTPParser.kOnExecute] = (taken: number | Failed) => this.#onExecuted(taken);
  }

  /** From here on the parser reads the socket by itself, where it can. */
  readFrom(socket: Socket): ClientReading {
    return new ClientReading(socket, this.#parser);
  }

  /** How many bytes were taken, or why no more will be. */
  execute(chunk: Buffer): number | Refused {
    return this.#outcome(this.#parser.execute(chunk));
  }

  #onExecuted(executed: number | Failed) {
    const taken = this.#outcome(executed);
    if (typeof taken === 'string') return this.#events.onRefused(taken);
    this.#events.onRead(this.#mayStop ? this.#parser.getCurrentBuffer().subarray(taken) : nothing);
  }

  #outcome(taken: number | Failed): number | Refused {
    if (this.#isTooLarge) return 'too-large';
    if (typeof taken === 'number') return taken;
    return taken.code === 'HPE_HEADER_OVERFLOW' ? 'too-large' : 'malformed';
  }

  /** Must not be called from within one of the events. */
  close() {
    this.#parser.close();
  }

  /** The parser hands over header lines 32 at a time, and all trailers at once. */
  #collect(lines: string[]) {
    this.#lines.push(...lines);
    if (this.#lines.length > 2 * this.#headerLinesMax) {
      this.#isTooLarge = true;
      this.#lines = [];
    }
  }

  #onHead(
    major: number,
    minor: number,
    lines: string[] | undefined,
    method: number,
    target: string | undefined,
    _status: unknown,
    _reason: unknown,
    wantsUpgrade: boolean,
    keepAlive: boolean,
  ): number {
    let headers = lines;
    if (!headers || this.#lines.length > 0) {
      this.#collect(lines ?? []);
      headers = this.#lines;
      this.#lines = [];
    }
    if (this.#isTooLarge) return bodyFollows;
    this.#mayStop = wantsUpgrade;
    const head = { method: methods[method] ?? '', target: target ?? '', major, minor, headers, wantsUpgrade, keepAlive };
    return this.#events.onHead(head) ? connectionIsHandedOver : bodyFollows;
  }

  #onEnd() {
    const trailers = this.#lines;
    this.#lines = [];
    if (!this.#isTooLarge) this.#events.onEnd(trailers);
  }
}
