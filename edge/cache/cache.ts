/**
 * Replies of applications, kept in memory for those who ask the same (cache-rules.ts says what that means).
 *
 * - Bounded: when the memory is full, the environment that holds most gives up what it used least lately. So whoever fills the cache empties his own
 *   part of it, and a small neighbour keeps his.
 * - Of many who ask for the same at once, one goes upstream and the others wait; but only where a reply is likely to be kept: where the rules say so
 *   (`default_ttl`), or where one was kept before. When it turns out not to be for keeping, all go ahead at once, and for a while nobody waits.
 * - What belongs to another deployment is forgotten with the first request to the new one.
 *
 * A request to a route that keeps the defaults, of an environment that has nothing kept, costs a few comparisons.
 */
import { type Freshness, isForCache, keyOf, readingOf, variantKey } from './cache-rules.ts';
import { isNotModified } from '../files/conditional.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { type KeptReply, type Outcome, PendingReply, type Room, type Store } from '../upstream/pending-reply.ts';
import type { CacheRules, EdgeEnvironment } from '../routing/table.ts';

export type { Store } from '../upstream/pending-reply.ts';

/**
 * - bypass: the cache has no part in it; X-Platform-Cache BYPASS.
 * - hit: answer with `reply`: Age is in it; 304 where the client has it already. X-Platform-Cache HIT.
 * - miss: go upstream; with `store`, offer it the reply. X-Platform-Cache MISS.
 * - wait: somebody else fetches it. `outcome` is any of the others, never another wait.
 */
export type Settled = { kind: 'bypass' } | { kind: 'hit'; reply: Reply } | { kind: 'miss'; store: Store | undefined };
export type Lookup = Settled | { kind: 'wait'; outcome: Promise<Settled> };

export interface EdgeCache {
  lookup(environment: Pick<EdgeEnvironment, 'cluster' | 'deployment'>, rules: CacheRules, exchange: Exchange): Lookup;
  /** Forgets the replies of an environment that is gone. A new deployment needs no call. */
  forget(cluster: string): void;
  readonly bytes: number;
}

/** In the order of their last use. */
type Entries = Map<string, Entry>;
type Entry =
  | { kind: 'reply'; reply: KeptReply; until: number; bytes: number }
  /** The reply to this key varies by these, and is under a key of its own. */
  | { kind: 'varies'; names: string[]; bytes: number }
  /** The reply is not for keeping, so nobody waits for it. */
  | { kind: 'passing'; until: number; bytes: number };

interface Part {
  deployment: string;
  entries: Entries;
  flights: Map<string, Flight>;
  bytes: number;
  isGone: boolean;
}

interface Flight {
  waiting: { exchange: Exchange; settle: (outcome: Settled) => void }[];
  timer: NodeJS.Timeout | undefined;
}

const standardBytesMax = 128 * 1024 * 1024;
/** Shares of all the memory: what one reply may take, and how much is given up at once. */
const objectShare = 1 / 16;
const evictedShare = 1 / 32;
/** What replies on their way may take together, on top of all that is kept; as a share of it. */
const pendingShare = 1 / 4;
const objectBytesMaxOfAll = 16 * 1024 * 1024;
const passingSeconds = 30;
const waitSeconds = 10;
const waitersMax = 1000;
/** What an entry takes besides its body: the maps that it is in, and the objects. */
const entryBytes = 400;

const bypass: Settled = { kind: 'bypass' };
const missWithoutStore: Settled = { kind: 'miss', store: undefined };

export function openCache({
  bytesMax = standardBytesMax,
  objectBytesMax = Math.min(bytesMax * objectShare, objectBytesMaxOfAll),
} = {}): EdgeCache {
  return new MemoryCache(bytesMax, objectBytesMax);
}

class MemoryCache implements EdgeCache {
  bytes = 0;
  readonly #parts = new Map<string, Part>();
  readonly #bytesMax: number;
  readonly #objectBytesMax: number;
  readonly #room: Room;

  constructor(bytesMax: number, objectBytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#objectBytesMax = objectBytesMax;
    this.#room = roomOf(bytesMax * pendingShare);
  }

  lookup({ cluster, deployment }: Pick<EdgeEnvironment, 'cluster' | 'deployment'>, rules: CacheRules, exchange: Exchange): Lookup {
    const reading = readingOf(rules);
    if (!isForCache(reading, exchange)) return bypass;
    const part = this.#partOf(cluster, deployment);
    if (rules.default_ttl === 0 && part.entries.size === 0)
      return exchange.method === 'HEAD' ? missWithoutStore : { kind: 'miss', store: this.#store(part, rules, exchange) };
    const key = keyOf(reading, exchange);
    return key === undefined ? bypass : this.#find(part, rules, exchange, key);
  }

  forget(cluster: string) {
    const part = this.#parts.get(cluster);
    if (!part) return;
    this.#parts.delete(cluster);
    this.bytes -= part.bytes;
    part.isGone = true;
    for (const flight of part.flights.values()) release(flight, () => missWithoutStore);
    part.flights.clear();
  }

  #partOf(cluster: string, deployment: string): Part {
    const known = this.#parts.get(cluster);
    if (known?.deployment === deployment) return known;
    if (known) this.forget(cluster);
    const part: Part = { deployment, entries: new Map(), flights: new Map(), bytes: 0, isGone: false };
    this.#parts.set(cluster, part);
    return part;
  }

