/**
 * Connections of clients: how many there may be, and one clock for all of them. Whoever accepts a connection hands it in, be it the plain listener or,
 * later, TLS.
 */
import type { Socket } from 'node:net';
import { countedAs } from './addresses.ts';
import type { Acceptor, Occupant } from './acceptor.ts';
import { ClientConnection } from './client-connection.ts';
import { TrustedProxies } from './client-identity.ts';
import { OpenConnections, crowdedReply, endWith } from './open-connections.ts';
import type { EdgeLimits } from '../limits.ts';
import type { ReadingTurns } from './reading-turns.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { Visit } from './visit.ts';
import { Http2Connection } from './http2/connection.ts';
import { Handshakes, type HandshakesOptions, type SecureClient } from '../tls/handshakes.ts';
import { SecureArrival } from '../tls/secure-arrival.ts';

export interface ClientsOptions {
  limits: EdgeLimits;
  readingTurns: ReadingTurns;
  trustedProxies: readonly string[];
  tls: HandshakesOptions;
  serve(visit: Visit): void;
  onRecord(visit: Visit, record: RequestRecord): void;
}

export class Clients implements Acceptor {
  readonly limits: EdgeLimits;
  readonly readingTurns: ReadingTurns;
  readonly proxies: TrustedProxies;
  isClosing = false;
  readonly #handshakes: Handshakes;
  readonly #options: ClientsOptions;
  readonly #connections: OpenConnections<Occupant>;

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.readingTurns = options.readingTurns;
    this.proxies = new TrustedProxies(options.trustedProxies);
    this.#handshakes = new Handshakes(options.tls);
    this.#connections = new OpenConnections(options.limits, (connection) => connection.giveWay());
  }

  get connections() {
    return this.#connections.size;
  }

  accept(socket: Socket, scheme: 'http' | 'https') {
    const peer = socket.remoteAddress;
    // The client left before it was accepted.
    if (peer === undefined) return void socket.destroy();
    const crowded = this.#connections.makeRoom(countedAs(peer), !this.proxies.has(peer));
    if (crowded !== undefined) return endWith(socket, crowdedReply(crowded));
    this.#welcome(new ClientConnection(this, socket, peer, scheme), peer);
  }

  /** A connection that is to be encrypted has its place from the beginning: handshakes are what most is asked of the edge for. */
  acceptSecure(socket: Socket) {
    const peer = socket.remoteAddress;
    if (peer === undefined || this.#connections.makeRoom(countedAs(peer), !this.proxies.has(peer)) !== undefined)
      return void socket.destroy();
    const arrival = new SecureArrival(socket, this.limits.handshakeSeconds, () => this.#connections.giveUp(arrival));
    this.#connections.take(arrival, countedAs(peer));
    this.#handshakes.begin(socket, countedAs(peer), (client) => {
      this.#connections.giveUp(arrival);
      this.#greet(client, peer);
    });
  }

  #greet({ socket, protocol, serverName, certificate }: SecureClient, peer: string) {
    const security = { serverName, certificate };
    this.#welcome(
      protocol === 'h2' ? new Http2Connection(this, socket, peer, security) : new ClientConnection(this, socket, peer, 'https', security),
      peer,
    );
  }

  #welcome(connection: ClientConnection | Http2Connection, peer: string) {
    if (!connection.isTrusted) connection.belongTo(`address ${countedAs(peer)}`);
    this.#connections.take(connection, countedAs(peer));
  }

  onAsked(connection: Occupant) {
    this.#connections.keep(connection);
  }

  onClosed(connection: Occupant) {
    this.#connections.giveUp(connection);
  }

  serve(visit: Visit) {
    this.#options.serve(visit);
  }

  onVisitOver(visit: Visit, record: RequestRecord) {
    this.#options.onRecord(visit, record);
  }

  tick(now: number) {
    for (const connection of this.#connections) connection.tick(now);
  }

  /** Clients that wait for an answer still get it, and are told that it is the last on this connection. */
  closeIdle() {
    for (const connection of this.#connections) connection.closeIfIdle();
  }

  destroyAll() {
    for (const connection of this.#connections) connection.destroy();
  }
}
