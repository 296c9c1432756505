/** Routes: as configured, and as they are in one environment. */
interface RouteBase {
  id: string | null;
  /** As written; null: the configuration does not say. */
  primary: boolean | null;
  attributes: Record<string, string>;
  tls: Tls;
}

export interface UpstreamRoute extends RouteBase {
  type: 'upstream';
  /** `app:http` */
  upstream: string;
  cache: Cache;
  ssi: { enabled: boolean };
  sticky: { enabled: boolean };
  redirects: Redirects;
}

export interface RedirectRoute extends RouteBase {
  type: 'redirect';
  to: string;
  redirects: Redirects;
}

export interface ProxyRoute extends RouteBase {
  type: 'proxy';
  to: string;
}

export type Route = UpstreamRoute | RedirectRoute | ProxyRoute;

/** A route with what it became in an environment; kept by its final URL. */
export type ResolvedRoute = Route & {
  primary: boolean;
  production_url: string | null;
  /** The URL as configured, such as `https://{default}/`. */
  original_url: string;
  restrict_robots: boolean;
  http_access: HttpAccess;
};

export interface HttpAccess {
  is_enabled: boolean;
  addresses: { permission: 'allow' | 'deny'; address: string }[];
  basic_auth: Record<string, string>;
}

export interface Cache {
  enabled: boolean;
  /** Seconds. */
  default_ttl: number;
  cookies: string[];
  headers: string[];
}

export interface Redirects {
  expires: string;
  /** Redirects by path, or by regular expression where `regexp` is true. */
  paths: Record<string, PathRedirect>;
}

export interface PathRedirect {
  to: string;
  regexp: boolean;
  /** Null where `regexp` is true, as `append_suffix` is. */
  prefix: boolean | null;
  append_suffix: boolean | null;
  code: 301 | 302 | 307 | 308;
  expires: string | null;
}

export interface Tls {
  min_version: 'TLSv1.0' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3' | null;
  client_authentication: 'request' | 'require' | null;
  client_certificate_authorities: string[];
  strict_transport_security: { enabled: boolean | null; include_subdomains: boolean | null; preload: boolean | null };
}
