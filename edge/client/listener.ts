/**
 * Connections of clients: how many there may be, who a client is when a proxy stands before it, and one clock for all of them. Whoever accepts a
 * connection hands it in, be it the plain listener or, later, TLS.
 */
import { randomBytes } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { countedAs, isWithin, readAddress, readNetwork, type Network } from './addresses.ts';
import { ClientConnection } from './client-connection.ts';
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

interface Identity {
  address: string;
  scheme: 'http' | 'https';
  requestId: string;
  forwardedFor: string;
}

/** So that no two processes ever say the same. */
let processMark = randomBytes(8).toString('hex');
/** Of eight hexadecimal digits, and small enough for the fast kind of integer. */
const [requestNumberMin, requestNumberMax] = [2 ** 28, 2 ** 30];
let requestNumber = requestNumberMin;
const proxiesInARowMax = 20;

function newRequestId(): string {
  if (++requestNumber > requestNumberMax) {
    requestNumber = requestNumberMin;
    processMark = randomBytes(8).toString('hex');
  }
  return processMark + requestNumber.toString(16);
}

export class Clients {
  readonly limits: EdgeLimits;
  readonly readingTurns: ReadingTurns;
  isClosing = false;
  readonly #options: ClientsOptions;
  readonly #proxies: Network[];
  readonly #connections: ConnectionPlaces<ClientConnection>;

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.readingTurns = options.readingTurns;
    this.#connections = new ConnectionPlaces(options.limits, (connection) => connection.giveWay());
    this.#proxies = options.trustedProxies.flatMap((text) => readNetwork(text) ?? []);
  }

  get connections() {
    return this.#connections.size;
  }

  accept(socket: Socket, scheme: 'http' | 'https') {
    const peer = socket.remoteAddress;
    // Gone before it was accepted.
    if (peer === undefined) return void socket.destroy();
    const counted = countedAs(peer);
    const crowded = this.#connections.makeRoom(counted, !this.isTrusted(peer));
    if (crowded !== undefined) return endWith(socket, crowdedReply(crowded));
    const connection = new ClientConnection(this, socket, scheme);
    if (!connection.isTrusted) connection.belongTo(`address ${counted}`);
    this.#connections.take(connection, counted);
  }

  /** It has asked for something. */
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

  /** Those who wait for an answer get it, and are told that it is the last on this connection. */
  closeIdle() {
    for (const connection of this.#connections) connection.closeIfIdle();
  }

  destroyAll() {
    for (const connection of this.#connections) connection.destroy();
  }

  isTrusted(address: string): boolean {
    if (this.#proxies.length === 0) return false;
    const words = readAddress(address);
    return words !== undefined && this.#proxies.some((network) => isWithin(words, network));
  }

  identify({ peer, scheme, isTrusted }: ClientConnection, headers: readonly string[]): Identity {
    const requestId = newRequestId();
    const address = peer.startsWith('::ffff:') ? peer.slice('::ffff:'.length) : peer;
    if (!isTrusted) return { address, scheme, requestId, forwardedFor: address };
    return this.#believe(address, scheme, requestId, headers);
  }

  #believe(peer: string, scheme: 'http' | 'https', requestId: string, headers: readonly string[]): Identity {
    const told = (name: string) => {
      const values = headers.filter((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === name);
      return values.join(', ');
    };
    const chain = told('x-forwarded-for')
      .split(',')
      .map((address) => address.trim())
      .filter((address) => isIP(address) !== 0)
      .slice(-proxiesInARowMax);
    const client = chain.findLast((address) => !this.isTrusted(address)) ?? chain[0] ?? peer;
    const protocol = told('x-forwarded-proto').toLowerCase();
    const id = told('x-request-id');
    return {
      address: client,
      scheme: protocol === 'https' || protocol === 'http' ? protocol : scheme,
      requestId: /^[\w.:-]{8,128}$/.test(id) ? id : requestId,
      forwardedFor: [...chain, peer].join(', '),
    };
  }
}
