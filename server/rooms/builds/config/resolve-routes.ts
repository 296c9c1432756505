/**
 * Routes as they are in one environment: placeholders are hosts, previews have hosts of their own, and http leads to https. Of two that end up
 * at the same URL one counts: `{default}` before a host that is only called so here, both before `{all}`.
 */
import type { HttpAccess, ResolvedRoute, Route } from './model.ts';

export interface Hosts {
  /** What `{default}` stands for: the generated host, or the domain that is the default. */
  defaultDomain: string;
  /** What `{all}` stands for; empty: the default alone. */
  domains: readonly string[];
  isProduction: boolean;
  /** `http` while TLS is off: what is configured as https is then reached, and shown, with http. */
  scheme: 'http' | 'https';
  /** The ports at which people reach the edge, if not 80 and 443. */
  ports?: Partial<Record<'http' | 'https', number>>;
  /** For previews, the domains of production; undefined where it has none or is not known. */
  production?: Pick<Hosts, 'defaultDomain' | 'domains'>;
  /** For previews, which domain stands in for one of production. */
  replacements?: Readonly<Record<string, string>>;
}

export interface SharedByRoutes {
  restrict_robots: boolean;
  http_access: HttpAccess;
}

interface Url {
  scheme: string;
  host: string;
  path: string;
}

interface Candidate {
  route: Route;
  original: string;
  url: Url;
  /** What placeholders of the route stand for, in its URL and in its destination. */
  domain: string;
  /** Of several routes at the same URL, the one with the lowest rank counts. */
  rank: number;
  isPrimary: boolean;
}

const ranks = { default: 0, host: 1, all: 2, plain: 3 };

/** Resolved routes by final URL, in the order of the configuration. */
export function resolveRoutes(
  routes: Readonly<Record<string, Route>>,
  hosts: Hosts,
  shared: SharedByRoutes,
): Record<string, ResolvedRoute> {
  const hostOf = hostsHere(routes, hosts);
  const best = new Map<string, Candidate>();
  for (const candidate of candidatesOf(routes, hosts, hostOf)) {
    // Where a placeholder stands for a wildcard, nothing can be before it: there is no host www.*.example.org.
    if (candidate.url.host.lastIndexOf('*') > 0) continue;
    const key = printed(candidate.url, hosts);
    const other = best.get(key);
    if (!other || candidate.rank < other.rank) best.set(key, candidate);
  }
  const ours = new Set([...best.values()].map(({ url }) => url.host));
  const resolved: [string, ResolvedRoute][] = [];
  for (const [key, candidate] of best) {
    const route = resolve(candidate, hosts, hostOf, ours, shared);
    // While TLS is off, a redirect from http to https would lead to itself.
    if (route.type === 'redirect' && [route.to, `${route.to}/`].includes(key)) continue;
    resolved.push([key, route]);
    const plain = printed({ ...candidate.url, scheme: 'http' }, hosts);
    if (candidate.url.scheme === 'https' && !best.has(plain)) resolved.push([plain, towards(key, candidate, hosts, shared)]);
  }
  return Object.fromEntries(resolved);
}

const splitUrl = (url: string): Url => {
  const [, scheme = '', host = '', path = ''] = /^(https?):\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  return { scheme: scheme.toLowerCase(), host, path };
};

function printed({ scheme, host, path }: Url, { ports }: Hosts): string {
  const port = scheme === 'http' ? ports?.http : ports?.https;
  return `${scheme}://${host}${port === undefined || port === (scheme === 'http' ? 80 : 443) ? '' : `:${port}`}${path}`;
}

function candidatesOf(routes: Readonly<Record<string, Route>>, hosts: Hosts, hostOf: (host: string) => string): Candidate[] {
  const entries = Object.entries(routes);
  const isAnyPrimary = entries.some(([, { primary }]) => primary);
  const first = entries.find(([, { type }]) => type === 'upstream')?.[0];
  return entries.flatMap(([original, route]) => {
    const { scheme, host, path } = splitUrl(original);
    const isAll = host.includes('{all}');
    const rank = isAll ? ranks.all : host.includes('{default}') || hosts.isProduction ? ranks.default : ranks.host;
    return domainsFor(isAll, hosts).map((domain, place): Candidate => ({
      route,
      original,
      url: { scheme: hosts.scheme === 'http' ? 'http' : scheme, host: hostOf(filled(host, domain)), path },
      domain,
      rank: hosts.scheme === 'http' && scheme === 'http' ? ranks.plain + rank : rank,
      isPrimary: (isAll || place === 0) && (isAnyPrimary ? route.primary === true : original === first),
    }));
  });
}

