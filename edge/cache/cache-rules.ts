/**
 * What may be kept, for whom, and for how long: the `cache` of a route and the headers of requests and replies. What keeps it is cache.ts.
 *
 * - Only GET and HEAD, without Authorization, Range, a body, or another method in a header, which some applications heed.
 * - Cookies: `*` keeps every request with a cookie out; of a list, the cookies that are in it are part of the key, and others are as if they were not
 *   there; with an empty list all are.
 * - Replies that set a cookie, vary by everything, or say private, no-store or no-cache are not kept. Whatever else Cache-Control says overrides
 *   `default_ttl`.
 */
import { type RegexpList, regexpList } from '../regexp/bounded-regexp.ts';
import type { Exchange } from '../exchange.ts';
import type { CacheRules } from '../routing/table.ts';

/** The headers of a reply, as it came. */
export interface ReplyHeaders {
  /** Lower case; in step with `values`. */
  names: readonly string[];
  values: readonly string[];
}

interface Reading {
  isOff: boolean;
  shunsCookies: boolean;
  cookieNames: ReadonlySet<string>;
  cookiePatterns: RegexpList | undefined;
  headers: readonly string[];
}

const readings = new WeakMap<CacheRules, Reading>();
const keyCharactersMax = 16_384;
const varyNamesMax = 10;
/** A year, as for certificates and files that never change. */
const lifeSecondsMax = 31_536_000;

/** Statuses that may be kept when the reply says for how long, and those that may also when it does not. */
const statusesByHeader: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 302, 307, 308, 404, 405, 410, 414, 501]);
const statusesByDefault: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 302, 307, 308, 404, 410]);

export function readingOf(rules: CacheRules): Reading {
  const known = readings.get(rules);
  if (known) return known;
  const isPattern = (entry: string) => entry.length > 2 && entry.startsWith('/') && entry.endsWith('/');
  const patterns = rules.cookies.filter(isPattern).map((entry) => entry.slice(1, -1));
  const reading: Reading = {
    isOff: !rules.enabled,
    shunsCookies: rules.cookies.includes('*'),
    cookieNames: new Set(rules.cookies.filter((entry) => !isPattern(entry))),
    cookiePatterns: patterns.length > 0 ? regexpList(patterns) : undefined,
    headers: [...new Set(rules.headers.map((name) => name.toLowerCase()))].toSorted(),
  };
  readings.set(rules, reading);
  return reading;
}

/** Headers that turn a GET into another method for some applications: what they answer then is no answer to a GET. */
const otherMethods = ['x-http-method-override', 'x-http-method', 'x-method-override'];

/** Whether a request has anything to do with the cache. */
export function isForCache({ isOff, shunsCookies }: Reading, { method, headers }: Exchange): boolean {
  if (isOff || (method !== 'GET' && method !== 'HEAD')) return false;
  if (shunsCookies && headers.cookie !== undefined) return false;
  return (
    headers.authorization === undefined &&
    headers.range === undefined &&
    headers.upgrade === undefined &&
    otherMethods.every((name) => headers[name] === undefined) &&
    headers['transfer-encoding'] === undefined &&
    (headers['content-length'] === undefined || headers['content-length'] === '0')
  );
}

/** Undefined: it cannot be told what the reply depends on. */
export function keyOf(reading: Reading, exchange: Exchange): string | undefined {
  const { scheme, authority, path, query, headers } = exchange;
  const cookies = reading.shunsCookies ? '' : cookiesOf(reading, headers.cookie);
  if (cookies === undefined) return undefined;
  // Applications put the port of Host into what they answer, so another port is another reply.
  let key = `${scheme}://${authority}${path}?${query}`;
  for (const name of reading.headers) key += `\n${headers[name] ?? ''}`;
  if (cookies !== '') key += `\n\n${cookies}`;
  return key.length > keyCharactersMax ? undefined : key;
}

