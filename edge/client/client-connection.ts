/**
 * A client's connection: bytes in, requests out, one at a time and in order. It reads no further than what is being worked on has room for, and it
 * ends when the client is silent for too long, says what is not HTTP, or asked for it.
 */
import type { Socket } from 'node:net';
import type { Acceptor, Occupant } from './acceptor.ts';
import type { ClientIdentity, Peer } from './client-identity.ts';
import { crowdedReply, endWith } from './open-connections.ts';
import { Incoming, type IncomingUser } from './incoming.ts';
import { Outgoing } from './outgoing.ts';
import { refusalReply, refusalStatus, type Refusal } from './refusals.ts';
import { passableUpgrade, readHead } from './request-head.ts';
import type { RequestHead } from './request-parser.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import { Http1Visit, type Http1Connection } from './http1-visit.ts';
import type { ConnectionSecurity, Visit } from './visit.ts';

/** Requests that were sent ahead; past this the socket is not read until some are answered. */
const sentAheadMax = 16;
/** After the last reply to a client that still sends: a close that comes at once would take the reply away from it. */
const lingerSeconds = 2;

export class ClientConnection implements Peer, Http1Connection, Occupant {
  readonly socket: Socket;
  readonly out: Outgoing;
  readonly peer: string;
  readonly scheme: 'http' | 'https';
  readonly isTrusted: boolean;
  readonly security: ConnectionSecurity | undefined;
  readonly #acceptor: Acceptor;
  readonly #incoming: Incoming;
  /** Requests that have arrived and are not over. The first one is being answered. */
  #visits: Visit[] = [];
  /** The one whose body is being read. */
  #arriving: Visit | undefined;
  #isInHead = false;
  /** The bytes that were read last belong to a request that is in `#visits`. */
  #hasAdvanced = false;
  #isStarting = false;
  #refusal: Refusal | undefined;
  #deadline: number;
  #requests = 0;
  #isLingering = false;

