/** A request of HTTP/2 as HTTP/1.1 would have it, which is what the rest of the edge understands. */
import { randomBytes } from 'node:crypto';
import type { RequestHead } from '../request-parser.ts';

export interface Http2Request extends RequestHead {
  hasBody: boolean;
  /** Undefined: not told. */
  length: number | undefined;
}

/** Headers of one connection of HTTP/1.1; whoever sends one over HTTP/2 wants to confuse. */
const notInHttp2 = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);
const pseudoHeaders = new Set([':method', ':scheme', ':authority', ':path', ':protocol']);

/** - malformed: it breaks the rules of HTTP/2, and its stream is reset. - refused: the rules are kept, but nobody here does that. */
export type Unserved = 'malformed' | 'refused';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const word = /^[^\0-\x20\x7f]+$/;

/** `list` is sound, line by line; here it is about what the lines say together. */
export function readRequest(list: readonly string[], isWhole: boolean): Http2Request | Unserved {
  const pseudo: Record<string, string | undefined> = {};
  const headers: string[] = [];
  let cookie: string | undefined;
  let [length, hasHost]: [string?, boolean?] = [];
  for (let index = 0; index < list.length; index += 2) {
    const name = list[index] ?? '';
    const value = list[index + 1] ?? '';
    if (name.startsWith(':')) {
      if (!pseudoHeaders.has(name) || pseudo[name] !== undefined || headers.length > 0 || cookie !== undefined) return 'malformed';
      pseudo[name] = value;
    } else if (name === 'cookie') cookie = cookie === undefined ? value : `${cookie}; ${value}`;
    else {
      if (notInHttp2.has(name) || (name === 'te' && value !== 'trailers')) return 'malformed';
      if (name === 'content-length') length ??= value;
      hasHost ||= name === 'host';
      headers.push(name, value);
    }
  }
  if (cookie !== undefined) headers.push('cookie', cookie);
  const target = targetOf(pseudo);
  if (typeof target === 'string') return target;
  const authority = pseudo[':authority'];
  if (authority !== undefined && !hasHost) headers.push('host', authority);
  const { tunnel } = target;
  const hasBody = !isWhole && tunnel === undefined;
  if (!hasBody && Number(length ?? 0) !== 0) return 'malformed';
  if (hasBody && length === undefined) headers.push('transfer-encoding', 'chunked');
  if (tunnel !== undefined) headers.push('upgrade', tunnel, 'sec-websocket-key', randomBytes(16).toString('base64'));
  return {
    method: target.method,
    target: target.path,
    major: 1,
    minor: 1,
    headers,
    wantsUpgrade: tunnel !== undefined,
    keepAlive: true,
    hasBody,
    length: length === undefined ? undefined : Number(length),
  };
}

interface Target {
  method: string;
  path: string;
  /** The protocol that a stream is opened for (RFC 8441). */
  tunnel: string | undefined;
}

/** A CONNECT that is not for a WebSocket would make the edge a proxy to anywhere. */
function targetOf(pseudo: Record<string, string | undefined>): Target | Unserved {
  const { ':method': method, ':scheme': scheme, ':path': path, ':protocol': protocol } = pseudo;
  if (method === undefined) return 'malformed';
  if (protocol !== undefined && method !== 'CONNECT') return 'malformed';
  if (method === 'CONNECT' && protocol !== 'websocket') return 'refused';
  if (scheme === undefined || path === undefined || path === '') return 'malformed';
  // HTTP/2 frames what it says, and HTTP/1.1 does not: a blank would end a word of its first line.
  if (!word.test(path) || !token.test(method)) return 'refused';
  return method === 'CONNECT' ? { method: 'GET', path, tunnel: protocol } : { method, path, tunnel: undefined };
}

/** Trailers have no place for what a head says. */
export const areTrailers = (list: readonly string[]) => list.every((word_, index) => index % 2 === 1 || !word_.startsWith(':'));
