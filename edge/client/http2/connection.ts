/**
 * A client's connection over HTTP/2: many requests side by side, each a stream. It reads frames, and says what the limits of the edge let it say; what frames mean
 * is in protocol.ts, and what becomes of a request in stream.ts.
 */
import type { TLSSocket } from 'node:tls';
import type { Acceptor, Occupant } from '../acceptor.ts';
import { ByteReading } from '../byte-reading.ts';
import { Http2Visit } from './visit.ts';
import { unsentBytesMax } from '../outgoing.ts';
import { Reader } from '../reading-turns.ts';
import { refusalStatus, type Refusal } from '../refusals.ts';
import { passableUpgrade, readHead } from '../request-head.ts';
import type { ConnectionSecurity } from '../visit.ts';
import { errorCodes, type ErrorCode } from './error-codes.ts';
import { FrameReader } from './frame-reader.ts';
import { settings, standardWindow, type Frame } from './frames.ts';
import { Http2Protocol, sharedWindowBytes, streamsMax, type ProtocolUser } from './protocol.ts';
import { readRequest } from './request.ts';
import { Http2Sending } from './sending.ts';
import { Http2Stream, streamWindowBytes, type StreamCarrier } from './stream.ts';

/** After the last words, so that they arrive. */
const lingerSeconds = 2;

export class Http2Connection implements StreamCarrier, Occupant, ProtocolUser {
  readonly scheme = 'https';
  readonly peer: string;
  readonly isTrusted: boolean;
  readonly socket: TLSSocket;
  readonly security: ConnectionSecurity;
  readonly acceptor: Acceptor;
  readonly sending: Http2Sending;
  readonly #protocol: Http2Protocol;
  readonly #frames = new FrameReader((frame) => this.#onFrame(frame));
  readonly #reading: ByteReading;
  readonly #reader: Reader;
  #requests = 0;
  #idleSince = performance.now();
  /** The last words are said: 0 until then. */
  #overSince = 0;