/** What a placeholder stands for. Previews have their generated host beside the domains that stand in for those of production; the first is the best. */
function domainsFor(isAll: boolean, { isProduction, defaultDomain, domains, production, replacements = {} }: Hosts): readonly string[] {
  if (isProduction) return isAll && domains.length > 0 ? domains : [defaultDomain];
  const replaced = isAll ? (production?.domains ?? []) : [production?.defaultDomain ?? ''];
  return [...replaced.flatMap((domain) => replacements[domain] ?? []), defaultDomain];
}

const filled = (text: string, domain: string) => text.replaceAll(/\{(?:default|all)\}/g, domain);

/**
 * What a host is called in this environment. In production it stays as it is. In a preview, production's main host becomes the generated one, hosts below it
 * stay below it, and others are put in front of it, so that they stay apart.
 */
function hostsHere(routes: Readonly<Record<string, Route>>, { isProduction, defaultDomain, production, replacements = {} }: Hosts) {
  if (isProduction) return (host: string) => host;
  const written = Object.keys(routes)
    .map((url) => splitUrl(url).host)
    .filter((host) => !host.includes('{'));
  const named = written.map((host) => host.replace(/^\*\./, ''));
  const labels = (host: string) => host.split('.').length;
  const known = production?.defaultDomain ?? named.toSorted((a, b) => labels(a) - labels(b))[0];
  const ours = new Set([...written, ...named, ...(production?.domains ?? []), ...(known === undefined ? [] : [known])]);
  return (host: string): string => {
    if (Object.hasOwn(replacements, host)) return replacements[host] ?? host;
    if (!ours.has(host)) return host;
    if (host === known) return defaultDomain;
    return host.endsWith(`.${known}`) ? `${host.slice(0, -`.${known}`.length)}.${defaultDomain}` : `${host}.${defaultDomain}`;
  };
}

function resolve(
  { route, original, domain, isPrimary }: Candidate,
  hosts: Hosts,
  hostOf: (host: string) => string,
  ours: ReadonlySet<string>,
  shared: SharedByRoutes,
): ResolvedRoute {
  const destination = (to: string) => {
    const { scheme, host, path } = splitUrl(filled(to, domain));
    const here = hostOf(host.toLowerCase());
    if (scheme === '') return to;
    return ours.has(here)
      ? printed({ scheme: hosts.scheme === 'http' ? 'http' : scheme, host: here, path }, hosts)
      : `${scheme}://${host}${path}`;
  };
  const common = { ...shared, primary: isPrimary, production_url: productionUrl(original, domain, hosts), original_url: original };
  if (route.type === 'proxy') return { ...route, ...common, to: destination(route.to) };
  const paths = Object.entries(route.redirects.paths).map(([path, one]) => [path, { ...one, to: destination(one.to) }] as const);
  const redirects = { ...route.redirects, paths: Object.fromEntries(paths) };
  return route.type === 'upstream' ? { ...route, ...common, redirects } : { ...route, ...common, redirects, to: destination(route.to) };
}

/** The URL of the same route in production; null where that is not known. */
function productionUrl(original: string, domain: string, hosts: Hosts): string | null {
  const { scheme, host, path } = splitUrl(original);
  const theirs = hosts.isProduction ? domain : hosts.production?.defaultDomain;
  if (theirs === undefined && host.includes('{')) return null;
  return printed({ scheme: hosts.scheme === 'http' ? 'http' : scheme, host: filled(host, theirs ?? ''), path }, hosts);
}

/** The redirect from http to https that is added where the configuration has no route for http. */
function towards(to: string, { route, original, domain }: Candidate, hosts: Hosts, shared: SharedByRoutes): ResolvedRoute {
  const plain = original.replace(/^https:/, 'http:');
  return {
    type: 'redirect',
    to,
    id: null,
    primary: false,
    attributes: {},
    tls: route.tls,
    redirects: { expires: '-1s', paths: {} },
    original_url: plain,
    production_url: productionUrl(plain, domain, hosts),
    ...shared,
  };
}
