/** The keys of a route, and what its URL may be. */
import { X509Certificate } from 'node:crypto';
import type { PathRedirect, Redirects, Route, Tls } from '../model.ts';
import { childOf, isSaid, type Node } from '../node.ts';
import { quoted } from '../message.ts';
import {
  choice,
  flag,
  integer,
  label,
  list,
  mapOf,
  maybe,
  object,
  optional,
  orNull,
  type ReportAt,
  type Read,
  required,
  type Shape,
  shorthand,
  text,
  refined,
} from '../shape.ts';
import type { Context } from './context.ts';
import { endpointOf } from './relationships.ts';
import { duration, regularExpression } from './values.ts';

const redirectsMax = 50_000;
/** The limit of a route without its redirects. */
const routeBytesMax = 128 * 1024;
const defaultTtlSecondsMax = 365 * 86_400;

const pathRedirect = object({
  to: required(text('a path or a URL', (value) => value !== '' && !/[\r\n]/.test(value))),
  regexp: optional(flag, false),
  prefix: maybe(flag),
  append_suffix: maybe(flag),
  code: optional(choice(302, 301, 307, 308), 302),
  expires: orNull(duration),
});

const paths: Shape<Record<string, PathRedirect>> = refined(
  mapOf(pathRedirect, 'a map of redirects by path', { entriesMax: redirectsMax, dots: 'begin it with a slash or ^' }),
  (written, { path, report }, node) => {
    const found: [string, PathRedirect][] = [];
    for (const [key, { prefix, append_suffix, ...redirect }] of Object.entries(written)) {
      const complain = (message: string) => report.error(childOf(node, key).at, `${path}.${key}`, message);
      const from = redirect.regexp ? regularExpression(key) : key.startsWith('/') ? key : undefined;
      if (from === undefined)
        complain(`Found ${quoted(key)}, expected ${redirect.regexp ? 'a regular expression' : 'a path that begins with /'}.`);
      if (redirect.regexp && (prefix !== undefined || append_suffix !== undefined)) {
        complain('Found regexp together with prefix or append_suffix, expected regexp alone.');
      }
      const whole = redirect.regexp
        ? { prefix: null, append_suffix: null }
        : { prefix: prefix ?? true, append_suffix: append_suffix ?? true };
      if (from !== undefined) found.push([from, { ...redirect, ...whole }]);
    }
    return Object.fromEntries(found);
  },
);

const redirects: Shape<Redirects> = object({ expires: optional(duration, '-1s'), paths: optional(paths, {}) });

const switchable: Shape<{ enabled: boolean }> = shorthand(
  refined(flag, (enabled) => ({ enabled })),
  object({ enabled: optional(flag, false) }),
);

