/**
 * Places for connections: so many for each address, and so many for all together. When they are taken, a connection that never asked for anything gives
 * its place to the one that comes, the oldest first; one that has asked keeps its own. So whoever opens thousands and says nothing takes them from
 * himself, and whoever finds no place is told so. The control plane's own doors keep to this too.
 */
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  connectionsMax: number;
  connectionsPerAddressMax: number;
}

/** Whose places are taken. */
export type Crowded = 'address' | 'all';

interface OfAddress<Connection> {
  count: number;
  silent: Set<Connection>;
}

export class OpenConnections<Connection> {
  readonly #limits: ConnectionLimits;
  readonly #dismiss: (connection: Connection) => void;
  /** All connections, with the address that each is counted for. */
  readonly #taken = new Map<Connection, string>();
  /** Those that have not asked for anything yet, the oldest first: sets keep the order in which their elements came. */
  readonly #silent = new Set<Connection>();
  readonly #ofAddress = new Map<string, OfAddress<Connection>>();

  /** `dismiss` ends a connection whose place is given to another. */
  constructor(limits: ConnectionLimits, dismiss: (connection: Connection) => void) {
    this.#limits = limits;
    this.#dismiss = dismiss;
  }

  get size() {
    return this.#taken.size;
  }

  [Symbol.iterator]() {
    return this.#taken.keys();
  }

  /** Undefined: there is room for one more connection of this address. An address that others come through, such as a proxy, has no bound of its own. */
  makeRoom(address: string, hasOwnBound = true): Crowded | undefined {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    const own = this.#ofAddress.get(address);
    if (hasOwnBound && own && own.count >= connectionsPerAddressMax && !this.#displaceOne(own.silent)) return 'address';
    return this.#taken.size >= connectionsMax && !this.#displaceOne(this.#silent) ? 'all' : undefined;
  }

  take(connection: Connection, address: string) {
    const own = this.#ofAddress.get(address) ?? { count: 0, silent: new Set() };
    own.count++;
    own.silent.add(connection);
    this.#ofAddress.set(address, own);
    this.#silent.add(connection);
    this.#taken.set(connection, address);
  }

  /** The connection has asked for something: from now on it gives way to no other. */
  keep(connection: Connection) {
    if (this.#silent.delete(connection)) this.#ofAddress.get(this.#taken.get(connection) ?? '')?.silent.delete(connection);
  }

  giveUp(connection: Connection) {
    const address = this.#taken.get(connection);
    const own = address === undefined ? undefined : this.#ofAddress.get(address);
    if (address === undefined || !own) return;
    this.keep(connection);
    this.#taken.delete(connection);
    own.count--;
    if (own.count === 0) this.#ofAddress.delete(address);
  }

  #displaceOne(silent: ReadonlySet<Connection>): boolean {
    const [oldest] = silent;
    if (oldest === undefined) return false;
    this.giveUp(oldest);
    this.#dismiss(oldest);
    return true;
  }
}

const words: Record<Crowded, { status: string; sentence: string }> = {
  address: {
    status: '429 Too Many Requests',
    sentence: 'Too many connections are open from your address; close some, or try again in a moment.',
  },
  all: { status: '503 Service Unavailable', sentence: 'Too many connections are open here; try again in a moment.' },
};

export const crowdedSentence = (crowded: Crowded) => words[crowded].sentence;

const retryAfterSeconds = 5;

/** An answer in HTTP for somebody who did not get to ask. */
export function crowdedReply(crowded: Crowded): string {
  const { status, sentence } = words[crowded];
  const head = `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${sentence.length + 1}`;
  return `${head}\r\nRetry-After: ${retryAfterSeconds}\r\nConnection: close\r\n\r\n${sentence}\n`;
}

/** Connections that are being refused are counted nowhere else; so only so many are told why, and others are cut off. */
const beingToldMax = 200;
const lastWordsMilliseconds = 1000;
let beingTold = 0;

/** Says a last thing. What the client still sends is thrown away meanwhile: a close at once would take the words away from it. */
export function endWith(socket: Socket, text: string) {
  if (beingTold >= beingToldMax) return void socket.destroy();
  beingTold++;
  const late = setTimeout(() => socket.destroy(), lastWordsMilliseconds);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => {
    clearTimeout(late);
    beingTold--;
  });
  socket.end(text);
  socket.resume();
}
