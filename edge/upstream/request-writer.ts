/** How a request is said to an instance: HTTP/1.1 here, FastCGI in fastcgi.ts. */
import type { EdgeLimits } from '../limits.ts';
import type { Outgoing } from '../client/outgoing.ts';
import { HttpReplyReader, type ReplyReader, type ReplySink } from './reply-reader.ts';
import { headerSafe } from '../send-reply.ts';
import type { Visit } from '../client/visit.ts';

export interface RequestWriter {
  start(out: Outgoing): void;
  /** False: no room for more. */
  body(out: Outgoing, chunk: Buffer): boolean;
  end(out: Outgoing, trailers: readonly string[]): void;
  reader: ReplyReader;
}

export interface HttpTarget {
  /** `Host` as the application is told it. */
  authority: string;
  path: string;
  /** Header lines beside those that every application is told, each with its end. */
  moreLines?: string;
}

export function httpRequestWriter(
  visit: Visit,
  { authority, path, moreLines = '' }: HttpTarget,
  sink: ReplySink,
  limits: EdgeLimits,
): RequestWriter {
  const { isChunked, length } = visit.body;
  return {
    start(out) {
      const target = visit.query === '' ? path : `${path}?${visit.query}`;
      const framing = isChunked ? 'Transfer-Encoding: chunked\r\n' : length === undefined ? '' : `Content-Length: ${length}\r\n`;
      const connection = visit.upgrade === undefined ? '' : `Connection: Upgrade\r\nUpgrade: ${visit.upgrade}\r\n`;
      out.write(
        `${visit.method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n${visit.head.passed}${forwardingLines(visit)}${moreLines}${framing}${connection}\r\n`,
      );
    },
    body(out, chunk) {
      if (!isChunked) return out.write(chunk);
      out.write(`${chunk.length.toString(16)}\r\n`);
      out.write(chunk);
      return out.write('\r\n');
    },
    end(out, trailers) {
      if (!isChunked) return;
      let lines = '';
      for (let index = 0; index < trailers.length; index += 2) lines += trailerLine(trailers[index] ?? '', trailers[index + 1] ?? '');
      out.write(`0\r\n${lines}\r\n`);
    },
    reader: new HttpReplyReader(sink, visit.method === 'HEAD', limits),
  };
}

/** What only the edge may say; whatever the client said of it was dropped. */
function forwardingLines(visit: Visit): string {
  const { address, scheme, authority, forwardedFor, requestId, route } = visit;
  const ssl = scheme === 'https' ? `X-Client-SSL: on\r\n${certificateLines(visit)}` : '';
  return (
    `X-Forwarded-For: ${forwardedFor}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Host: ${authority}\r\nX-Client-IP: ${address}\r\n${ssl}` +
    `X-Original-Route: ${headerSafe(route?.original_url ?? '')}\r\nX-Request-Id: ${requestId}\r\n`
  );
}

/** Of a client that was asked for a certificate: whether it has a good one, and which; PEM has line feeds, so it is escaped as in an address. */
const certificateOf = ({ connection: { security } }: Visit): [name: string, value: string][] =>
  security?.certificate
    ? [
        ['X-Client-Verify', headerSafe(security.certificate.verified)],
        ...(security.certificate.pem === undefined
          ? []
          : [['X-Client-Cert', encodeURIComponent(security.certificate.pem)] satisfies [string, string]]),
      ]
    : [];

const certificateLines = (visit: Visit) =>
  visit.connection.security?.certificate
    ? certificateOf(visit)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
    : '';

/** What `forwardingLines` says, for programs that are told names and values. */
export function forwardingHeaders(visit: Visit): [name: string, value: string][] {
  const { address, scheme, authority, forwardedFor, requestId, route } = visit;
  return [
    ['X_FORWARDED_FOR', forwardedFor],
    ['X_FORWARDED_PROTO', scheme],
    ['X_FORWARDED_HOST', authority],
    ['X_CLIENT_IP', address],
    ...(scheme === 'https' ? [['X_CLIENT_SSL', 'on'] satisfies [string, string]] : []),
    ...certificateOf(visit).map(([name, value]): [string, string] => [name.replaceAll('-', '_').toUpperCase(), value]),
    ['X_ORIGINAL_ROUTE', headerSafe(route?.original_url ?? '')],
    ['X_REQUEST_ID', requestId],
  ];
}

/** A trailer must not say what only a head may say. */
const trailerLine = (name: string, value: string) =>
  /^x-(?!forwarded|client|original|request-id|real-ip)[a-z0-9-]+$|^(?:server-timing|digest|content-digest|etag|grpc-[a-z-]+)$/i.test(name)
    ? `${name}: ${value}\r\n`
    : '';