const tls: Shape<Tls> = object({
  min_version: orNull(choice('TLSv1.0', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3')),
  client_authentication: orNull(choice('request', 'require')),
  client_certificate_authorities: optional(list(text('a certificate in PEM', isCertificate)), []),
  strict_transport_security: optional(object({ enabled: orNull(flag), include_subdomains: orNull(flag), preload: orNull(flag) }), {
    enabled: null,
    include_subdomains: null,
    preload: null,
  }),
});

/** One that the edge cannot read would keep it from answering anybody at that host. */
function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

const cache = object({
  enabled: optional(flag, true),
  default_ttl: optional(integer(0, defaultTtlSecondsMax, 'seconds'), 0),
  cookies: optional(list(text('a name, * or /a regular expression/', isCookie)), ['*']),
  headers: optional(list(text('the name of a header')), ['Accept', 'Accept-Language']),
});

const keys = object(
  {
    type: required(choice('upstream', 'redirect', 'proxy')),
    upstream: maybe(text('application:http')),
    to: maybe(text('a URL such as https://{default}/', isDestination)),
    primary: orNull(flag),
    id: orNull(label()),
    attributes: optional(mapOf(label(), 'a map of text'), {}),
    cache: maybe(cache),
    ssi: maybe(switchable),
    sticky: maybe(switchable),
    redirects: maybe(redirects),
    tls: optional(tls, noTls()),
  },
  { ignored: { http_access: 'it is set for each environment' } },
);

function isCookie(name: string): boolean {
  const [, pattern] = /^\/(.+)\/$/s.exec(name) ?? [];
  return name !== '' && (pattern === undefined || regularExpression(pattern) !== undefined);
}

function noTls(): Tls {
  return {
    min_version: null,
    client_authentication: null,
    client_certificate_authorities: [],
    strict_transport_security: { enabled: null, include_subdomains: null, preload: null },
  };
}

/** The keys that each type has beside those of all routes; the first one is required. */
const keysOfType = {
  upstream: ['upstream', 'cache', 'ssi', 'sticky', 'redirects'],
  redirect: ['to', 'redirects'],
  proxy: ['to'],
} as const;

export const route = (context: Context): Shape<Route> =>
  refined(keys, (found, reportAt, node) => {
    const { type, primary, id, attributes, tls: ownTls } = found;
    for (const key of ['upstream', 'to', 'cache', 'ssi', 'sticky', 'redirects'] as const) {
      if (found[key] !== undefined && !keysOfType[type].some((known) => known === key)) {
        reportAt.report.warn(
          childOf(node, key).at,
          `${reportAt.path}.${key}`,
          `"${key}" is ignored: a route of the type ${type} has none.`,
        );
      }
    }
    const shared = { id, primary, attributes, tls: ownTls };
    const one =
      type === 'upstream' ? upstreamRoute(context, found, shared, reportAt, node) : otherRoute(type, found, shared, reportAt, node);
    if (one && Buffer.byteLength(JSON.stringify({ ...one, redirects: {} })) > routeBytesMax) {
      reportAt.report.error(
        node.at,
        reportAt.path,
        `Found a route of more than ${routeBytesMax} bytes beside its redirects, expected fewer.`,
      );
    }
    return one;
  });

type Written = Read<typeof keys>;
type Shared = Pick<Route, 'id' | 'primary' | 'attributes' | 'tls'>;

function upstreamRoute(context: Context, found: Written, shared: Shared, reportAt: ReportAt, node: Node): Route | undefined {
  const here = { ...reportAt, path: `${reportAt.path}.upstream` };
  const at = childOf(node, 'upstream');
  if (found.upstream === undefined) {
    // An upstream that is there and wrong has already been reported.
    if (!isSaid(node, 'upstream')) reportAt.report.error(node.at, here.path, 'Found nothing, expected the upstream, such as app:http.');
    return undefined;
  }
  const [name = '', endpoint, more] = found.upstream.split(':');
  if (more !== undefined) reportAt.report.error(at.at, here.path, `Found ${quoted(found.upstream)}, expected one such as app:http.`);
  const named = context.targets.get(name);
  // A service that has mistakes has no endpoints yet, and is complained about already.
  if (named?.kind === 'service' && named.endpoints && !named.answersRoutes) {
    reportAt.report.error(at.at, here.path, `Found the service ${quoted(name)}, which does not answer HTTP, expected an application.`);
    return undefined;
  }
  const target = more === undefined ? endpointOf(context.targets, name, endpoint ?? null, at, here) : undefined;
  return target && { ...shared, ...upstreamDefaults(), ...said(found), type: 'upstream', upstream: `${target.service}:${target.endpoint}` };
}

const upstreamDefaults = () => ({
  cache: { enabled: true, default_ttl: 0, cookies: ['*'], headers: ['Accept', 'Accept-Language'] },
  ssi: { enabled: false },
  sticky: { enabled: false },
  redirects: noRedirects(),
});

const said = ({ cache: ownCache, ssi, sticky, redirects: own }: Written) => ({
  ...(ownCache && { cache: ownCache }),
  ...(ssi && { ssi }),
  ...(sticky && { sticky }),
  ...(own && { redirects: own }),
});

const noRedirects = (): Redirects => ({ expires: '-1s', paths: {} });

function otherRoute(
  type: 'redirect' | 'proxy',
  { to, redirects: own }: Written,
  shared: Shared,
  reportAt: ReportAt,
  node: Node,
): Route | undefined {
  if (to === undefined) {
    if (!isSaid(node, 'to'))
      reportAt.report.error(node.at, `${reportAt.path}.to`, 'Found nothing, expected where it leads, such as https://{default}/.');
    return undefined;
  }
  return type === 'proxy' ? { ...shared, type, to } : { ...shared, type, to, redirects: own ?? noRedirects() };
}

/** The route by which a single app is reached where no routes are given. */
export const defaultRoute = (app: string): Route => ({
  id: null,
  primary: null,
  attributes: {},
  tls: noTls(),
  ...upstreamDefaults(),
  type: 'upstream',
  upstream: `${app}:http`,
});

const urlShape =
  /^(https?):\/\/((?:\*\.)?(?:[a-z0-9_-]+\.)*(?:\{default\}|\{all\}|[a-z0-9-]+)(?:\.[a-z0-9-]+)*\.?)(?::(\d+))?(\/[^\s?#]*)?$/i;
const urlCharactersMax = 1000;

/** The URL with a slash at its end and without the usual port of its scheme; undefined where it is not a valid URL of a route. */
export function routeUrl(url: string): string | undefined {
  const match = url.length <= urlCharactersMax ? urlShape.exec(url) : null;
  if (!match) return undefined;
  const [, scheme = '', host = '', port, path = '/'] = match;
  if (port !== undefined && port !== (scheme.toLowerCase() === 'http' ? '80' : '443')) return undefined;
  return `${scheme.toLowerCase()}://${host.toLowerCase()}${path.endsWith('/') ? path : `${path}/`}`;
}

function isDestination(to: string): boolean {
  return /^(?:https?:\/\/[^\s/?#]+|\/)\S*$/i.test(to) && !/[\r\n]/.test(to);
}
