/**
 * One request and its reply, from the head that arrived to the record of how it went. What it is answered is decided elsewhere; how the answer is written
 * depends on what the client speaks (http1-visit.ts, http2/visit.ts).
 */
import type { ClientIdentity } from './client-identity.ts';
import type { Socket } from 'node:net';
import type { Exchange } from '../exchange.ts';
import { RequestBody } from './request-body.ts';
import { headersByName, type ReadHead } from './request-head.ts';
import type { RequestHead } from './request-parser.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { ClientCertificate } from '../tls/handshakes.ts';
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

/** What is known of a client that came over TLS. */
export interface ConnectionSecurity {
  /** The host that it asked for in the handshake; lower case. Undefined: it named none. */
  serverName: string | undefined;
  /** Undefined: the host asks for none. */
  certificate: ClientCertificate | undefined;
}

/** What a visit, and whoever works on it, may do with what it came on: a connection, or the part of one that is its own. */
export interface VisitConnection {
  readonly socket: Socket;
  readonly isTrusted: boolean;
  /** Undefined: it is not encrypted, or was decrypted by somebody else. */
  readonly security: ConnectionSecurity | undefined;
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

export abstract class Visit implements Exchange {
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
  #headers: Record<string, string | undefined> | undefined;

  constructor(
    connection: VisitConnection,
    request: RequestHead,
    head: ReadHead,
    upgrade: string | undefined,
    body = new RequestBody(head.contentLength, head.isChunked),
  ) {
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
    this.body = body;
  }

  get headers(): Readonly<Record<string, string | undefined>> {
    return (this.#headers ??= headersByName(this.rawHeaders));
  }

  /** Sends an interim reply, such as 103. */
  abstract inform(status: number, lines: string): void;

  /** `lines` are whole headers, each with its end, without those that frame the body. */
  begin(status: number, reason: string, lines: string, body: ReplyBody): void {
    this.status = status;
    this.writeHead(status, reason, lines, body);
  }

  /** From here on both sides say what they want. */
  beginTunnel(lines: string) {
    this.status = 101;
    this.writeTunnelHead(lines);
  }

  /** A string is Latin-1. False: wait for `onClientRoom`. `lent` is given back when the piece that is part of it has been sent. */
  abstract write(piece: Buffer | string, lent?: Buffer): boolean;

  /** `trailers` are whole lines. */
  end(trailers = '') {
    this.writeEnd(trailers);
    this.#close(false);
  }

  protected abstract writeHead(status: number, reason: string, lines: string, body: ReplyBody): void;
  protected abstract writeTunnelHead(lines: string): void;
  protected abstract writeEnd(trailers: string): void;
  /** Of the reply, so far. */
  protected abstract get bytesOut(): number;

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
      bytes_out: this.bytesOut,
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
