/** Where a route of type `proxy` leads: a place outside, which the owner of the project names. It must not lead into the machine or its networks. */
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../routing/table.ts';
import type { Secure } from './upstream-connection.ts';

export interface ProxyTarget {
  host: string;
  port: number;
  secure: Secure;
  authority: string;
  path: string;
}

export function proxyTargetOf(
  route: Route & { type: 'proxy' },
  requestPath: string,
  mayProxyTo: (address: string) => boolean,
): ProxyTarget | undefined {
  const to = URL.parse(/^https?:\/\//i.test(route.to) ? route.to : `https://${route.to}`);
  if (!to) return undefined;
  const isTls = to.protocol === 'https:';
  const host = to.hostname.replace(/^\[|\]$/g, '');
  // An address is checked here, as nothing is looked up for it; a name is checked when it is looked up.
  if (isIP(host) !== 0 && !mayProxyTo(host)) return undefined;
  const port = Number(to.port || (isTls ? 443 : 80));
  return {
    host,
    port,
    secure: { isTls, lookup: checked(mayProxyTo) },
    authority: to.host,
    path: pathThere(route, to.pathname, requestPath),
  };
}

/**
 * The target of a proxy may, by way of a public name, be this edge again. Each passage is noted as RFC 8586 says. Past a few of them it is a circle, in
 * which one request would become as many as there is room for.
 */
export const loopLine = 'CDN-Loop: offshoot\r\n';
const passagesMax = 3;

export const isLoop = (headers: Exchange['headers']) =>
  (headers['cdn-loop'] ?? '').split(',').filter((passage) => passage.trim().split(';', 1)[0] === 'offshoot').length >= passagesMax;

/** A target without a path keeps the request's path; a target's own path takes the place of the route's. */
function pathThere({ to, path }: Route & { type: 'proxy' }, pathname: string, requestPath: string): string {
  const hasPath = /^[a-z]+:\/\/[^/]+\//i.test(to) || /^[^/:]+\//.test(to);
  if (!hasPath) return requestPath;
  const below = requestPath.slice(path.length);
  return below === '' || pathname.endsWith('/') ? `${pathname}${below}` : `${pathname}/${below}`;
}

/** The address is checked when it is used, so that a name cannot lead elsewhere the second time. */
const checked =
  (mayProxyTo: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = (addresses ?? []).filter(({ address }) => mayProxyTo(address));
      const [first] = allowed;
      if (error || !first) callback(error ?? new Error('it leads to an address that is not public'), '', 0);
      else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
