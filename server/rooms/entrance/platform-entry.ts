/**
 * The platform as an entry of the edge's table: the host of its address, and what this machine calls itself. Over https its requests go to the API, with
 * bodies of any length, as Git pushes large ones and the API bounds each for itself; over plain HTTP they are led to https.
 */
import { platformCluster, type Route } from '../../../edge/routing/table.ts';
import type { Config } from '../../config.ts';
import type { Entry } from '../../drivers/edge/told.ts';
import type { ApiProcess } from './api-processes.ts';

const upstream = 'api';
const ofThisMachine = ['localhost', '127.0.0.1', '[::1]'];
/** No environment may claim a host of the platform; of one that has it still, from before the settings were changed, it is taken. */
const claim = Number.MAX_SAFE_INTEGER;
const requestSizeMax = '1t';

export const platformEntry = ({ url }: Pick<Config, 'url'>, processes: readonly ApiProcess[]): Entry => ({
  cluster: platformCluster,
  state: 'open',
  deployment: 'platform',
  restrict_robots: false,
  http_access: { is_enabled: true, addresses: [], basic_auth: {} },
  routes: [...new Set([new URL(url).hostname, ...ofThisMachine])].flatMap((host) => routesAt(host, url)),
  upstreams: {
    [upstream]: {
      protocol: 'http',
      instances: processes.map(({ host, port }) => ({ id: `${host}:${port}`, address: { host, port } })),
      locations: { '/': everything },
      files: [],
      app_root: '/',
    },
  },
});

const everything = {
  root: null,
  index: [],
  allow: true,
  scripts: false,
  passthru: true,
  expires: '-1s',
  headers: {},
  rules: {},
  request_buffering: { enabled: false, max_request_size: requestSizeMax },
};

function routesAt(host: string, url: string): Route[] {
  const shared = {
    original_url: `${url}/`,
    host,
    claim,
    path: '/',
    redirects: { expires: '-1s', paths: {} },
    // The API says by itself what browsers are to remember of it.
    strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
  };
  return [
    {
      ...shared,
      scheme: 'https',
      type: 'upstream',
      upstream,
      cache: { enabled: false, default_ttl: 0, cookies: [], headers: [] },
      sticky: false,
    },
    { ...shared, scheme: 'http', type: 'redirect', to: `${url}/` },
  ];
}
