/**
 * Redirects: of single paths of a route, and of whole routes.
 *
 * - Paths are those of the URL, from its first slash. A plain one is for itself and (`prefix`) for what is below it: `/from` is for `/from/x`, not for
 *   `/fromage`. The longest wins, one for itself alone before one with all below it; then come the regular expressions, in order.
 * - What is below is appended (`append_suffix`); the query is not, unless `to` says `$is_args$args`.
 * - A route that redirects answers 301 and keeps what comes after the route's path, and the query: `https://www.example.com/a?b` goes to the same
 *   place at `https://example.com/`.
 * - Whatever ends up in Location is ASCII without blanks, quotes or line ends; one that begins with a slash begins with one only, so that no request
 *   can turn a redirect of this site into one to another.
 *
 * However many paths there are, a request costs a few lookups: one for each length of the known paths that its own path can be cut to.
 */
import { type RegexpList, regexpList } from '../regexp/bounded-regexp.ts';
import { durationSeconds } from './durations-and-sizes.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { expiryHeaders } from '../files/expiry.ts';
import { decodePath, encodeText, normalisePath } from './paths.ts';
import type { PathRedirect, Route } from './table.ts';
import { fillIn, type Variables } from './template.ts';

interface Redirects {
  /** Holds for paths that say nothing themselves. */
  expires: string;
  exact: Map<string, PathRedirect>;
  below: Map<string, PathRedirect>;
  /** The lengths of the paths in `below`, without a slash at the end: a request's path is cut only to these. */
  lengths: ReadonlySet<number>;
  regexps: RegexpList;
  regexpTargets: PathRedirect[];
}

/** `none`: most routes have no redirects, and learn so in one lookup. */
const known = new WeakMap<Route, Redirects | 'none'>();
/** Longer ones fit into no header line that clients accept. */
const locationCharactersMax = 8192;

/** The redirect of one of the route's paths or, of a route that redirects as a whole, its own. Undefined: the request goes on. */
export function redirectFor(route: Route, exchange: Pick<Exchange, 'path' | 'query'>): Reply | undefined {
  let redirects = known.get(route);
  if (redirects === undefined) {
    redirects = readRedirects(route);
    known.set(route, redirects);
  }
  const reply = redirects === 'none' ? undefined : redirectOfPath(redirects, exchange);
  if (reply) return reply;
  return route.type === 'redirect' ? redirectOfRoute(route.to, route.path, exchange) : undefined;
}

function redirectOfPath(redirects: Redirects, { path, query }: Pick<Exchange, 'path' | 'query'>): Reply | undefined {
  const asked = normalisePath(path);
  const exact = redirects.exact.get(asked);
  if (exact) return replyTo(exact, redirects.expires, '', { path: asked, query });
  const below = longestAbove(redirects, asked);
  if (below) return replyTo(below.target, redirects.expires, asked.slice(below.length), { path: asked, query });
  const found = redirects.regexps.first(decodePath(asked) ?? asked);
  // Not redirected while it is undecided: the application is asked, which is what happens where there is no redirect.
  const target = typeof found === 'object' ? redirects.regexpTargets[found.index] : undefined;
  return target && typeof found === 'object'
    ? replyTo(target, redirects.expires, '', { path: asked, query, groups: found.groups, named: found.named })
    : undefined;
}

function longestAbove({ below, lengths }: Redirects, path: string): { target: PathRedirect; length: number } | undefined {
  if (below.size === 0) return undefined;
  for (let length = path.length; length >= 0; length = path.lastIndexOf('/', length - 1)) {
    const target = lengths.has(length) ? below.get(path.slice(0, length)) : undefined;
    if (target) return { target, length };
    if (length === 0) return undefined;
  }
  return undefined;
}

function replyTo(
  { to, code, append_suffix, expires }: PathRedirect,
  expiresElse: string,
  suffix: string,
  variables: Variables,
): Reply | undefined {
  const target = fillIn(to, variables);
  return redirection(code, append_suffix && suffix !== '' ? withSuffix(target, suffix) : target, durationSeconds(expires ?? expiresElse));
}

/** Undefined where it would be longer than a header may be. */
function redirection(status: number, target: string, expiresSeconds: number): Reply | undefined {
  const location = encodeText(target.replace(/^[/\\]{2,}/, '/'));
  if (location.length > locationCharactersMax) return undefined;
  return { status, headers: [['Location', location], ...expiryHeaders(expiresSeconds)], body: '' };
}

function redirectOfRoute(to: string, routePath: string, { path, query }: Pick<Exchange, 'path' | 'query'>): Reply | undefined {
  const below = path.startsWith(routePath) ? path.slice(routePath.length) : '';
  const target = withSuffix(to, below);
  const withQuery = query === '' ? target : `${target}${target.includes('?') ? '&' : '?'}${query}`;
  return redirection(301, withQuery, -1);
}

/** Puts the suffix before the query and the fragment of `to`, if it has any, with exactly one slash between. */
function withSuffix(to: string, suffix: string): string {
  const end = to.search(/[?#]/);
  const [base, rest] = end === -1 ? [to, ''] : [to.slice(0, end), to.slice(end)];
  const hasPath = base.startsWith('/') || /^[a-z][a-z0-9+.-]*:\/\/[^/]*\//i.test(base);
  const rooted = hasPath ? base : `${base}/`;
  const below = suffix.startsWith('/') ? suffix.slice(1) : suffix;
  if (below === '') return suffix === '/' && !rooted.endsWith('/') ? `${rooted}/${rest}` : rooted + rest;
  return `${rooted}${rooted.endsWith('/') ? '' : '/'}${below}${rest}`;
}

/** Fifty thousand redirects may be read while requests wait, so no more is done than necessary. */
function readRedirects({ redirects: { expires, paths } }: Route): Redirects | 'none' {
  const exact = new Map<string, PathRedirect>();
  const below = new Map<string, PathRedirect>();
  const lengths = new Set<number>();
  const sources: string[] = [];
  const regexpTargets: PathRedirect[] = [];
  for (const path of Object.keys(paths)) {
    const redirect = paths[path];
    if (!redirect) continue;
    if (redirect.regexp) {
      sources.push(path);
      regexpTargets.push(redirect);
    } else if (redirect.prefix) {
      const whole = normalisePath(path);
      const at = whole.endsWith('/') ? whole.slice(0, -1) : whole;
      below.set(at, redirect);
      lengths.add(at.length);
    } else exact.set(normalisePath(path), redirect);
  }
  const isNone = exact.size + below.size + sources.length === 0;
  return isNone ? 'none' : { expires, exact, below, lengths, regexps: regexpList(sources, 'passed over'), regexpTargets };
}
