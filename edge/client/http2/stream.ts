/** One stream of HTTP/2, which is to its visit what a connection is over HTTP/1.1. The limits of the edge hold for each as they do for a connection there. */
import type { TLSSocket } from 'node:tls';
import type { Acceptor } from '../acceptor.ts';
import type { ClientIdentity, Peer } from '../client-identity.ts';
import type { RequestRecord } from '../../logs/request-record.ts';
import type { ConnectionSecurity, Visit, VisitConnection } from '../visit.ts';
import { errorCodes, type ErrorCode } from './error-codes.ts';
import type { Http2Request } from './request.ts';
import type { Http2Sending } from './sending.ts';
import { StreamWriting } from './stream-writing.ts';

/** What a client may send of a body before somebody has taken any of it. */
export const streamWindowBytes = 256 * 1024;

/** The connection, as its streams know it. */
export interface StreamCarrier extends Peer {
  readonly socket: TLSSocket;
  readonly security: ConnectionSecurity;
  readonly acceptor: Acceptor;
  readonly sending: Http2Sending;
  belongTo(owner: string): void;
  isOpen(stream: Http2Stream): boolean;
  /** `isOurs`: the client may not know yet that the stream is over. `heldBytes` of its body have come and were not taken. */
  forget(stream: Http2Stream, isOurs: boolean, heldBytes: number): void;
  /** Somebody has taken so much of a body. */
  onTaken(bytes: number): void;
}

export class Http2Stream implements VisitConnection {
  readonly id: number;
  readonly writing: StreamWriting;
  readonly #connection: StreamCarrier;
  #visit: Visit | undefined;
  #deadline = 0;
  #raw: ((chunk: Buffer) => void) | undefined;
  #isPaused = false;
  /** Of the body, where its length was told. */
  #bytesLeft: number | undefined;
  #window = streamWindowBytes;
  /** What has come and is not taken yet. */
  #heldBytes = 0;
  /** By how much the window is to be opened again. */
  #takenBytes = 0;
  isRequestWhole: boolean;

  constructor(connection: StreamCarrier, id: number, { hasBody, length, wantsUpgrade }: Http2Request) {
    this.#connection = connection;
    this.id = id;
    this.isRequestWhole = !hasBody && !wantsUpgrade;
    this.#bytesLeft = length;
    this.writing = new StreamWriting(id, connection.sending, {
      onRoom: () => this.#visit?.attendant?.onClientRoom?.(),
      onWritten: () => this.#onWritten(),
    });
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
    if (this.isRequestWhole || visit.upgrade !== undefined) visit.body.end([]);
    else this.#expectBody();
    this.#connection.acceptor.serve(visit);
  }

  identify(headers: readonly string[]): ClientIdentity {
    return this.#connection.acceptor.proxies.identify(this.#connection, headers);
  }

  belongTo(owner: string) {
    this.#connection.belongTo(owner);
  }

  pause() {
    this.#isPaused = true;
  }

  resume() {
    this.#isPaused = false;
    this.#giveWindow();
  }

  /** A client is not kept from sending by not reading what it sends, which others would wait for, but by not opening its window again. */
  mindReading() {
    const body = this.#visit?.body;
    if (!body || this.#raw) return;
    this.#isPaused = body.wantsPause;
    if (this.#isPaused) this.#deadline = 0;
    else {
      if (this.#deadline === 0) this.#expectBody();
      this.#giveWindow();
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
    this.#raw = undefined;
    this.resume();
  }

  destroy() {
    this.reset(errorCodes.internal);
  }

  reset(code: ErrorCode) {
    if (!this.#connection.isOpen(this)) return;
    this.#connection.sending.reset(this.id, code);
    this.close(true);
  }

  /** `isOurs`: the client may not know yet that the stream is over. */
  close(isOurs: boolean) {
    this.#deadline = 0;
    this.writing.close();
    this.#connection.forget(this, isOurs, this.#heldBytes);
    this.#heldBytes = 0;
    if (this.#visit && !this.#visit.isOver) this.#visit.abandon();
  }

  tick(now: number) {
    this.#visit?.attendant?.onTick?.(now);
    const { bodyIdleSeconds } = this.#connection.acceptor.limits;
    const isStuck = this.#visit?.isOver && this.writing.isWaiting && now - this.writing.movedAt > bodyIdleSeconds * 1000;
    if (isStuck || (this.#deadline !== 0 && now >= this.#deadline)) this.reset(errorCodes.cancel);
  }

  /** `bytes` is what the frame takes of the window: its padding counts too. Answers what is wrong with it. */
  onData(content: Buffer, bytes: number, isEnd: boolean): ErrorCode | undefined {
    const visit = this.#visit;
    this.#heldBytes += bytes;
    this.#window -= bytes;
    if (!visit || this.#window < 0) return errorCodes.flowControl;
    if (this.#bytesLeft !== undefined) {
      // An application would take what is beyond the length for the next request.
      this.#bytesLeft -= content.length;
      if (this.#bytesLeft < 0) return errorCodes.protocol;
    }
    if (content.length > 0 && !visit.isOver) this.#take(visit, content);
    if (isEnd) return this.onEnd([]);
    this.#giveWindow();
    return undefined;
  }

  #take(visit: Visit, content: Buffer) {
    // What came lies in a buffer that others read into, too.
    const chunk = Buffer.from(content);
    if (this.#raw) return this.#raw(chunk);
    this.#expectBody();
    visit.body.push(chunk);
    this.mindReading();
  }

  onEnd(trailers: readonly string[]): ErrorCode | undefined {
    const visit = this.#visit;
    this.isRequestWhole = true;
    this.#deadline = 0;
    if (this.#bytesLeft !== undefined && this.#bytesLeft > 0) return errorCodes.protocol;
    if (!visit || visit.isOver) return undefined;
    if (visit.upgrade !== undefined) {
      visit.abandon();
      this.writing.end('');
    } else if (!visit.body.isWhole) visit.body.end(trailers);
    return undefined;
  }

  #expectBody() {
    if (this.#visit && !this.isRequestWhole) this.#deadline = performance.now() + this.#connection.acceptor.limits.bodyIdleSeconds * 1000;
  }

  #giveWindow() {
    if (this.#isPaused || this.#heldBytes === 0) return;
    this.#connection.onTaken(this.#heldBytes);
    this.#takenBytes += this.#heldBytes;
    this.#heldBytes = 0;
    if (this.isRequestWhole || this.#takenBytes < streamWindowBytes / 4 || !this.#connection.isOpen(this)) return;
    this.#connection.sending.giveWindow(this.id, this.#takenBytes);
    this.#window += this.#takenBytes;
    this.#takenBytes = 0;
  }

  /** Where the reply is complete before the whole request has come, the rest of the request is not wanted. */
  #onWritten() {
    if (!this.#connection.isOpen(this)) return;
    if (!this.isRequestWhole) this.#connection.sending.reset(this.id, errorCodes.none);
    this.#connection.forget(this, !this.isRequestWhole, this.#heldBytes);
    this.#heldBytes = 0;
  }
}