  constructor(acceptor: Acceptor, socket: TLSSocket, peer: string, security: ConnectionSecurity) {
    this.acceptor = acceptor;
    this.socket = socket;
    this.security = security;
    this.peer = peer;
    this.isTrusted = acceptor.proxies.has(this.peer);
    const { headerBytesMax, headerLinesMax } = acceptor.limits;
    this.sending = new Http2Sending(socket, () => this.#onSent());
    this.#protocol = new Http2Protocol(this, headerBytesMax, headerLinesMax);
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    socket.once('close', () => this.#onClose());
    this.#reading = new ByteReading(socket, (bytes) => this.#onBytes(bytes));
    this.#reader = new Reader(acceptor.readingTurns, this.#reading);
    this.#introduce(headerBytesMax);
  }

  #introduce(headerBytesMax: number) {
    this.sending.frames.settings([
      [settings.concurrentStreamsMax, streamsMax],
      [settings.headerListSizeMax, headerBytesMax],
      [settings.initialWindowSize, streamWindowBytes],
      [settings.enableConnectProtocol, 1],
      [settings.noPriorities, 1],
    ]);
    this.sending.giveWindow(0, sharedWindowBytes - standardWindow);
  }

  /** Whose share reading takes of. A proxy's connection carries requests for several environments, so it counts for none of them. */
  belongTo(owner: string) {
    if (!this.isTrusted) this.#reader.belongTo(owner);
  }

  giveWay() {
    this.#endWith(errorCodes.none);
  }

  tick(now: number) {
    const { streams, blockSince } = this.#protocol;
    for (const stream of streams.values()) stream.tick(now);
    if (streams.size > 0) this.#idleSince = now;
    const { headSeconds, keepAliveSeconds, bodyIdleSeconds } = this.acceptor.limits;
    const isLate = (since: number, seconds: number) => since !== 0 && now - since > seconds * 1000;
    if (isLate(this.#overSince, lingerSeconds) || isLate(this.sending.waitsSince, bodyIdleSeconds)) this.destroy();
    else if (isLate(blockSince, headSeconds) || isLate(this.#idleSince, this.#requests === 0 ? headSeconds : keepAliveSeconds))
      this.#endWith(errorCodes.none);
  }

  /** Tells the client to send no more requests here; those that it has sent are answered. */
  closeIfIdle() {
    if (!this.#protocol.isGoingAway) this.sending.goAway(this.#protocol.lastStream);
    this.#protocol.isGoingAway = true;
    this.#endIfDone();
  }

  onGoAway() {
    this.closeIfIdle();
  }

  destroy() {
    this.socket.destroy();
  }

  isOpen(stream: Http2Stream): boolean {
    return this.#protocol.streams.get(stream.id) === stream;
  }

  forget({ id }: Http2Stream, isOurs: boolean, heldBytes: number) {
    this.#protocol.forget(id, isOurs);
    this.onTaken(heldBytes);
    this.#idleSince = performance.now();
    if (this.#protocol.isGoingAway) this.#endIfDone();
  }

  onTaken(bytes: number) {
    if (this.#overSince === 0 && bytes > 0) this.#protocol.onTaken(bytes);
  }

  onRequest(id: number, list: string[], isTooLarge: boolean, isWhole: boolean): ErrorCode | undefined {
    if (this.#requests++ === 0) this.acceptor.onAsked(this);
    if (this.#requests === this.acceptor.limits.requestsPerConnectionMax) this.closeIfIdle();
    if (isTooLarge) return this.#refuse(id, 'too-large', isWhole);
    const request = readRequest(list, isWhole);
    if (request === 'malformed') return this.#protocol.refuse(id, errorCodes.protocol);
    const head = request === 'refused' ? undefined : readHead(request);
    if (request === 'refused' || !head) return this.#refuse(id, 'malformed', isWhole);
    const stream = new Http2Stream(this, id, request);
    this.#protocol.streams.set(id, stream);
    stream.start(new Http2Visit(stream, stream.writing, request, head, request.wantsUpgrade ? passableUpgrade(head) : undefined));
    return undefined;
  }

  /** What follows of a refused request is not read. */
  #refuse(id: number, refusal: Refusal, isWhole: boolean): undefined {
    this.#protocol.noteUnopened(id);
    const { frames, encoder } = this.sending;
    frames.headers(id, true, (out) => encoder.encode(out, refusalStatus(refusal), ''));
    if (!isWhole) this.sending.reset(id, errorCodes.none);
    this.sending.becomeDue();
  }

  #onBytes(bytes: Buffer) {
    this.#reader.onRead();
    if (this.#overSince !== 0) return;
    const unreadable = this.#frames.read(bytes);
    if (unreadable) this.#endWith(unreadable === 'too-large' ? errorCodes.frameSize : errorCodes.protocol);
    // A client that does not read its replies is not read from.
    if (this.sending.unsentBytes >= unsentBytesMax) this.#reading.pause();
  }

  #onFrame(frame: Frame): boolean {
    const problem = this.#protocol.onFrame(frame);
    if (problem !== undefined) this.#endWith(problem);
    return this.#overSince === 0;
  }

  #onSent() {
    if (this.sending.unsentBytes < unsentBytesMax) this.#reading.resume();
  }

  #endIfDone() {
    if (this.#protocol.streams.size === 0) this.#endWith(undefined);
  }

  /** Says why, unless that was said, and for a moment throws away what still comes. */
  #endWith(code: ErrorCode | undefined) {
    if (this.#overSince !== 0) return;
    this.#overSince = performance.now();
    if (code !== undefined) this.sending.goAway(this.#protocol.lastStream, code);
    this.#closeStreams();
    this.sending.end();
  }

  #closeStreams() {
    for (const stream of this.#protocol.streams.values()) stream.close(false);
  }

  #onClose() {
    this.#overSince ||= performance.now();
    this.#closeStreams();
    this.#reader.close();
    this.acceptor.onClosed(this);
  }
}
