/** An edge in processes of its own, as the platform starts it, for tests. */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Edge } from '../../server/drivers/edge/edge.ts';
import { type EdgeOptions, openEdge } from '../../server/drivers/edge/open-edge.ts';
import { openLog } from '../../server/kernel/log.ts';
import type { EdgeEnvironment, Instance } from '../routing/table.ts';
import { freePort } from './ports.ts';

export interface RunningEdge extends AsyncDisposable {
  edge: Edge;
  options: EdgeOptions;
  port: number;
  /** As a control plane does that comes back, perhaps with other settings. */
  reopen(changes?: Partial<EdgeOptions>): Promise<Edge>;
  get(host: string, path?: string): Promise<{ status: number; body: string }>;
  accessLog(cluster: string): string;
  /** What the edge wrote to its own log. */
  said(): string;
}

const log = openLog('silent');

export async function startRunningEdge(changes: Partial<EdgeOptions> = {}): Promise<RunningEdge> {
  const data = mkdtempSync(join(tmpdir(), 'offshoot-edge-'));
  const options: EdgeOptions = {
    folder: join(data, 'edge'),
    logs: join(data, 'logs'),
    volumes: join(data, 'volumes'),
    listeners: [{ host: '127.0.0.1', port: await freePort(), scheme: 'http' }],
    processes: 1,
    trustedProxies: [],
    routerName: 'test',
    ...changes,
  };
  const running = {
    edge: await openEdge(options, log),
    options,
    get port() {
      return options.listeners[0]?.port ?? 0;
    },
    async reopen(others: Partial<EdgeOptions> = {}) {
      await running.edge.close();
      Object.assign(options, others);
      running.edge = await openEdge(options, log);
      return running.edge;
    },
    get: (host: string, path = '/') => get(running.port, host, path),
    accessLog(cluster: string) {
      const file = join(options.logs, cluster, 'app', 'access.log');
      return existsSync(file) ? readFileSync(file, 'utf8') : '';
    },
    said: () => readFileSync(join(options.folder, 'edge.log'), 'utf8'),
    async [Symbol.asyncDispose]() {
      await running.edge.stop(0);
      await rm(data, { recursive: true, force: true });
    },
  };
  return running;
}

function get(port: number, host: string, path: string) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, headers: { host }, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body })).on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

/** `http://<cluster>.localhost/`, served by these instances. */
export function environmentWith(
  cluster: string,
  version: number,
  instances: Instance[],
  changes: Partial<EdgeEnvironment> = {},
): EdgeEnvironment {
  return {
    cluster,
    version,
    state: 'open',
    deployment: String(version),
    restrict_robots: false,
    http_access: { is_enabled: false, addresses: [], basic_auth: {} },
    routes: [
      {
        type: 'upstream',
        original_url: 'http://{default}/',
        scheme: 'http',
        host: `${cluster}.localhost`,
        path: '/',
        redirects: { expires: '-1s', paths: {} },
        strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
        upstream: 'app',
        cache: { enabled: false, default_ttl: 0, cookies: [], headers: [] },
        sticky: false,
      },
    ],
    upstreams: { app: { protocol: 'http', instances, locations: {}, files: [], app_root: '/app' } },
    ...changes,
  };
}
