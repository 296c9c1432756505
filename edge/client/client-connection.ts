/**
 * A client's connection: bytes in, requests out, one at a time and in order. It reads no further than what is being worked on has room for, and it
 * ends when the client is silent for too long, says what is not HTTP, or asked for it.
 */
import type { Socket } from 'node:net';
import type { ClientReading } from './client-reading.ts';
import { crowdedReply, endWith } from './connection-places.ts';
import type { Clients } from './listener.ts';
import { Outgoing } from './outgoing.ts';
import { Reader } from './reading-turns.ts';
import { refusalReply, refusalStatus, type Refusal } from './refusals.ts';
import { passableUpgrade, readHead } from './request-head.ts';
import { RequestParser, type RequestHead } from './request-parser.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import { Visit } from './visit.ts';

/** Requests that were sent ahead; past this the socket is not read until some are answered. */
const sentAheadMax = 16;
/** After the last reply to a client that still sends: a close that comes at once would take the reply away from it. */
const lingerSeconds = 2;

export class ClientConnection {
  readonly socket: Socket;
  readonly out: Outgoing;
  readonly peer: string;
  readonly scheme: 'http' | 'https';
  /** The peer is a proxy of ours; what it says about the client is believed. */
  readonly isTrusted: boolean;
  readonly #clients: Clients;
  readonly #parser: RequestParser;
  readonly #reading: ClientReading;
  readonly #reader: Reader;
  /** The first is being answered. */
  #visits: Visit[] = [];
  /** Its body is being read. */
  #incoming: Visit | undefined;
  #isInHead = false;
  /** What was read last was of a request that is known. */
  #hasAdvanced = false;
  #isStarting = false;
  #refusal: Refusal | undefined;
  #deadline: number;
  #requests = 0;
  /** Where bytes go that are no HTTP any more. */
  #raw: ((chunk: Buffer) => void) | undefined;
  #isLingering = false;
  /** What came after the head of a request that asked for another protocol. */
  readonly #early: Buffer[] = [];

  constructor(clients: Clients, socket: Socket, scheme: 'http' | 'https') {
    this.#clients = clients;
    this.socket = socket;
    this.scheme = scheme;
    this.peer = socket.remoteAddress ?? '';
    this.isTrusted = clients.isTrusted(this.peer);
    this.out = new Outgoing(socket, () => this.#visits[0]?.attendant?.onClientRoom?.());
    this.#parser = new RequestParser(
      {
        onHead: (head) => this.#onHead(head),
        onBody: (chunk) => this.#onBody(chunk),
        onEnd: (trailers) => this.#onEnd(trailers),
        onRead: (rest) => this.#onRead(rest),
        onRefused: (refusal) => this.#refuse(refusal),
      },
      clients.limits.headerBytesMax,
      clients.limits.headerLinesMax,
    );
    this.#deadline = performance.now() + clients.limits.headSeconds * 1000;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onClientEnd());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#onClose());
    this.#reading = this.#parser.readFrom(socket);
    this.#reader = new Reader(clients.readingTurns, this.#reading);
  }

  /** What came early was for a protocol that is not spoken after all, and can be read as nothing else. */
  get staysOpen() {
    return this.#early.length === 0 && !this.#clients.isClosing && this.#requests < this.#clients.limits.requestsPerConnectionMax;
  }

  get isIdle() {
    return this.#visits.length === 0 && !this.#isInHead;
  }

  /** Whose share reading from it takes of: an environment, or the client's address. */
  belongTo(owner: string) {
    this.#reader.belongTo(owner);
  }

  identify(headers: readonly string[]) {
    return this.#clients.identify(this, headers);
  }