  constructor(acceptor: Acceptor, socket: Socket, peer: string, scheme: 'http' | 'https', security?: ConnectionSecurity) {
    this.#acceptor = acceptor;
    this.socket = socket;
    this.scheme = scheme;
    this.security = security;
    this.peer = peer;
    this.isTrusted = acceptor.proxies.has(this.peer);
    this.#deadline = performance.now() + acceptor.limits.headSeconds * 1000;
    socket.on('end', () => this.#onClientEnd());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#onClose());
    this.out = new Outgoing(socket, () => this.#visits[0]?.attendant?.onClientRoom?.());
    this.#incoming = new Incoming(socket, this.#reads(), acceptor.limits, acceptor.readingTurns);
  }

  #reads(): IncomingUser {
    return {
      onHead: (head) => this.#onHead(head),
      onBody: (chunk) => this.#onBody(chunk),
      onEnd: (trailers) => this.#onEnd(trailers),
      onParsed: () => this.#onParsed(),
      onRefused: (refusal) => this.#refuse(refusal),
      changesProtocol: () => this.#visits[0]?.upgrade !== undefined,
    };
  }

  get staysOpen() {
    return !this.#incoming.hasEarly && !this.#acceptor.isClosing && this.#requests < this.#acceptor.limits.requestsPerConnectionMax;
  }

  get isIdle() {
    return this.#visits.length === 0 && !this.#isInHead;
  }

  belongTo(owner: string) {
    this.#incoming.belongTo(owner);
  }

  identify(headers: readonly string[]): ClientIdentity {
    return this.#acceptor.proxies.identify(this, headers);
  }

  takeOver(onBytes: (chunk: Buffer) => void) {
    this.#incoming.takeOver(onBytes);
  }

  pause() {
    this.#incoming.pause();
  }

  resume() {
    this.#incoming.resume();
  }

  onBodyRoom(visit: Visit) {
    visit.body.isBlocked = false;
    this.mindReading();
  }

  onVisitOver(visit: Visit, record: RequestRecord) {
    if (this.#visits[0] === visit) this.#visits.shift();
    this.#acceptor.onVisitOver(visit, record);
    if (this.socket.destroyed) return;
    if (!visit.keepAlive) return this.#endOfService();
    if (this.#visits.length === 0 && !this.#isInHead) this.#deadline = performance.now() + this.#acceptor.limits.keepAliveSeconds * 1000;
    this.mindReading();
    this.#startNext();
  }

  tick(now: number) {
    this.#visits[0]?.attendant?.onTick?.(now);
    if (this.#deadline === 0 || now < this.#deadline) return;
    // A reply that is written here may have a long way to go yet; the client has time as long as it takes some of it.
    this.#deadline = this.out.hasMoved() ? now + this.#acceptor.limits.bodyIdleSeconds * 1000 : 0;
    if (this.#deadline > 0) return;
    if (this.#isLingering || this.isIdle) this.socket.destroy();
    else this.#refuse('too-slow');
  }

  /** Where nothing is asked, nothing is lost. */
  closeIfIdle() {
    if (this.isIdle && !this.#incoming.isRaw) this.#endOfService();
  }

  /** For a newer connection of the same address: this one has never asked for anything. */
  giveWay() {
    this.#isLingering = true;
    this.#deadline = 0;
    this.#incoming.ignoreRest();
    endWith(this.socket, crowdedReply('address'));
  }

  destroy() {
    this.socket.destroy();
  }

  #onParsed() {
    if (!this.#hasAdvanced && !this.#arriving && !this.#isInHead) this.#startHead();
    this.#hasAdvanced = false;
    this.mindReading();
    this.#startNext();
  }

  #startHead() {
    this.#isInHead = true;
    this.#deadline = performance.now() + this.#acceptor.limits.headSeconds * 1000;
  }

  #onHead(request: RequestHead): boolean | Refusal {
    this.#isInHead = false;
    this.#hasAdvanced = true;
    this.#deadline = 0;
    const head = readHead(request);
    if (!head) return 'malformed';
    if (this.#requests++ === 0) this.#acceptor.onAsked(this);
    const isSole = this.#visits.length === 0;
    const upgrade = request.wantsUpgrade && isSole && request.method === 'GET' ? passableUpgrade(head) : undefined;
    const visit = new Http1Visit(this, request, head, upgrade);
    this.#visits.push(visit);
    this.#arriving = visit;
    if (upgrade !== undefined) this.#onEnd([]);
    return upgrade !== undefined;
  }

  #onBody(chunk: Buffer) {
    if (!this.#arriving) return;
    this.#deadline = performance.now() + this.#acceptor.limits.bodyIdleSeconds * 1000;
    this.#arriving.body.push(chunk);
  }

  #onEnd(trailers: string[]) {
    const visit = this.#arriving;
    if (!visit) return;
    this.#arriving = undefined;
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
      this.#acceptor.serve(visit);
    }
    this.#isStarting = false;
    if (this.#visits.length === 0 && this.#refusal) this.#sayRefusal(this.#refusal);
  }

  mindReading() {
    const mustWait = this.#visits.length > sentAheadMax || (this.#arriving?.body.wantsPause ?? false);
    if (mustWait) {
      this.pause();
      // The wait is not the client's fault; whoever works on the request has a time limit of its own.
      this.#deadline = 0;
    } else if (this.#incoming.isPaused && !this.#incoming.isRaw) {
      if (this.#arriving) this.#deadline = performance.now() + this.#acceptor.limits.bodyIdleSeconds * 1000;
      this.resume();
    }
  }

  /** Requests that arrived whole before it are answered first. */
  #refuse(refusal: Refusal) {
    this.#refusal = refusal;
    this.#incoming.ignoreRest();
    const visit = this.#arriving;
    this.#arriving = undefined;
    if (visit && visit === this.#visits[0] && visit.isStarted) return this.#breakBody(visit, refusal);
    if (visit) this.#visits.splice(this.#visits.indexOf(visit), 1);
    if (this.#visits.length === 0) this.#sayRefusal(refusal);
    else this.#startNext();
  }

  /** Whoever works on the request must not take the part of its body that arrived for the whole. */
  #breakBody(visit: Visit, refusal: Refusal) {
    const isUnanswered = visit.status === 0;
    visit.note = `the body of the request: ${refusal}`;
    if (isUnanswered) visit.status = refusalStatus(refusal);
    else this.destroy();
    // The refusal ends the connection, once it has been said; the end of this visit must not do so before.
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
    this.#incoming.ignoreRest();
    this.#visits = [];
    this.#arriving = undefined;
    this.#deadline = performance.now() + lingerSeconds * 1000;
    this.out.end();
    this.resume();
  }

  /** A client that sends no more is taken to have left, as other routers do: one that still waits for its reply and one that is gone look alike. */
  #onClientEnd() {
    this.#incoming.end();
    // Where nothing is left to be said, a goodbye over TLS would only be answered with an error.
    if (this.#visits.length > 0 || (this.security && !this.out.hasUnsent)) this.destroy();
    else this.out.end();
  }

  #onClose() {
    const [current] = this.#visits;
    this.#visits = [];
    if (current?.isStarted) current.abandon();
    this.#incoming.close();
    this.#acceptor.onClosed(this);
  }
}
