/**
 * The table in memory: from a host to its environment in a few lookups, whatever their number, and from there to the route with the longest path.
 * Each environment is prepared by itself, so that putting one touches no other. A host that two claim belongs to the first until it lets go.
 */
import type { EdgeEnvironment, Route } from './table.ts';

export interface Table {
  /** False: a version at least as high is there already. */
  put(environment: EdgeEnvironment): boolean;
  remove(cluster: string): boolean;
  find(scheme: 'http' | 'https', host: string, path: string): Found | undefined;
  get(cluster: string): EdgeEnvironment | undefined;
  /** Cluster to version. */
  versions(): Record<string, number>;
  environments(): Iterable<EdgeEnvironment>;
  /** Hosts that more than one environment claims, with those who wait for it. */
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

interface Entry {
  environment: EdgeEnvironment;
  /** By host, then by scheme, the longest path first. */
  hosts: Map<string, Record<Route['scheme'], Route[]>>;
}

/** A name of the DNS has no more. */
const labelsMax = 127;

export function openTable(): Table {
  const entries = new Map<string, Entry>();
  /** Who claims a host, in the order in which they came; the first has it. */
  const claims = new Map<string, Entry[]>();
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
      replaceClaims(claims, former, entry);
      changed(cluster, environment);
      return true;
    },
    remove(cluster) {
      const former = entries.get(cluster);
      if (!former) return false;
      entries.delete(cluster);
      replaceClaims(claims, former, undefined);
      changed(cluster, undefined);
      return true;
    },
    find(scheme, host, path) {
      const name = claims.has(host) ? host : wildcardOf(claims, host);
      const entry = name === undefined ? undefined : claims.get(name)?.[0];
      if (name === undefined || !entry) return undefined;
      return { environment: entry.environment, route: routeAt(entry.hosts.get(name)?.[scheme] ?? [], path) };
    },
    get: (cluster) => entries.get(cluster)?.environment,
    versions: () => Object.fromEntries([...entries].map(([cluster, { environment }]) => [cluster, environment.version])),
    environments: () => entries.values().map(({ environment }) => environment),
    contested: () =>
      [...claims].flatMap(([host, [owner, ...others]]) =>
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
    const routes = hosts.get(route.host) ?? { http: [], https: [] };
    routes[route.scheme].push(route);
    hosts.set(route.host, routes);
  }
  for (const routes of hosts.values()) {
    for (const scheme of ['http', 'https'] as const) routes[scheme].sort((a, b) => b.path.length - a.path.length);
  }
  return { environment, hosts };
}

/** Whoever keeps a host also keeps its turn. */
function replaceClaims(claims: Map<string, Entry[]>, former: Entry | undefined, entry: Entry | undefined) {
  for (const host of former?.hosts.keys() ?? []) {
    const claimants = claims.get(host) ?? [];
    const turn = claimants.findIndex((claimant) => claimant === former);
    if (entry?.hosts.has(host)) claimants[turn] = entry;
    else claimants.splice(turn, 1);
    if (claimants.length === 0) claims.delete(host);
  }
  for (const host of entry?.hosts.keys() ?? []) {
    if (former?.hosts.has(host)) continue;
    const claimants = claims.get(host);
    if (claimants && entry) claimants.push(entry);
    else if (entry) claims.set(host, [entry]);
  }
}

/** The closest: of `a.b.org`, `*.b.org` comes before `*.org`. */
function wildcardOf(claims: Map<string, Entry[]>, host: string): string | undefined {
  let dot = host.indexOf('.');
  for (let label = 0; dot !== -1 && label < labelsMax; label++) {
    const wildcard = `*${host.slice(dot)}`;
    if (dot > 0 && claims.has(wildcard)) return wildcard;
    dot = host.indexOf('.', dot + 1);
  }
  return undefined;
}

/** `/shop` is at `/shop/`, as people expect. */
function routeAt(routes: Route[], path: string): Route | undefined {
  for (const route of routes) {
    if (path.startsWith(route.path) || (path.length === route.path.length - 1 && route.path.startsWith(path))) return route;
  }
  return undefined;
}