  /** After 101: bytes of the client from here on, the ones that came early first. */
  takeOver(onBytes: (chunk: Buffer) => void) {
    this.#raw = onBytes;
    this.resume();
    for (const chunk of this.#early.splice(0)) onBytes(chunk);
  }

  pause() {
    this.#reading.pause();
  }

  resume() {
    this.#reading.resume();
  }

  /** Whoever takes the body has room again. */
  onBodyRoom(visit: Visit) {
    visit.body.isBlocked = false;
    this.mindReading();
  }

  onVisitOver(visit: Visit, record: RequestRecord) {
    if (this.#visits[0] === visit) this.#visits.shift();
    this.#clients.onVisitOver(visit, record);
    if (this.socket.destroyed) return;
    if (!visit.keepAlive) return this.#endOfService();
    if (this.#visits.length === 0 && !this.#isInHead) this.#deadline = performance.now() + this.#clients.limits.keepAliveSeconds * 1000;
    this.mindReading();
    this.#startNext();
  }

  tick(now: number) {
    this.#visits[0]?.attendant?.onTick?.(now);
    if (this.#deadline === 0 || now < this.#deadline) return;
    // A reply that is written here may have a long way to go yet; the client has time as long as it takes some of it.
    this.#deadline = this.out.hasMoved() ? now + this.#clients.limits.bodyIdleSeconds * 1000 : 0;
    if (this.#deadline > 0) return;
    if (this.#isLingering || this.isIdle) this.socket.destroy();
    else this.#refuse('too-slow');
  }

  /** Nothing is asked, so nothing is lost. */
  closeIfIdle() {
    if (this.isIdle && !this.#raw) this.#endOfService();
  }

  /** It never asked for anything, and its address has others that came. */
  giveWay() {
    this.#isLingering = true;
    this.#deadline = 0;
    this.#reading.leaveToStream();
    endWith(this.socket, crowdedReply('address'));
  }

  destroy() {
    this.socket.destroy();
  }

  #onData(chunk: Buffer) {
    this.#reader.onRead();
    if (this.#raw) return this.#raw(chunk);
    if (this.#refusal || this.#isLingering) return;
    if (this.#visits[0]?.upgrade !== undefined) return this.#keepEarly(chunk);
    this.#parse(chunk);
  }

  #parse(chunk: Buffer) {
    for (let rest = chunk; rest.length > 0;) {
      const taken = this.#parser.execute(rest);
      if (typeof taken === 'string') return this.#refuse(taken);
      if (this.#refusal) return this.#refuse(this.#refusal);
      // It would take nothing the next time, either.
      if (taken === 0) return this.#refuse('malformed');
      rest = rest.subarray(taken);
      if (rest.length > 0 && this.#visits[0]?.upgrade !== undefined) {
        this.#keepEarly(rest);
        break;
      }
    }
    this.#onParsed();
  }

  /** The parser has read by itself. */
  #onRead(rest: Buffer) {
    this.#reader.onRead();
    if (this.#refusal) return this.#refuse(this.#refusal);
    const isChanging = this.#visits[0]?.upgrade !== undefined;
    if (isChanging) this.#reading.leaveToStream();
    if (rest.length > 0 && !isChanging) return this.#parse(rest);
    if (rest.length > 0) this.#keepEarly(rest);
    this.#onParsed();
  }

  #onParsed() {
    if (!this.#hasAdvanced && !this.#incoming && !this.#isInHead) this.#startHead();
    this.#hasAdvanced = false;
    this.mindReading();
    this.#startNext();
  }

  /** The other side has not agreed yet; nothing should come before it does. */
  #keepEarly(chunk: Buffer) {
    this.#early.push(chunk);
    this.pause();
  }

  #startHead() {
    this.#isInHead = true;
    this.#deadline = performance.now() + this.#clients.limits.headSeconds * 1000;
  }

  #onHead(request: RequestHead): boolean {
    this.#isInHead = false;
    this.#hasAdvanced = true;
    this.#deadline = 0;
    const head = this.#refusal ? undefined : readHead(request);
    if (!head) {
      this.#refusal ??= 'malformed';
      return true;
    }
    if (this.#requests++ === 0) this.#clients.onAsked(this);
    const isSole = this.#visits.length === 0;
    const upgrade = request.wantsUpgrade && isSole && request.method === 'GET' ? passableUpgrade(head) : undefined;
    const visit = new Visit(this, request, head, upgrade);
    this.#visits.push(visit);
    this.#incoming = visit;
    if (upgrade !== undefined) this.#onEnd([]);
    return upgrade !== undefined;
  }

  #onBody(chunk: Buffer) {
    if (!this.#incoming) return;
    this.#deadline = performance.now() + this.#clients.limits.bodyIdleSeconds * 1000;
    this.#incoming.body.push(chunk);
  }

  #onEnd(trailers: string[]) {
    const visit = this.#incoming;
    if (!visit) return;
    this.#incoming = undefined;
    this.#hasAdvanced = true;
    this.#deadline = 0;
    visit.body.end(trailers);
  }

  /** In a loop, as a reply may be whole at once and hundreds may have been sent ahead. */
  #startNext() {
    if (this.#isStarting) return;
    this.#isStarting = true;
    for (let visit = this.#visits[0]; visit && !visit.isStarted; visit = this.#visits[0]) {
      visit.isStarted = true;
      this.#clients.serve(visit);
    }
    this.#isStarting = false;
    if (this.#visits.length === 0 && this.#refusal) this.#sayRefusal(this.#refusal);
  }

  /** Reads on, or not, as there is room for what comes. */
  mindReading() {
    const mustWait = this.#visits.length > sentAheadMax || (this.#incoming?.body.wantsPause ?? false);
    if (mustWait) {
      this.pause();
      // Not the client's fault; whoever works on it has a time limit of its own.
      this.#deadline = 0;
    } else if (this.#reading.isPaused && !this.#raw) {
      if (this.#incoming) this.#deadline = performance.now() + this.#clients.limits.bodyIdleSeconds * 1000;
      this.resume();
    }
  }

  /** What came whole before is answered first. */
  #refuse(refusal: Refusal) {
    this.#refusal = refusal;
    this.#reading.leaveToStream();
    const visit = this.#incoming;
    this.#incoming = undefined;
    if (visit && visit === this.#visits[0] && visit.isStarted) return this.#breakBody(visit, refusal);
    if (visit) this.#visits.splice(this.#visits.indexOf(visit), 1);
    if (this.#visits.length === 0) this.#sayRefusal(refusal);
    else this.#startNext();
  }

  /** Its body is broken: whoever works on it must not take what arrived for the whole. */
  #breakBody(visit: Visit, refusal: Refusal) {
    const isUnanswered = visit.status === 0;
    visit.note = `the body of the request: ${refusal}`;
    if (isUnanswered) visit.status = refusalStatus(refusal);
    else this.destroy();
    // The refusal is what ends the connection, as soon as nobody is before it.
    visit.keepAlive = true;
    visit.abandon();
  }

  #sayRefusal(refusal: Refusal) {
    this.out.write(refusalReply(refusal));
    this.#endOfService();
  }

  /** Says goodbye, and for a moment throws away what still comes. */
  #endOfService() {
    this.#isLingering = true;
    this.#reading.leaveToStream();
    this.#visits = [];
    this.#incoming = undefined;
    this.#deadline = performance.now() + lingerSeconds * 1000;
    this.out.end();
    this.resume();
  }

  /** One who says no more is taken to have left, as other routers do: one who waits and one who is gone look alike. */
  #onClientEnd() {
    this.#reader.onRead();
    this.#reader.close();
    if (this.#visits.length > 0) this.destroy();
    else this.out.end();
  }

  #onClose() {
    const [current] = this.#visits;
    this.#visits = [];
    if (current?.isStarted) current.abandon();
    this.#raw = undefined;
    this.#reader.close();
    this.#clients.onClosed(this);
    // It may be the parser that found out.
    setImmediate(() => this.#parser.close());
  }
}
