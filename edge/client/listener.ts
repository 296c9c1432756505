/**
 * Connections of clients: how many there may be, and one clock for all of them. Whoever accepts a connection hands it in, be it the plain listener or,
 * later, TLS.
 */
import type { Socket } from 'node:net';
import { countedAs } from './addresses.ts';
import { ClientConnection, type Acceptor } from './client-connection.ts';
import { TrustedProxies } from './client-identity.ts';
import { ConnectionPlaces, crowdedReply, endWith } from './connection-places.ts';
import type { EdgeLimits } from '../limits.ts';
import type { ReadingTurns } from './reading-turns.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { Visit } from './visit.ts';

export interface ClientsOptions {
  limits: EdgeLimits;
  readingTurns: ReadingTurns;
  trustedProxies: readonly string[];
  serve(visit: Visit): void;
  onRecord(visit: Visit, record: RequestRecord): void;
}

export class Clients implements Acceptor {
  readonly limits: EdgeLimits;
  readonly readingTurns: ReadingTurns;
  readonly proxies: TrustedProxies;
  isClosing = false;
  readonly #options: ClientsOptions;
  readonly #connections: ConnectionPlaces<ClientConnection>;

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.readingTurns = options.readingTurns;
    this.proxies = new TrustedProxies(options.trustedProxies);
    this.#connections = new ConnectionPlaces(options.limits, (connection) => connection.giveWay());
  }

  get connections() {
    return this.#connections.size;
  }

  accept(socket: Socket, scheme: 'http' | 'https') {
    const peer = socket.remoteAddress;
    // The client left before it was accepted.
    if (peer === undefined) return void socket.destroy();
    const counted = countedAs(peer);
    const crowded = this.#connections.makeRoom(counted, !this.proxies.has(peer));
    if (crowded !== undefined) return endWith(socket, crowdedReply(crowded));
    const connection = new ClientConnection(this, socket, scheme);
    if (!connection.isTrusted) connection.belongTo(`address ${counted}`);
    this.#connections.take(connection, counted);
  }

  onAsked(connection: ClientConnection) {
    this.#connections.keep(connection);
  }

  onClosed(connection: ClientConnection) {
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
