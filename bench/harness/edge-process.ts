/**
 * The edge as one process, for benches: the table of one installation with two environments, and its access log; no control socket. With `BENCH_TLS`, a port
 * and the files of a certificate and of its key, it listens for TLS there too. With a `records=` and a Unix socket after the upstreams, each request is told there,
 * as the edge tells the platform.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { randomBytes } from 'node:crypto';

import { openEdge } from '../../edge/edge.ts';
import { frameOfBatch } from '../../edge/logs/batch-frames.ts';
import { openEnvironmentLogs } from '../../edge/logs/environment-logs.ts';
import { openRecords, type ToldBatch } from '../../edge/logs/records.ts';
import { openTable } from '../../edge/routing/routing.ts';
import { openAppsByCluster } from '../../edge/routing/served-apps.ts';
import type { EdgeEnvironment, Route } from '../../edge/routing/table.ts';
import { openCertificates } from '../../edge/tls/certificates.ts';
import { ChallengeAnswers } from '../../edge/tls/challenges.ts';

const [port = '', logs = '', ...others] = process.argv.slice(2);
const upstreams = others.filter((word) => /^\d+$/.test(word));
const recordsAt = others.find((word) => word.startsWith('records='))?.slice('records='.length);

const route = (host: string, scheme: Route['scheme']): Route => ({
  type: 'upstream',
  upstream: 'app',
  cache: { enabled: true, default_ttl: 0, cookies: ['*'], headers: ['Accept', 'Accept-Language'] },
  sticky: false,
  original_url: `${scheme}://{default}/`,
  scheme,
  host,
  path: '/',
  redirects: { expires: '-1s', paths: {} },
  strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
});

const environment = (host: string, upstreamPort: number): EdgeEnvironment => ({
  cluster: host.replaceAll('.', '-'),
  version: 1,
  state: 'open',
  deployment: 'first',
  restrict_robots: true,
  http_access: { is_enabled: true, addresses: [], basic_auth: {} },
  routes: [route(host, 'http'), route(host, 'https')],
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
const apps = openAppsByCluster(table);
const environmentLogs = openEnvironmentLogs(logs, apps, () => {});
const records = recordsAt === undefined ? undefined : openRecords(apps, tellAt(recordsAt));
records?.want(true);

function tellAt(address: string) {
  const reader = connect(address);
  return async (batch: ToldBatch) => {
    if (!reader.write(frameOfBatch(batch))) await once(reader, 'drain');
    return true;
  };
}

const [securePort = '', certificateFile = '', keyFile = ''] = (process.env.BENCH_TLS ?? '').split(',');
const certificates = openCertificates();
const edge = openEdge({
  table,
  onRecord(record) {
    records?.push(record);
    environmentLogs.write(record);
  },
  onWake: () => {},
  trustedProxies: [],
  routerName: 'bench',
  tls: { certificates, challenges: new ChallengeAnswers(), ticketSecret: randomBytes(32) },
  limits: { connectionsPerAddressMax: 20_000, requestsPerAddressMax: 20_000 },
});
edge.server.listen(Number(port), '127.0.0.1');
if (securePort !== '') {
  const [certificate, key] = [readFileSync(certificateFile, 'utf8'), readFileSync(keyFile, 'utf8')];
  certificates.put({ id: 'bench', version: 1, names: ['app-0.test'], certificate, chain: [], key, is_default: true });
  createServer({ allowHalfOpen: true, noDelay: true }, (socket) => edge.acceptSecure(socket)).listen(Number(securePort), '127.0.0.1');
}
process.once('SIGTERM', () => process.exit());