/** A key among those that a reply said it varies by. */
export const variantKey = (key: string, names: readonly string[], exchange: Exchange) =>
  `${key}\n\n\n${names.map((name) => seenByApplication(name, exchange)).join('\n')}`;

/** Some headers the application gets from us, not from the client. */
function seenByApplication(name: string, { scheme, address, headers }: Exchange): string {
  if (name === 'x-forwarded-proto') return scheme;
  if (name === 'x-client-ip' || name === 'x-forwarded-for') return address;
  return headers[name] ?? '';
}

function cookiesOf({ cookieNames, cookiePatterns }: Reading, cookie: string | undefined): string | undefined {
  if (cookie === undefined || (cookieNames.size === 0 && !cookiePatterns)) return '';
  const kept: string[] = [];
  for (const pair of cookie.split(';')) {
    const text = pair.trim();
    const name = text.split('=', 1)[0] ?? '';
    const found = cookieNames.has(name) || cookiePatterns?.first(name);
    if (found === 'undecided') return undefined;
    if (found) kept.push(text);
  }
  return kept.toSorted().join(';');
}

export interface Freshness {
  seconds: number;
  /** What the reply varies by beyond the key. */
  vary: string[];
}

/** Undefined: not to be kept. */
export function freshnessOf(rules: CacheRules, status: number, headers: ReplyHeaders): Freshness | undefined {
  const { names } = headers;
  if (!statusesByHeader.has(status) || names.includes('set-cookie') || names.includes('content-range')) return undefined;
  const seconds = lifeSeconds(rules, status, headers);
  if (seconds === undefined || seconds <= 0) return undefined;
  // Not every application says that it encodes for who asks, and not everybody can read every encoding.
  const encoding = names.includes('content-encoding') ? 'accept-encoding' : '';
  const vary = varyOf(`${joined(headers, 'vary') ?? ''},${encoding}`, readingOf(rules).headers);
  return vary && { seconds: Math.min(seconds, lifeSecondsMax), vary };
}

function joined({ names, values }: ReplyHeaders, name: string): string | undefined {
  let index = names.indexOf(name);
  if (index === -1) return undefined;
  let value = values[index];
  while (value !== undefined && (index = names.indexOf(name, index + 1)) !== -1) value += `, ${values[index] ?? ''}`;
  return value;
}

function lifeSeconds({ default_ttl }: CacheRules, status: number, headers: ReplyHeaders): number | undefined {
  const control = joined(headers, 'cache-control')?.toLowerCase();
  const expires = joined(headers, 'expires');
  if (control === undefined && expires === undefined) return statusesByDefault.has(status) ? default_ttl : undefined;
  if (/(?:^|[,\s])(?:private|no-store|no-cache)(?:$|[,\s=])/.test(control ?? '')) return undefined;
  const [, stated] =
    /(?:^|[,\s])s-maxage\s*=\s*"?(\d{1,10})/.exec(control ?? '') ?? /(?:^|[,\s])max-age\s*=\s*"?(\d{1,10})/.exec(control ?? '') ?? [];
  const age = Number.parseInt(joined(headers, 'age') ?? '0', 10) || 0;
  if (stated !== undefined) return Number(stated) - age;
  // A date that cannot be read, such as 0, is in the past.
  const until = Date.parse(expires ?? '');
  const from = Date.parse(joined(headers, 'date') ?? '');
  return Number.isNaN(until) ? undefined : Math.floor((until - (Number.isNaN(from) ? Date.now() : from)) / 1000) - age;
}

/** Cookies are a matter of the rules, and what is in the key already does not have to be in it twice. */
function varyOf(vary: string, inKey: readonly string[]): string[] | undefined {
  const names = [...new Set(vary.split(',').map((name) => name.trim().toLowerCase()))].filter(
    (name) => name !== '' && name !== 'cookie' && !inKey.includes(name),
  );
  return names.includes('*') || names.length > varyNamesMax ? undefined : names.toSorted();
}
