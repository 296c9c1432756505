/**
 * One request and its reply, from the head that arrived to the record of how it went. It knows how to be answered on its connection, in turn,
 * with the framing that the client understands; what it is answered is decided elsewhere.
 */
import { STATUS_CODES } from 'node:http';
import type { ClientIdentity } from './client-identity.ts';
import type { Socket } from 'node:net';
import type { Exchange } from '../exchange.ts';
import type { Outgoing } from './outgoing.ts';
import { RequestBody } from './request-body.ts';
import { headersByName, type ReadHead } from './request-head.ts';
import type { RequestHead } from './request-parser.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { EdgeEnvironment, Route } from '../routing/table.ts';

/** - none: 204, 304, HEAD. - length: as many bytes as told. - stream: until it ends. */
export type ReplyBody = { kind: 'none'; length?: number | undefined } | { kind: 'length'; length: number } | { kind: 'stream' };

/** Whoever works on a visit hears when it is over before its time, when its client reads again, and that time passes. */
export interface Attendant {
  onAbort(): void;
  onClientRoom?(): void;
  /** Milliseconds of `performance.now()`. */
  onTick?(now: number): void;
}

/** What a visit, and whoever works on it, may do with the connection that it came on. */
export interface VisitConnection {
  readonly socket: Socket;
  readonly out: Outgoing;
  readonly isTrusted: boolean;
  /** Whether another request may follow this one. */
  readonly staysOpen: boolean;
  identify(headers: readonly string[]): ClientIdentity;
  /** Whose share reading from it takes of: an environment, or the client's address. */
  belongTo(owner: string): void;
  pause(): void;
  resume(): void;
  /** Reads on, or not, as there is room for what comes. */
  mindReading(): void;
  /** Whoever takes the body has room again. */
  onBodyRoom(visit: Visit): void;
  /** After 101: bytes of the client from here on, the ones that came early first. */
  takeOver(onBytes: (chunk: Buffer) => void): void;
  onVisitOver(visit: Visit, record: RequestRecord): void;
  destroy(): void;
}

const clientLeft = 499;

export class Visit implements Exchange {
  readonly connection: VisitConnection;
  readonly method: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
  readonly address: string;
  readonly requestId: string;
  /** The client and the proxies before it, as the application is told. */
  readonly forwardedFor: string;
  readonly head: ReadHead;
  readonly body: RequestBody;
  readonly minor: number;
  readonly rawHeaders: readonly string[];
  /** The protocol to change to, where the client asks for one that the edge lets pass. */
  readonly upgrade: string | undefined;
  readonly startedAt = performance.now();
  keepAlive: boolean;

  /** The cluster that the visit is counted for, once it is. */
  countedFor: string | undefined;
  /** The cluster that has to answer the visit, once that is known: it does not go to sleep meanwhile. */
  notedFor: string | undefined;
  environment: EdgeEnvironment | undefined;
  route: Route | undefined;
  attendant: Attendant | undefined;
  instance: string | null = null;
  cache: RequestRecord['cache'] = null;
  heldMs = 0;
  connectMs: number | null = null;
  firstByteMs: number | null = null;
  note: string | null = null;
  /** 0 until the head of the reply is written. */
  status = 0;
  isStarted = false;
  isOver = false;
  #bytesBefore: number;
  #isChunkedReply = false;
  #headers: Record<string, string | undefined> | undefined;

  constructor(connection: VisitConnection, request: RequestHead, head: ReadHead, upgrade: string | undefined) {
    const { address, scheme, requestId, forwardedFor } = connection.identify(request.headers);
    this.connection = connection;
    this.method = request.method;
    this.scheme = scheme;
    this.host = head.host;
    this.authority = head.authority;
    this.path = head.path;
    this.query = head.query;
    this.address = address;
    this.requestId = requestId;
    this.forwardedFor = forwardedFor;
    this.head = head;
    this.minor = request.minor;
    this.rawHeaders = request.headers;
    this.keepAlive = request.keepAlive;
    this.upgrade = upgrade;
    this.body = new RequestBody(head.contentLength, head.isChunked);
    this.#bytesBefore = connection.out.bytes;
  }

