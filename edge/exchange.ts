/** A request and a reply, as the parts of the edge hand them to each other. The parser stands before it, the socket behind. */
import type { FileHandle } from 'node:fs/promises';

export interface Exchange {
  method: string;
  scheme: 'http' | 'https';
  /** Lower case, without port. */
  host: string;
  /** As it came: what the application is told. */
  authority: string;
  /** As it came, from the first slash to before the `?`: percent-encoded, not normalised. */
  path: string;
  /** After the `?`; empty where there is none. */
  query: string;
  /** Names in lower case. Of repeated ones, values joined as HTTP says; cookies with `; `. */
  headers: Readonly<Record<string, string | undefined>>;
  /** Of the client, after configured proxies. */
  address: string;
}

/** What the edge answers by itself. */
export interface Reply {
  status: number;
  headers: [name: string, value: string][];
  body: Buffer | string | FilePart | undefined;
}

/** Bytes of an open file; whoever sends it closes it. */
export interface FilePart {
  file: FileHandle;
  start: number;
  bytes: number;
}
