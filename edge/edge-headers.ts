/** What the edge adds to every reply, and what of others' words it takes away for that. */
import type { EdgeEnvironment, Route } from './routing/table.ts';
import type { Visit } from './client/visit.ts';

const oneYearSeconds = 31_536_000;

export interface EdgeHeaders {
  /** Whole headers, each with its end. */
  lines: string;
  /** Names in lower case. */
  dropped: ReadonlySet<string> | undefined;
}

export const edgeHeaders = (visit: Visit, environment: EdgeEnvironment | undefined, routerName: string): EdgeHeaders => ({
  lines: linesOf(visit, environment, routerName),
  dropped: droppedFor(visit, environment),
});

function linesOf(visit: Visit, environment: EdgeEnvironment | undefined, routerName: string): string {
  const cache = visit.cache === null ? '' : `X-Platform-Cache: ${visit.cache}\r\n`;
  const cluster = environment ? `X-Platform-Cluster: ${environment.cluster}\r\n` : '';
  const robots = environment?.restrict_robots ? 'X-Robots-Tag: noindex, nofollow\r\n' : '';
  return `${cache}${cluster}X-Platform-Router: ${routerName}\r\nX-Request-Id: ${visit.requestId}\r\n${robots}${securityLine(visit)}`;
}

function securityLine({ route, scheme }: Visit): string {
  if (!route || !isSecurityTold(route, scheme)) return '';
  const { include_subdomains, preload } = route.strict_transport_security;
  return `Strict-Transport-Security: max-age=${oneYearSeconds}${include_subdomains ? '; includeSubDomains' : ''}${preload ? '; preload' : ''}\r\n`;
}

const isSecurityTold = (route: Route, scheme: string) => scheme === 'https' && route.strict_transport_security.enabled;

const nothing = undefined;
const robots = new Set(['x-robots-tag']);
const security = new Set(['strict-transport-security']);
const both = new Set([...robots, ...security]);

function droppedFor({ route, scheme }: Visit, environment: EdgeEnvironment | undefined): ReadonlySet<string> | undefined {
  const isSecurity = route !== undefined && isSecurityTold(route, scheme);
  if (environment?.restrict_robots) return isSecurity ? both : robots;
  return isSecurity ? security : nothing;
}
