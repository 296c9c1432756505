/** A visit whose reply no client gets as it is: a page that is still to be put together, or a part of one. Whoever asked for it takes the reply. */
import { giveBack } from '../client/buffers.ts';
import type { RequestBody } from '../client/request-body.ts';
import { Visit, type ReplyBody, type VisitConnection } from '../client/visit.ts';
import type { AskedFor } from './included-request.ts';
import type { PageMemory } from './page-memory.ts';

export interface ReplyTaker {
  inform(status: number, lines: string): void;
  begin(status: number, reason: string, lines: string, body: ReplyBody): void;
  /** False: wait for `onClientRoom`. The bytes are the taker's own. */
  take(bytes: Buffer): boolean;
  /** `trailers` are whole lines. */
  end(trailers: string): void;
  /** The reply cannot be finished. */
  breakOff(): void;
}

export interface InnerRequest {
  /** The visit of the client, or of what includes this one. */
  outer: Visit;
  method: string;
  asked: AskedFor;
  body?: RequestBody;
  /** Whether it is the page of `outer`; otherwise it is included in it. */
  isPage: boolean;
  /** How many pages it is included in. */
  depth: number;
  memory: PageMemory;
}

export class InnerVisit extends Visit {
  readonly isPage: boolean;
  readonly depth: number;
  readonly memory: PageMemory;
  readonly #taker: ReplyTaker;

  constructor({ outer, method, asked, body, isPage, depth, memory }: InnerRequest, taker: ReplyTaker) {
    const headers = [...asked.rawHeaders];
    const request = { method, target: '', major: 1, minor: outer.minor, headers, wantsUpgrade: false, keepAlive: false };
    super(new InnerConnection(outer, taker), request, asked.head, undefined, body);
    this.isPage = isPage;
    this.depth = depth;
    this.memory = memory;
    this.#taker = taker;
    this.environment = outer.environment;
    this.route = outer.route;
    // The client's visit is counted and noted, for all that it takes.
    this.notedFor = outer.notedFor;
    if (!isPage) this.body.end([]);
  }

  protected override get bytesOut() {
    return 0;
  }

  override inform(status: number, lines: string) {
    if (!this.isOver) this.#taker.inform(status, lines);
  }

  protected override writeHead(status: number, reason: string, lines: string, body: ReplyBody) {
    if (!this.isOver) this.#taker.begin(status, reason, lines, body);
  }

  /** Nobody asks for another protocol here. */
  protected override writeTunnelHead() {
    this.#taker.breakOff();
  }

  override write(piece: Buffer | string, lent?: Buffer): boolean {
    const bytes = this.isOver ? undefined : typeof piece === 'string' ? Buffer.from(piece, 'latin1') : Buffer.from(piece);
    if (lent) giveBack(lent);
    return bytes === undefined || bytes.length === 0 || this.#taker.take(bytes);
  }

  protected override writeEnd(trailers: string) {
    if (!this.isOver) this.#taker.end(trailers);
  }
}

/** What is read is still the client's, who has a connection; what is written goes to the taker. */
class InnerConnection implements VisitConnection {
  readonly #outer: Visit;
  readonly #taker: ReplyTaker;

  constructor(outer: Visit, taker: ReplyTaker) {
    this.#outer = outer;
    this.#taker = taker;
  }

  get socket() {
    return this.#outer.connection.socket;
  }

  get isTrusted() {
    return this.#outer.connection.isTrusted;
  }

  get security() {
    return this.#outer.connection.security;
  }

  identify() {
    const { address, scheme, requestId, forwardedFor } = this.#outer;
    return { address, scheme, requestId, forwardedFor };
  }

  belongTo() {}
  pause() {}
  resume() {}
  takeOver() {}
  onVisitOver() {}

  mindReading() {
    this.#outer.connection.mindReading();
  }

  onBodyRoom() {
    this.#outer.connection.onBodyRoom(this.#outer);
  }

  destroy() {
    this.#taker.breakOff();
  }
}
