/**
 * The table in memory: from a host to its environment in a few lookups, whatever their number, and from there to the route with the longest path.
 * Each environment is prepared by itself, so that putting one touches no other. Whose a host is, the numbers of the claims say (table.ts): in whatever
 * order environments come, or are read from the disk, the same one has it.
 */
import type { EdgeEnvironment, Route, RouteTls } from './table.ts';

export interface Table {
  /** False: a version at least as high is there already. */
  put(environment: EdgeEnvironment): boolean;
  remove(cluster: string): boolean;
  find(scheme: 'http' | 'https', host: string, path: string): Found | undefined;
  /** What all routes of a host ask for together: a handshake comes before anybody knows the path. Undefined: nobody has the host. */
  securityOf(host: string): HostSecurity | undefined;
  get(cluster: string): EdgeEnvironment | undefined;
  /** Cluster to version. */
  versions(): Record<string, number>;
  environments(): Iterable<EdgeEnvironment>;
  /** Hosts that more than one environment has in its routes: whose it is, and whose tables are out of date. */
  contested(): { host: string; owner: string; others: string[] }[];
  /** Called after each change; `undefined` stands for removed. */
  onChange(listener: ChangeListener): void;
}

type ChangeListener = (cluster: string, environment: EdgeEnvironment | undefined) => void;

export interface Found {
  environment: EdgeEnvironment;
  /** Undefined: the host is known, but nothing is at that path. */
  route: Route | undefined;
}

export type HostSecurity = RouteTls;

interface Entry {
  environment: EdgeEnvironment;
  hosts: Map<string, ServedHost>;
}

/** One host of one environment. */
interface ServedHost {
  environment: EdgeEnvironment;
  /** The number of the claim to the host; 0 is from before there were claims. */
  claim: number;
  /** By scheme, the longest path first. */
  routes: Record<Route['scheme'], Route[]>;
  security: HostSecurity;
}

/** A DNS name has no more. */
const labelsMax = 127;

export function openTable(): Table {
  const entries = new Map<string, Entry>();
  /** The environments that have each host, its owner's first. */
  const servedHosts = new Map<string, ServedHost[]>();
  const listeners: ChangeListener[] = [];

  const changed = (cluster: string, environment: EdgeEnvironment | undefined) => {
    for (const listener of listeners) listener(cluster, environment);
  };

  return {
    put(environment) {
      const { cluster, version } = environment;
      const former = entries.get(cluster);
      if (former && former.environment.version >= version) return false;
      const entry = prepare(environment);
      entries.set(cluster, entry);
      replaceServedHosts(servedHosts, former, entry);
      changed(cluster, environment);
      return true;
    },
    remove(cluster) {
      const former = entries.get(cluster);
      if (!former) return false;
      entries.delete(cluster);
      replaceServedHosts(servedHosts, former, undefined);
      changed(cluster, undefined);
      return true;
    },
    find(scheme, host, path) {
      const served = servedHostOf(servedHosts, host);
      return served && { environment: served.environment, route: routeAt(served.routes[scheme], path) };
    },
    securityOf: (host) => servedHostOf(servedHosts, host)?.security,
    get: (cluster) => entries.get(cluster)?.environment,
    versions: () => Object.fromEntries([...entries].map(([cluster, { environment }]) => [cluster, environment.version])),
    environments: () => entries.values().map(({ environment }) => environment),
    contested: () =>
      [...servedHosts].flatMap(([host, [owner, ...others]]) =>
        owner && others.length > 0
          ? [{ host, owner: owner.environment.cluster, others: others.map(({ environment }) => environment.cluster) }]
          : [],
      ),
    onChange: (listener) => void listeners.push(listener),
  };
}

function prepare(environment: EdgeEnvironment): Entry {
  const hosts: Entry['hosts'] = new Map();
  for (const route of environment.routes) {
    const served = hosts.get(route.host) ?? { environment, claim: 0, routes: { http: [], https: [] }, security: noSecurity };
    served.claim = Math.max(served.claim, route.claim ?? 0);
    served.routes[route.scheme].push(route);
    if (route.scheme === 'https' && route.tls) served.security = strictest(served.security, route.tls);
    hosts.set(route.host, served);
  }
  for (const { routes } of hosts.values()) {
    for (const scheme of ['http', 'https'] as const) routes[scheme].sort((a, b) => b.path.length - a.path.length);
  }
  return { environment, hosts };
}

const noSecurity: HostSecurity = { min_version: null, client_authentication: null, client_certificate_authorities: [] };

/** Of each, that which asks for more. */
const strictest = (one: HostSecurity, other: HostSecurity): HostSecurity => ({
  min_version: laterOf(versionOrder, one.min_version, other.min_version),
  client_authentication: laterOf(authenticationOrder, one.client_authentication, other.client_authentication),
  client_certificate_authorities: [...new Set([...one.client_certificate_authorities, ...other.client_certificate_authorities])],
});
const versionOrder = [null, 'TLSv1.2', 'TLSv1.3'] as const;
const authenticationOrder = [null, 'request', 'require'] as const;
const laterOf = <T>(order: readonly T[], one: T, other: T): T => (order.indexOf(one) > order.indexOf(other) ? one : other);

/** The owner first. Without claims there is no owner, but it is always the same one that comes first. */
const inOrder = (a: ServedHost, b: ServedHost) => b.claim - a.claim || (a.environment.cluster < b.environment.cluster ? -1 : 1);

function replaceServedHosts(servedHosts: Map<string, ServedHost[]>, former: Entry | undefined, entry: Entry | undefined) {
  for (const [host, served] of former?.hosts ?? []) {
    const others = (servedHosts.get(host) ?? []).filter((other) => other !== served);
    if (others.length > 0) servedHosts.set(host, others);
    else servedHosts.delete(host);
  }
  for (const [host, served] of entry?.hosts ?? []) servedHosts.set(host, [...(servedHosts.get(host) ?? []), served].toSorted(inOrder));
}

/**
 * Of all names that stand for the host, the one that was claimed last: what is older is out of date. Of those with the same claim, the closest: an exact name
 * comes before `*.b.org`, and that before `*.org`.
 */
function servedHostOf(servedHosts: Map<string, ServedHost[]>, host: string): ServedHost | undefined {
  let found = servedHosts.get(host)?.[0];
  let dot = host.indexOf('.');
  for (let label = 0; dot !== -1 && label < labelsMax; label++) {
    const wildcard = dot > 0 ? servedHosts.get(`*${host.slice(dot)}`)?.[0] : undefined;
    if (wildcard && wildcard.claim > (found?.claim ?? -1)) found = wildcard;
    dot = host.indexOf('.', dot + 1);
  }
  return found;
}

/** `/shop` is at `/shop/`, as people expect. */
function routeAt(routes: Route[], path: string): Route | undefined {
  for (const route of routes) {
    if (path.startsWith(route.path) || (path.length === route.path.length - 1 && route.path.startsWith(path))) return route;
  }
  return undefined;
}
