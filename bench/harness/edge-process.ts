/** The edge as one process, for benches: the table of one installation with two environments, and its access log; no control socket. */
import { mkdirSync } from 'node:fs';

import { openEdge } from '../../edge/edge.ts';
import { openEnvironmentLogs } from '../../edge/logs/environment-logs.ts';
import { openTable } from '../../edge/routing/routing.ts';
import { openAppsByCluster } from '../../edge/routing/served-apps.ts';
import type { EdgeEnvironment } from '../../edge/routing/table.ts';

const [port = '', logs = '', ...upstreams] = process.argv.slice(2);

const environment = (host: string, upstreamPort: number): EdgeEnvironment => ({
  cluster: host.replaceAll('.', '-'),
  version: 1,
  state: 'open',
  deployment: 'first',
  restrict_robots: true,
  http_access: { is_enabled: true, addresses: [], basic_auth: {} },
  routes: [
    {
      type: 'upstream',
      upstream: 'app',
      cache: { enabled: true, default_ttl: 0, cookies: ['*'], headers: ['Accept', 'Accept-Language'] },
      sticky: false,
      original_url: 'http://{default}/',
      scheme: 'http',
      host,
      path: '/',
      redirects: { expires: '-1s', paths: {} },
      strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
    },
  ],
  upstreams: {
    app: {
      protocol: 'http',
      instances: [{ id: 'app.0', address: { host: '127.0.0.1', port: upstreamPort } }],
      locations: {
        '/': {
          root: null,
          index: [],
          rules: {},
          allow: true,
          scripts: true,
          passthru: true,
          expires: '-1s',
          headers: {},
          request_buffering: { enabled: true, max_request_size: '250m' },
        },
      },
      files: [],
      app_root: '/app',
    },
  },
});

const table = openTable();
upstreams.forEach((upstream, index) => table.put(environment(`app-${index}.test`, Number(upstream))));
mkdirSync(logs, { recursive: true });
const environmentLogs = openEnvironmentLogs(logs, openAppsByCluster(table), () => {});
const edge = openEdge({
  table,
  onRecord: (record) => environmentLogs.write(record),
  onWake: () => {},
  trustedProxies: [],
  routerName: 'bench',
  limits: { connectionsPerAddressMax: 20_000, requestsPerAddressMax: 20_000 },
});
edge.server.listen(Number(port), '127.0.0.1');
process.once('SIGTERM', () => process.exit());
