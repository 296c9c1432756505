/**
 * What the edge is told. The control plane sends one `EdgeEnvironment` for each environment and sends it again, with a higher version, when it
 * changes; nothing else decides where a request goes. The shapes are JSON, kept on disk as they came.
 */
export interface EdgeEnvironment {
  /**
   * `<project id>-<machine name>`: the key of the table, `X-Platform-Cluster`, and the name of the folder of its logs. Lower-case letters, digits, dashes;
   * or `platformCluster`.
   */
  cluster: string;
  /** A higher one replaces a lower one; the same or a lower one changes nothing. */
  version: number;
  state: EnvironmentState;
  /**
   * Of one that is holding, in milliseconds since 1970: from then on it is open all the same. For a hold of what goes on running, which ends also where
   * whoever asked for it has died; one without it ends when something else is sent.
   */
  holds_until?: number;
  /** Changes with each deployment; what the cache kept of another one is forgotten. */
  deployment: string;
  restrict_robots: boolean;
  http_access: HttpAccess;
  routes: Route[];
  /** What `upstream` of a route names. */
  upstreams: Record<string, Upstream>;
}

/**
 * - open: requests go to instances.
 * - holding: requests wait, bounded, until it is open again, or as long as it holds.
 * - sleeping: the first request asks the control plane to wake it; all wait as when holding.
 * - paused, broken: a page says so.
 * - full: it slept, was asked for, and there is no room for it now; a page says so.
 */
export type EnvironmentState = 'open' | 'holding' | 'sleeping' | 'paused' | 'broken' | 'full';

/** Valid credentials get in whatever the addresses say; without credentials the first address that matches decides; with none matching, in. */
export interface HttpAccess {
  is_enabled: boolean;
  addresses: { permission: 'allow' | 'deny'; address: string }[];
  /** User to password. */
  basic_auth: Record<string, string>;
}

/** The entry of the platform itself: its API and pages. No environment can have this name. What is asked of it is in no log here, as addresses of pages hold secrets. */
export const platformCluster = '@platform';

interface RouteBase {
  /** As the user wrote it, `https://{default}/`: told to the application as X-Original-Route. */
  original_url: string;
  /** The scheme of the connection: the control plane sends a route of `https` as `http` while TLS is off. */
  scheme: 'http' | 'https';
  /** Exact, or `*.` and a name for whatever stands before it. Lower case, without port. */
  host: string;
  /**
   * The number of the claim under which the environment has the host. Each is given out once, and a host is claimed anew only when nobody has it any more: of
   * two environments with the same host, the one with the higher number is its owner, and the other's table is out of date. Absent: from before there were
   * claims, which is lower than any.
   */
  claim?: number;
  /** Begins and ends with a slash; the longest that begins the request's path wins. */
  path: string;
  redirects: { expires: string; paths: Record<string, PathRedirect> };
  strict_transport_security: { enabled: boolean; include_subdomains: boolean; preload: boolean };
  /** Absent: from before there was TLS, and nothing beyond what holds for all. */
  tls?: RouteTls;
}

/** What a route asks of those who come over TLS, beyond what holds for all. */
export interface RouteTls {
  min_version: 'TLSv1.2' | 'TLSv1.3' | null;
  /** Whether clients have to show a certificate, or may. */
  client_authentication: 'request' | 'require' | null;
  /** PEM: of those who sign them. */
  client_certificate_authorities: string[];
}

export type Route = RouteBase &
  /** `ssi`: what its pages include is put into them here. Absent: no. */
  (
    | { type: 'upstream'; upstream: string; cache: CacheRules; sticky: boolean; ssi?: boolean }
    | { type: 'redirect'; to: string }
    /** `to` without a path keeps the request's path; with one it replaces the route's. */
    | { type: 'proxy'; to: string }
  );

export interface CacheRules {
  enabled: boolean;
  default_ttl: number;
  /** Names, `*` for any, or `/re/`. A request with one of them is not cached; an empty list lets all pass as if they were not there. */
  cookies: string[];
  /** Headers of the request that are part of the key. */
  headers: string[];
}

export interface PathRedirect {
  to: string;
  regexp: boolean;
  prefix: boolean;
  append_suffix: boolean;
  code: 301 | 302 | 307 | 308;
  expires: string | null;
}

export interface Upstream {
  protocol: 'http' | 'fastcgi';
  instances: Instance[];
  /** By path: begins with a slash, the longest that begins the request's whole path wins, whatever the route's. Empty: all goes to the instances. */
  locations: Record<string, Location>;
  /** Where the application's files are on this machine. */
  files: FilesAt[];
  /** The application's root inside its container: `/app`. Roots of locations are below it; FastCGI is told paths in it. */
  app_root: string;
}

export interface Instance {
  id: string;
  /** `socket` is where it is on this machine, with no link on the way. */
  address: { host: string; port: number } | { socket: string };
}

/** A folder of the container (`/app`, `/app/public/uploads`) and the folder of this machine that it is: `below` of `folder`. The longest `at` wins. */
export interface FilesAt {
  at: string;
  /** The root of a volume: the platform made it, and no application can put a link on the way to it. */
  folder: string;
  /**
   * A path inside the volume, where applications can put links; '' is the whole volume. Missing in a table that an older edge has kept, where `folder`
   * holds both: then nothing of it is believed.
   */
  below?: string;
  /** What is in it never changes: a slug. */
  is_immutable: boolean;
}

interface LocationRule {
  allow: boolean;
  scripts: boolean;
  /** True: what is not a file goes to the application; a path: to that front controller. */
  passthru: boolean | string;
  /** `-1s`, `5m`, `1d`. */
  expires: string;
  headers: Record<string, string>;
}

export interface Location extends LocationRule {
  /** Relative to `app_root`; null: no static files. */
  root: string | null;
  index: string[];
  /** By regular expression, the first that matches. */
  rules: Record<string, Partial<LocationRule>>;
  request_buffering: { enabled: boolean; max_request_size: string };
}
