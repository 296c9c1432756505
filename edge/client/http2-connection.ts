/**
 * A client's connection over HTTP/2, which Node speaks: many requests side by side, each a stream. Every stream is to its visit what a connection is over
 * HTTP/1.1. The limits of the edge hold for each stream as they do for a connection there, and Node's own for what strangers may do with the protocol.
 */
import { randomBytes } from 'node:crypto';
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Acceptor, Occupant } from './acceptor.ts';
import type { ClientIdentity, Peer } from './client-identity.ts';
import { Http2Visit } from './http2-visit.ts';
import { passableUpgrade, readHead } from './request-head.ts';
import { refusalStatus, type Refusal } from './refusals.ts';
import type { RequestHead } from './request-parser.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { ConnectionSecurity, Visit, VisitConnection } from './visit.ts';

const streamsMax = 100;
const windowBytes = 256 * 1024;
const memoryMegabytesMax = 10;
const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR } = constants;

export class Http2Connection implements Peer, Occupant {
  readonly scheme = 'https';
  readonly peer: string;
  readonly isTrusted: boolean;
  readonly socket: TLSSocket;
  readonly security: ConnectionSecurity;
  readonly acceptor: Acceptor;
  readonly #session: ServerHttp2Session;
  readonly #streams = new Set<StreamConnection>();
  #requests = 0;
  #idleSince = performance.now();

