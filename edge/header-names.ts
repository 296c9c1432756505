/** What the edge knows about header names. Each spelling is looked at once and remembered, so that a request costs one lookup for each line. */

export type HeaderKind =
  /** Goes on as it came. */
  | 'end-to-end'
  /** Of one connection; never goes on. */
  | 'hop-by-hop'
  /** Told by the edge; whoever else says it is not believed. */
  | 'told-by-edge'
  | 'host'
  | 'connection'
  | 'content-length'
  | 'transfer-encoding'
  | 'expect'
  | 'upgrade'
  | 'user-agent'
  | 'cookie'
  | 'referer'
  /** Not a name at all. */
  | 'invalid';

export interface HeaderName {
  lower: string;
  inRequest: HeaderKind;
  inReply: HeaderKind;
}

const hopByHop = new Set(['keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'http2-settings']);
const hopByHopInReply = new Set(['keep-alive', 'proxy-connection', 'te', 'upgrade']);
const toldToApps = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-forwarded-prefix',
  'x-forwarded-ssl',
  'x-real-ip',
  'x-client-ip',
  'x-client-ssl',
  'x-client-verify',
  'x-client-cert',
  'x-client-dn',
  'x-original-route',
  'x-original-url',
  'x-rewrite-url',
  'x-request-id',
  'client-country',
  'forwarded',
  // CGI programs take HTTP_PROXY for a setting of their own.
  'proxy',
]);
const toldToClients = new Set(['x-platform-cache', 'x-platform-cluster', 'x-platform-router', 'x-request-id']);
const ofTheirOwnKind: readonly HeaderKind[] = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'user-agent',
  'cookie',
  'referer',
];
const passedOn: ReadonlySet<HeaderKind> = new Set(['end-to-end', 'user-agent', 'cookie', 'referer']);

/** Whether such a header of a request reaches the application. */
export const isPassedOn = (kind: HeaderKind) => passedOn.has(kind);

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const known = new Map<string, HeaderName>();
/** Strangers may send ever new names; past this they are looked at each time. */
const knownMax = 2000;
const keptLengthMax = 64;

export function headerName(name: string): HeaderName {
  const found = known.get(name);
  if (found) return found;
  const lower = copyOf(name).toLowerCase();
  const header = token.test(name) ? { lower, inRequest: requestKind(lower), inReply: replyKind(lower) } : invalid;
  if (known.size < knownMax && name.length <= keptLengthMax) known.set(copyOf(name), header);
  return header;
}

/** Of what is kept for long: a part of a text is a window on all of it, which it keeps from being freed. */
export const copyOf = (text: string) => Buffer.from(text, 'latin1').toString('latin1');

const invalid: HeaderName = { lower: '', inRequest: 'invalid', inReply: 'invalid' };

/** Programs behind CGI cannot tell `X_Client_IP` from `X-Client-IP`, so names with an underscore do not get past the edge. */
function requestKind(lower: string): HeaderKind {
  if (lower.includes('_') || toldToApps.has(lower)) return 'told-by-edge';
  if (hopByHop.has(lower)) return 'hop-by-hop';
  return ofTheirOwnKind.find((kind) => kind === lower) ?? 'end-to-end';
}

function replyKind(lower: string): HeaderKind {
  if (toldToClients.has(lower)) return 'told-by-edge';
  if (hopByHopInReply.has(lower)) return 'hop-by-hop';
  return ['connection', 'content-length', 'transfer-encoding'].includes(lower) ? requestKind(lower) : 'end-to-end';
}

/** Headers that `Connection` names are of this connection too; but it cannot take away what frames or addresses a message. */
export function namedByConnection(connection: string): Set<string> {
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== '' && headerName(name).inRequest === 'end-to-end' && !needed.has(name)));
}

const needed = new Set(['authorization', 'content-type', 'content-encoding', 'set-cookie', 'cache-control', 'trailer']);

export const isPlainConnection = (connection: string) => /^(?:keep-alive|close|upgrade|)$/i.test(connection);
