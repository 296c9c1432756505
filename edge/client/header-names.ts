/** What the edge knows about header names. Each spelling is looked at once and remembered, so that a request costs one lookup for each line. */

export type HeaderKind =
  /** Goes on as it came. */
  | 'end-to-end'
  /** Holds for one connection, and never goes on. */
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
/**
 * What visitors may not say to an application, because programs believe it: who asks, from where, for what and over what. The edge says the first ones
 * itself, and truthfully; nobody says the others here, so an application that looks for them finds nothing.
 */
const toldToApps = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-client-ip',
  'x-client-ssl',
  'x-original-route',
  'x-request-id',
]);
const saidByNobody = new Set([
  // From where: names that other proxies and networks use.
  'client-ip',
  'true-client-ip',
  'x-real-ip',
  'x-cluster-client-ip',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-envoy-external-address',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'cf-ipcountry',
  'cf-visitor',
  'fastly-client-ip',
  'fly-client-ip',
  'client-country',
  'forwarded',
  // For what, and over what.
  'x-forwarded',
  'forwarded-for',
  'x-host',
  'x-original-host',
  'x-original-url',
  'x-original-uri',
  'x-original-method',
  'x-rewrite-url',
  'x-http-host-override',
  'x-url-scheme',
  'x-arr-ssl',
  'front-end-https',
  'cloudfront-forwarded-proto',
  // Who has shown a certificate, and what replies say of the platform.
  'x-client-verify',
  'x-client-cert',
  'x-client-dn',
  'x-platform-cache',
  'x-platform-cluster',
  'x-platform-router',
  // CGI programs take HTTP_PROXY for a setting of their own.
  'proxy',
]);
/** Beginnings of such names. Others, such as `x-client-`, also begin names that applications choose for themselves. */
const beginningsSaidByNobody = ['x-forwarded-', 'x-offshoot-', 'x-ssl-client-', 'ssl-client-'];
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

/** For text that is kept for long: a part of a text is a window on all of it, and keeps all of it from being freed. */
export const copyOf = (text: string) => Buffer.from(text, 'latin1').toString('latin1');

const invalid: HeaderName = { lower: '', inRequest: 'invalid', inReply: 'invalid' };

/** Programs behind CGI cannot tell `X_Client_IP` from `X-Client-IP`, so names with an underscore do not get past the edge. */
const isOfEdge = (lower: string) =>
  lower.includes('_') ||
  toldToApps.has(lower) ||
  saidByNobody.has(lower) ||
  beginningsSaidByNobody.some((beginning) => lower.startsWith(beginning));

function requestKind(lower: string): HeaderKind {
  if (isOfEdge(lower)) return 'told-by-edge';
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

/** `lines` are whole headers, each with its end; `names` are in lower case. */
export function linesWithout(lines: string, names: ReadonlySet<string>): string {
  const kept = lines.split('\r\n').filter((line) => line !== '' && !names.has(line.slice(0, line.indexOf(':')).toLowerCase()));
  return kept.map((line) => `${line}\r\n`).join('');
}
