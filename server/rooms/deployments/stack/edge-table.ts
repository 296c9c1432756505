/**
 * What the edge is told of an environment: its routes as resolved, as far as it has their hosts, and of each app how its requests and files are served.
 */
import type {
  EdgeEnvironment,
  EnvironmentState,
  FilesAt,
  Instance,
  Location,
  PathRedirect,
  Route,
  RouteTls,
  Upstream,
} from '../../../../edge/routing/table.ts';
import type { App, Location as ConfiguredLocation, Redirects, ResolvedRoute } from '../../builds/public.ts';
import { claimOf, type Claims } from '../deploy/claim-hosts.ts';
import { hostOf } from './host-names.ts';
import { clusterOf } from './relationships.ts';
import type { Stack } from './stack.ts';
import { appRoot } from './runtime-variables.ts';

export interface EdgeSituation {
  /** A number higher than that of the last table that was sent. */
  version: number;
  state: EnvironmentState;
  /** The instances of each app, and of each service that answers routes; what does not run has none. */
  instances: Record<string, readonly Instance[]>;
  /** The files of each app: its slug at `/app`, and the mounts that files are served from. */
  files: Record<string, readonly FilesAt[]>;
  /** Off: routes of `https` are answered over plain HTTP. */
  tls: boolean;
  /** The hosts that the environment has claimed. */
  hosts: Claims;
}

export function edgeEnvironmentOf(stack: Stack, { version, state, instances, files, tls, hosts }: EdgeSituation): EdgeEnvironment {
  const routes = edgeRoutes(stack, hosts, tls);
  const routed = new Set(routes.flatMap((route) => (route.type === 'upstream' ? [route.upstream] : [])));
  return {
    cluster: clusterOf(stack),
    version,
    state,
    deployment: stack.deployment.id,
    restrict_robots: stack.settings.restrict_robots,
    http_access: stack.settings.http_access,
    routes,
    upstreams: Object.fromEntries([
      ...Object.values(stack.model.applications)
        .filter(({ name }) => routed.has(name))
        .map((app) => [app.name, upstreamOf(app, instances[app.name] ?? [], files[app.name] ?? [])] as const),
      ...Object.keys(stack.model.services)
        .filter((name) => routed.has(name))
        .map((name) => [name, serviceUpstream(instances[name] ?? [])] as const),
    ]),
  };
}

interface Address {
  scheme: 'http' | 'https';
  host: string;
  claim: number;
  path: string;
}

/** Undefined where the environment does not have the host. */
function addressOf(url: string, hosts: Claims): Address | undefined {
  const host = hostOf(url) ?? '';
  const claim = claimOf(hosts, host);
  if (claim === undefined) return undefined;
  const { protocol, pathname } = new URL(url);
  const path = decodeURI(pathname);
  return { scheme: protocol === 'https:' ? 'https' : 'http', host, claim, path: path.endsWith('/') ? path : `${path}/` };
}

const hostAndPath = ({ host, path }: Address) => `${host}${path}`;

/**
 * Without TLS, routes of `https` stand in for those of `http` at the same place, which would only lead to them; and whatever leads to a host of
 * this environment leads there over plain HTTP.
 */
function edgeRoutes({ routes }: Stack, claims: Claims, tls: boolean): Route[] {
  const resolved = Object.entries(routes).flatMap(([url, route]) => {
    const address = addressOf(url, claims);
    return address ? [{ route, address }] : [];
  });
  if (tls) return resolved.map(({ route, address }) => edgeRoute(route, address, (to) => to));
  const hosts = new Set(resolved.map(({ address }) => address.host));
  const secure = new Set(resolved.filter(({ address }) => address.scheme === 'https').map(({ address }) => hostAndPath(address)));
  const plain = (to: string) => (hosts.has(URL.parse(to)?.hostname ?? '') ? to.replace(/^https:/, 'http:') : to);
  return resolved
    .filter(({ address }) => address.scheme === 'https' || !secure.has(hostAndPath(address)))
    .map(({ route, address }) => withoutTransportSecurity(edgeRoute(route, { ...address, scheme: 'http' }, plain)));
}

const withoutTransportSecurity = (route: Route): Route => ({
  ...route,
  strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
});

function edgeRoute(route: ResolvedRoute, address: Address, leadTo: (to: string) => string): Route {
  const { enabled, include_subdomains, preload } = route.tls.strict_transport_security;
  const base = {
    original_url: route.original_url,
    ...address,
    redirects: 'redirects' in route ? edgeRedirects(route.redirects, leadTo) : { expires: '-1s', paths: {} },
    strict_transport_security: { enabled: enabled ?? false, include_subdomains: include_subdomains ?? false, preload: preload ?? false },
    ...(address.scheme === 'https' && { tls: edgeTls(route.tls) }),
  };
  switch (route.type) {
    case 'upstream':
      return {
        ...base,
        type: 'upstream',
        upstream: route.upstream.split(':', 1)[0] ?? '',
        cache: route.cache,
        sticky: route.sticky.enabled,
        ...(route.ssi.enabled && { ssi: true }),
      };
    case 'redirect':
    case 'proxy':
      return { ...base, type: route.type, to: leadTo(route.to) };
  }
}

/** Versions before 1.2 are spoken with nobody, so asking for one of them asks for nothing. */
const edgeTls = ({ min_version, client_authentication, client_certificate_authorities }: ResolvedRoute['tls']): RouteTls => ({
  min_version: min_version === 'TLSv1.2' || min_version === 'TLSv1.3' ? min_version : null,
  client_authentication,
  client_certificate_authorities,
});

const edgeRedirects = ({ expires, paths }: Redirects, leadTo: (to: string) => string) => ({
  expires,
  paths: Object.fromEntries(
    Object.entries(paths).map(([path, redirect]): [string, PathRedirect] => [
      path,
      { ...redirect, to: leadTo(redirect.to), prefix: redirect.prefix ?? false, append_suffix: redirect.append_suffix ?? false },
    ]),
  ),
});

const upstreamOf = ({ web }: App, instances: readonly Instance[], files: readonly FilesAt[]): Upstream => ({
  protocol: web.upstream.protocol,
  instances: [...instances],
  locations: Object.fromEntries(Object.entries(web.locations).map(([path, location]) => [path, edgeLocation(location)])),
  files: [...files],
  app_root: appRoot,
});

/** A service gets every request as it came: it has no files, and no locations. */
const serviceUpstream = (instances: readonly Instance[]): Upstream => ({
  protocol: 'http',
  instances: [...instances],
  locations: {},
  files: [],
  app_root: appRoot,
});

const edgeLocation = ({ index, ...location }: ConfiguredLocation): Location => ({ ...location, index: index ?? [] });
