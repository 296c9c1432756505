/** A reply on its way from the application to the client, which may become one that is kept. */
import { type Freshness, freshnessOf, type ReplyHeaders } from '../cache/cache-rules.ts';
import { copyOf, headerName, namedByConnection } from '../client/header-names.ts';
import type { CacheRules } from '../routing/table.ts';

/** Ends with `begin` returning false, with `end` or with `abort`; calling more is harmless. Always end it, or others wait in vain for a while. */
export interface Store {
  /** With the reply's head, as it came from upstream. False: not for the cache, nothing more is to be told. */
  begin(status: number, headers: ReplyHeaders): boolean;
  /** Keeps the chunk itself, not a copy, until the end. */
  write(chunk: Buffer): void;
  /** The whole body was written. */
  end(): void;
  abort(): void;
}

export interface KeptReply {
  status: number;
  headers: [string, string][];
  body: Buffer;
  etag: string | undefined;
  lastModified: string | undefined;
  /** When it was made, in milliseconds of the monotonic clock. */
  born: number;
}

export type Outcome = 'kept' | 'passing' | 'aborted';

/** What all replies on their way may take together. */
export interface Room {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

interface PendingOptions {
  rules: CacheRules;
  bytesMax: number;
  room: Room;
  onClose: (outcome: Outcome) => void;
  /** False: the reply is not wanted any more. */
  keep: (freshness: Freshness, reply: KeptReply, bytes: number) => boolean;
}

export class PendingReply implements Store {
  readonly #options: PendingOptions;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #head: { status: number; headers: ReplyHeaders; freshness: Freshness } | undefined;
  #isClosed = false;

  constructor(options: PendingOptions) {
    this.#options = options;
  }

  begin(status: number, headers: ReplyHeaders): boolean {
    const { rules, bytesMax } = this.#options;
    const freshness = this.#isClosed ? undefined : freshnessOf(rules, status, headers);
    if (freshness && Number(valueOf(headers, 'content-length') ?? 0) <= bytesMax) this.#head = { status, headers, freshness };
    // 304 says nothing about what others would get.
    else this.#close(status === 304 ? 'aborted' : 'passing');
    return this.#head !== undefined;
  }

  write(chunk: Buffer) {
    const { bytesMax, room } = this.#options;
    if (this.#isClosed || !this.#head) return;
    if (this.#bytes + chunk.length > bytesMax || !room.take(chunk.length)) return this.#close('passing');
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
  }

  end() {
    const head = this.#head;
    const stated = head && valueOf(head.headers, 'content-length');
    if (!head || (stated !== undefined && Number(stated) !== this.#bytes)) return this.abort();
    const { reply, bytes } = keptReply(head.status, head.headers, this.#chunks);
    this.#close(this.#options.keep(head.freshness, reply, bytes) ? 'kept' : 'aborted');
  }

  abort() {
    this.#close('aborted');
  }

  #close(outcome: Outcome) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.room.giveBack(this.#bytes);
    this.#chunks = [];
    this.#head = undefined;
    this.#options.onClose(outcome);
  }
}

/** Headers that the sender of a reply works out or adds anew. */
const headersNotKept: ReadonlySet<string> = new Set(['proxy-authenticate', 'trailer', 'age', 'date']);

function keptReply(status: number, said: ReplyHeaders, chunks: Buffer[]): { reply: KeptReply; bytes: number } {
  const own = { names: said.names, values: said.values.map(copyOf) };
  const lines = own.names.map((name, index): [string, string] => [name, own.values[index] ?? '']);
  const connections = lines.filter(([name]) => name === 'connection');
  const named = namedByConnection(connections.map(([, value]) => value).join());
  const isKept = (name: string) => headerName(name).inReply === 'end-to-end' && !headersNotKept.has(name) && !named.has(name);
  const headers = lines.filter(([name]) => isKept(name));
  // A copy, as chunks are often small windows on large buffers, which they would keep from being freed.
  const body = Buffer.concat(chunks);
  const born = performance.now() - (Number.parseInt(valueOf(own, 'age') ?? '0', 10) || 0) * 1000;
  const bytes = body.length + headers.reduce((sum, [name, value]) => sum + name.length + value.length + headerBytes, 0);
  return { reply: { status, headers, body, etag: valueOf(own, 'etag'), lastModified: valueOf(own, 'last-modified'), born }, bytes };
}

/** What two strings and their pair take besides their text. */
const headerBytes = 64;

function valueOf({ names, values }: ReplyHeaders, name: string): string | undefined {
  const index = names.indexOf(name);
  return index === -1 ? undefined : values[index];
}