  constructor(acceptor: Acceptor, socket: TLSSocket, security: ConnectionSecurity) {
    this.acceptor = acceptor;
    this.socket = socket;
    this.security = security;
    this.peer = socket.remoteAddress ?? '';
    this.isTrusted = acceptor.proxies.has(this.peer);
    const { headerBytesMax, headerLinesMax } = acceptor.limits;
    this.#session = performServerHandshake(socket, {
      maxSessionMemory: memoryMegabytesMax,
      maxHeaderListPairs: headerLinesMax,
      settings: {
        maxConcurrentStreams: streamsMax,
        maxHeaderListSize: headerBytesMax,
        initialWindowSize: windowBytes,
        enableConnectProtocol: true,
      },
    });
    this.#session.on('stream', (stream, _headers, flags, raw) => this.#onStream(stream, flags, raw));
    this.#session.on('error', () => this.#session.destroy());
    this.#session.on('frameError', () => this.#session.destroy());
    this.#session.once('close', () => acceptor.onClosed(this));
    socket.on('error', () => socket.destroy());
  }

  giveWay() {
    this.#session.destroy(undefined, NGHTTP2_NO_ERROR);
  }

  tick(now: number) {
    for (const stream of this.#streams) stream.tick(now);
    if (this.#streams.size > 0) this.#idleSince = now;
    const { headSeconds, keepAliveSeconds } = this.acceptor.limits;
    if (now - this.#idleSince > (this.#requests === 0 ? headSeconds : keepAliveSeconds) * 1000) this.#session.destroy();
  }

  /** Tells the client to send no more requests here; those that it has sent are answered. */
  closeIfIdle() {
    if (!this.#session.closed) this.#session.close();
  }

  destroy() {
    this.#session.destroy();
  }

  #onStream(stream: ServerHttp2Stream, flags: number, raw: readonly string[]) {
    if (this.#requests++ === 0) this.acceptor.onAsked(this);
    if (this.#requests === this.acceptor.limits.requestsPerConnectionMax) this.#session.close();
    // A stream that is reset ends with an error, but its close tells enough.
    stream.on('error', () => {});
    const request = requestOf(raw, (flags & NGHTTP2_FLAG_END_STREAM) !== 0);
    const head = request && readHead(request);
    if (!request || !head) return refuse(stream, 'malformed');
    const connection = new StreamConnection(this, stream, request);
    this.#streams.add(connection);
    stream.once('close', () => this.#streams.delete(connection));
    connection.start(new Http2Visit(connection, stream, request, head, request.wantsUpgrade ? passableUpgrade(head) : undefined));
  }
}

function refuse(stream: ServerHttp2Stream, refusal: Refusal) {
  if (stream.closed) return;
  stream.respond([':status', String(refusalStatus(refusal))], { endStream: true });
}

/** One stream, as its visit sees a connection. */
class StreamConnection implements VisitConnection {
  readonly #connection: Http2Connection;
  readonly #stream: ServerHttp2Stream;
  readonly #hasBody: boolean;
  #visit: Visit | undefined;
  #deadline = 0;
  #raw: ((chunk: Buffer) => void) | undefined;

  constructor(connection: Http2Connection, stream: ServerHttp2Stream, { hasBody }: Http2Request) {
    this.#connection = connection;
    this.#stream = stream;
    this.#hasBody = hasBody;
  }

  get socket() {
    return this.#connection.socket;
  }

  get isTrusted() {
    return this.#connection.isTrusted;
  }

  get security() {
    return this.#connection.security;
  }

  start(visit: Visit) {
    this.#visit = visit;
    visit.isStarted = true;
    const stream = this.#stream;
    let trailers: string[] = [];
    stream.on('trailers', (_headers, _flags, raw) => (trailers = [...raw]));
    stream.on('data', (chunk: Buffer) => this.#onData(visit, chunk));
    stream.on('end', () => this.#onEnd(visit, trailers));
    stream.on('drain', () => visit.attendant?.onClientRoom?.());
    stream.on('close', () => this.#onClose(visit));
    if (!this.#hasBody || visit.upgrade !== undefined) visit.body.end([]);
    else this.#expectBody();
    this.#connection.acceptor.serve(visit);
  }

  identify(headers: readonly string[]): ClientIdentity {
    return this.#connection.acceptor.proxies.identify(this.#connection, headers);
  }

  /** Node reads for all streams of a connection together; requests take their turns all the same. */
  belongTo() {}

  pause() {
    this.#stream.pause();
  }

  resume() {
    this.#stream.resume();
  }

  mindReading() {
    const body = this.#visit?.body;
    if (!body || this.#raw) return;
    if (body.wantsPause) {
      this.#deadline = 0;
      this.pause();
    } else if (this.#stream.isPaused()) {
      this.#expectBody();
      this.resume();
    }
  }

  onBodyRoom(visit: Visit) {
    visit.body.isBlocked = false;
    this.mindReading();
  }

  takeOver(onBytes: (chunk: Buffer) => void) {
    this.#raw = onBytes;
    this.#deadline = 0;
    this.resume();
  }

  onVisitOver(visit: Visit, record: RequestRecord) {
    this.#connection.acceptor.onVisitOver(visit, record);
    this.#deadline = 0;
    if (visit.body.isWhole || this.#stream.destroyed) return;
    // The reply is complete before the whole request has come: the rest of the request is not wanted.
    this.#stream.once('finish', () => this.#stream.close(NGHTTP2_NO_ERROR));
  }

  destroy() {
    if (!this.#stream.destroyed) this.#stream.close(NGHTTP2_INTERNAL_ERROR);
  }

  tick(now: number) {
    this.#visit?.attendant?.onTick?.(now);
    if (this.#deadline === 0 || now < this.#deadline) return;
    this.#deadline = 0;
    this.#stream.close(NGHTTP2_CANCEL);
  }

  #expectBody() {
    if (this.#visit && !this.#visit.body.isWhole)
      this.#deadline = performance.now() + this.#connection.acceptor.limits.bodyIdleSeconds * 1000;
  }

  #onData(visit: Visit, chunk: Buffer) {
    if (this.#raw) return this.#raw(chunk);
    if (visit.isOver) return;
    this.#expectBody();
    visit.body.push(chunk);
    this.mindReading();
  }

  #onEnd(visit: Visit, trailers: readonly string[]) {
    this.#deadline = 0;
    if (this.#raw) return void (visit.isOver || visit.abandon());
    if (!visit.body.isWhole && !visit.isOver) visit.body.end(trailers);
  }

  #onClose(visit: Visit) {
    this.#raw = undefined;
    if (!visit.isOver) visit.abandon();
  }
}

interface Http2Request extends RequestHead {
  hasBody: boolean;
}

/** The request as HTTP/1.1 would have it, which is what the rest of the edge understands. Undefined for a CONNECT that is not for a WebSocket. */
function requestOf(raw: readonly string[], isWhole: boolean): Http2Request | undefined {
  const pseudo: Record<string, string | undefined> = {};
  const headers: string[] = [];
  const cookies: string[] = [];
  let [hasLength, hasHost] = [false, false];
  if (!raw.every((word) => isOneLine.test(word))) return undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    if (name.startsWith(':')) pseudo[name] = value;
    else if (name === 'cookie') cookies.push(value);
    else {
      hasLength ||= name === 'content-length';
      hasHost ||= name === 'host';
      headers.push(name, value);
    }
  }
  if (cookies.length > 0) headers.push('cookie', cookies.join('; '));
  const authority = pseudo[':authority'];
  if (authority !== undefined && !hasHost) headers.push('host', authority);
  const target = pseudo[':path'] ?? '';
  if (!isWord.test(target + (pseudo[':method'] ?? ''))) return undefined;
  const tunnel = pseudo[':method'] === 'CONNECT' ? pseudo[':protocol'] : undefined;
  if (pseudo[':method'] === 'CONNECT' && tunnel !== 'websocket') return undefined;
  const hasBody = !isWhole && tunnel === undefined;
  if (hasBody && !hasLength) headers.push('transfer-encoding', 'chunked');
  if (tunnel !== undefined) headers.push('upgrade', tunnel, 'sec-websocket-key', randomBytes(16).toString('base64'));
  const method = tunnel === undefined ? (pseudo[':method'] ?? '') : 'GET';
  return { method, target, major: 1, minor: 1, headers, wantsUpgrade: tunnel !== undefined, keepAlive: true, hasBody };
}

/** HTTP/2 frames what it says, and HTTP/1.1 does not: what could end a line there, or a word of its first line, is refused here too, whatever Node has let through. */
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const isOneLine = /^[^\0\r\n]*$/;
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const isWord = /^[^\0-\x20\x7f]*$/;