  get headers(): Readonly<Record<string, string | undefined>> {
    return (this.#headers ??= headersByName(this.rawHeaders));
  }

  /** Sends an interim reply, such as 103. */
  inform(status: number, lines: string) {
    if (this.minor === 1 && this.status === 0)
      this.connection.out.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`);
  }

  /** `lines` are whole headers, each with its end, without those that frame the body. */
  begin(status: number, reason: string, lines: string, body: ReplyBody): void {
    this.status = status;
    // The rest of a body that nobody reads would be taken for the next request; and the parser reads no request after one that asked for another protocol.
    if (!this.body.isWhole || !this.connection.staysOpen || this.upgrade !== undefined) this.keepAlive = false;
    const framing = this.#frame(body);
    const connection = this.keepAlive ? (this.minor === 1 ? '' : 'Connection: keep-alive\r\n') : 'Connection: close\r\n';
    this.connection.out.write(`HTTP/1.1 ${status} ${reason}\r\n${lines}${framing}${connection}\r\n`);
  }

  /** From here on both sides send what they want. */
  beginTunnel(lines: string) {
    this.status = 101;
    this.connection.out.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`);
  }

  #frame(body: ReplyBody): string {
    if (body.kind === 'length') return `Content-Length: ${body.length}\r\n`;
    if (body.kind === 'none') return body.length === undefined ? '' : `Content-Length: ${body.length}\r\n`;
    if (this.minor === 1) {
      this.#isChunkedReply = true;
      return 'Transfer-Encoding: chunked\r\n';
    }
    this.keepAlive = false;
    return '';
  }

  /** A string is Latin-1. False: wait for `onClientRoom`. `lent` is given back when the piece that is part of it has been sent. */
  write(piece: Buffer | string, lent?: Buffer): boolean {
    const { out } = this.connection;
    if (this.#isChunkedReply) out.write(`${piece.length.toString(16)}\r\n`);
    const hasRoom = lent && typeof piece !== 'string' ? out.writeLent(piece, lent) : out.write(piece);
    return this.#isChunkedReply ? out.write('\r\n') : hasRoom;
  }

  end(trailers = '') {
    if (this.#isChunkedReply) this.connection.out.write(`0\r\n${trailers}\r\n`);
    this.#close(false);
  }

  /** The reply cannot be finished; the client must see that it is not whole. */
  breakOff(note: string) {
    this.note = note;
    this.keepAlive = false;
    this.#close(true);
    this.connection.destroy();
  }

  /** The client left. */
  abandon() {
    if (this.isOver) return;
    const { attendant } = this;
    this.status ||= clientLeft;
    // Where the protocol was changed, the end of one side is no abort: one always leaves first.
    this.#close(this.status !== 101);
    attendant?.onAbort();
  }

  #close(isAborted: boolean) {
    if (this.isOver) return;
    this.isOver = true;
    this.attendant = undefined;
    this.connection.onVisitOver(this, this.#record(isAborted));
  }

  #record(isAborted: boolean): RequestRecord {
    const total = performance.now() - this.startedAt;
    return {
      at: Math.round(performance.timeOrigin + this.startedAt),
      request_id: this.requestId,
      cluster: this.environment?.cluster ?? null,
      route: this.route?.original_url ?? null,
      instance: this.instance,
      method: this.method,
      scheme: this.scheme,
      host: this.host,
      path: this.path,
      query: this.query,
      status: this.status,
      bytes_in: this.body.bytes,
      bytes_out: this.connection.out.bytes - this.#bytesBefore,
      held_ms: this.heldMs,
      connect_ms: this.connectMs,
      first_byte_ms: this.firstByteMs,
      total_ms: total,
      address: this.address,
      user_agent: this.head.userAgent,
      referer: this.head.referer,
      cache: this.cache,
      aborted: isAborted,
      note: this.note,
    };
  }
}
