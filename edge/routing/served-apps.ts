/** Which app a request was for, as the table says: its upstream. Asked for each request, so it is worked out once for each environment that is put. */
import type { Table } from './routing.ts';
import type { EdgeEnvironment } from './table.ts';

export interface AppsByCluster {
  has(cluster: string): boolean;
  /** Undefined: the route leads to no app. */
  ofRoute(cluster: string, originalUrl: string | null): string | undefined;
  ofInstance(cluster: string, instance: string): string | undefined;
}

interface Apps {
  byRoute: Map<string, string>;
  byInstance: Map<string, string>;
}

export function openAppsByCluster(table: Pick<Table, 'get'>): AppsByCluster {
  const known = new WeakMap<EdgeEnvironment, Apps>();
  const appsOf = (cluster: string): Apps | undefined => {
    const environment = table.get(cluster);
    if (!environment) return undefined;
    const found = known.get(environment);
    if (found) return found;
    const apps = appsIn(environment);
    known.set(environment, apps);
    return apps;
  };
  return {
    has: (cluster) => table.get(cluster) !== undefined,
    ofRoute: (cluster, originalUrl) => (originalUrl === null ? undefined : appsOf(cluster)?.byRoute.get(originalUrl)),
    ofInstance: (cluster, instance) => appsOf(cluster)?.byInstance.get(instance),
  };
}

/** Names of apps become names of folders; what could lead elsewhere is none. */
const folderName = /^[a-z0-9][a-z0-9_-]*$/i;

function appsIn({ routes, upstreams }: EdgeEnvironment): Apps {
  const safe = (name: string) => folderName.test(name);
  return {
    byRoute: new Map(
      routes.flatMap((route) => (route.type === 'upstream' && safe(route.upstream) ? [[route.original_url, route.upstream] as const] : [])),
    ),
    byInstance: new Map(
      Object.entries(upstreams).flatMap(([name, { instances }]) => (safe(name) ? instances.map(({ id }) => [id, name] as const) : [])),
    ),
  };
}