  #find(part: Part, rules: CacheRules, exchange: Exchange, base: string): Lookup {
    const key = fullKey(part, base, exchange);
    const entry = part.entries.get(key);
    if (entry) touch(part.entries, key, entry);
    if (entry?.kind === 'reply' && entry.until > performance.now()) return { kind: 'hit', reply: replyFrom(entry.reply, exchange) };
    if (exchange.method === 'HEAD') return missWithoutStore;
    const isPassing = entry?.kind === 'passing' && entry.until > performance.now();
    // An entry that has expired was for keeping once; of a new one only the rules can tell.
    if (isPassing || (entry?.kind !== 'reply' && rules.default_ttl === 0))
      return { kind: 'miss', store: this.#store(part, rules, exchange) };
    const flight = part.flights.get(key);
    if (flight) return flight.waiting.length < waitersMax ? wait(flight, exchange) : missWithoutStore;
    return { kind: 'miss', store: this.#lead(part, rules, exchange, key, { waiting: [], timer: undefined }) };
  }

  /** Whoever else asks for the same reply waits for this request. */
  #lead(part: Part, rules: CacheRules, exchange: Exchange, key: string, flight: Flight): Store {
    part.flights.set(key, flight);
    return this.#store(part, rules, exchange, (outcome) => {
      if (part.flights.get(key) !== flight) return;
      const next = outcome === 'aborted' ? flight.waiting.shift() : undefined;
      if (next) return next.settle({ kind: 'miss', store: this.#lead(part, rules, next.exchange, key, flight) });
      part.flights.delete(key);
      if (outcome === 'passing')
        this.#add(part, key, { kind: 'passing', until: performance.now() + passingSeconds * 1000, bytes: key.length * 2 + entryBytes });
      release(flight, (waiting) => (outcome === 'kept' ? this.#kept(part, rules, waiting) : missWithoutStore));
    });
  }

  #kept(part: Part, rules: CacheRules, exchange: Exchange): Settled {
    const base = keyOf(readingOf(rules), exchange);
    const entry = base === undefined ? undefined : part.entries.get(fullKey(part, base, exchange));
    return entry?.kind === 'reply' ? { kind: 'hit', reply: replyFrom(entry.reply, exchange) } : missWithoutStore;
  }

  #store(part: Part, rules: CacheRules, exchange: Exchange, onClose: (outcome: Outcome) => void = () => {}): Store {
    const keep = (freshness: Freshness, reply: KeptReply, bytes: number) => this.#keep(part, rules, exchange, freshness, reply, bytes);
    return new PendingReply({ rules, bytesMax: this.#objectBytesMax, room: this.#room, onClose, keep });
  }

  #keep(part: Part, rules: CacheRules, exchange: Exchange, { seconds, vary }: Freshness, reply: KeptReply, bytes: number): boolean {
    const base = part.isGone ? undefined : keyOf(readingOf(rules), exchange);
    if (base === undefined) return false;
    const varying = part.entries.get(base);
    const isSame = varying?.kind === 'varies' && varying.names.join() === vary.join();
    if (vary.length > 0 && !isSame) this.#add(part, base, { kind: 'varies', names: vary, bytes: base.length * 2 + entryBytes });
    const key = vary.length > 0 ? variantKey(base, vary, exchange) : base;
    this.#add(part, key, { kind: 'reply', reply, until: performance.now() + seconds * 1000, bytes: bytes + key.length * 2 + entryBytes });
    return true;
  }

  #add(part: Part, key: string, entry: Entry) {
    if (part.isGone) return;
    this.#remove(part, key);
    part.entries.set(key, entry);
    part.bytes += entry.bytes;
    this.bytes += entry.bytes;
    while (this.bytes > this.#bytesMax) this.#evict();
  }

  #remove(part: Part, key: string) {
    const entry = part.entries.get(key);
    if (!entry) return;
    part.entries.delete(key);
    part.bytes -= entry.bytes;
    this.bytes -= entry.bytes;
  }

  /** Evicts several entries at once, so that the largest part does not have to be looked for often. */
  #evict() {
    let largest: Part | undefined;
    for (const part of this.#parts.values()) if (part.bytes > (largest?.bytes ?? -1)) largest = part;
    const goal = this.#bytesMax * (1 - evictedShare);
    for (const key of largest?.entries.keys() ?? []) {
      if (largest === undefined || this.bytes <= goal) return;
      this.#remove(largest, key);
    }
  }
}

function roomOf(bytesMax: number): Room {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > bytesMax) return false;
      taken += bytes;
      return true;
    },
    giveBack(bytes) {
      taken -= bytes;
    },
  };
}

function fullKey({ entries }: Part, base: string, exchange: Exchange): string {
  const entry = entries.get(base);
  return entry?.kind === 'varies' ? variantKey(base, entry.names, exchange) : base;
}

function touch(entries: Entries, key: string, entry: Entry) {
  entries.delete(key);
  entries.set(key, entry);
}

function wait(flight: Flight, exchange: Exchange): Lookup {
  const { promise, resolve } = Promise.withResolvers<Settled>();
  flight.waiting.push({ exchange, settle: resolve });
  flight.timer ??= setTimeout(() => release(flight, () => missWithoutStore), waitSeconds * 1000).unref();
  return { kind: 'wait', outcome: promise };
}

function release(flight: Flight, outcomeOf: (exchange: Exchange) => Settled) {
  clearTimeout(flight.timer);
  flight.timer = undefined;
  for (const { exchange, settle } of flight.waiting.splice(0)) settle(outcomeOf(exchange));
}

function replyFrom({ status, headers, body, etag, lastModified, born }: KeptReply, exchange: Exchange): Reply {
  const age: [string, string] = ['Age', String(Math.max(0, Math.floor((performance.now() - born) / 1000)))];
  if (status === 200 && isNotModified(exchange.headers, etag, lastModified)) {
    return {
      status: 304,
      headers: [...headers.filter(([name]) => !/^content-(?:type|encoding|language)$/i.test(name)), age],
      body: undefined,
    };
  }
  return { status, headers: [...headers, age], body };
}
