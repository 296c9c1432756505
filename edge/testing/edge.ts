/** An edge to test: without a process, on a port of its own, with one environment per call, and raw bytes to say to it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import { openEdge, type Edge, type EdgeOptions } from '../edge.ts';
import type { EdgeLimits } from '../limits.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import { openTable, type Table } from '../routing/routing.ts';
import type { EdgeEnvironment, Instance, Location, Route, Upstream } from '../routing/table.ts';

export const upstreamRoute = (host: string, path = '/', some: Partial<Route> = {}): Route =>
  ({
    type: 'upstream',
    upstream: 'app:http',
    cache: { enabled: false, default_ttl: 0, cookies: ['*'], headers: [] },
    sticky: false,
    original_url: `http://{default}${path}`,
    scheme: 'http',
    host,
    path,
    redirects: { expires: '-1s', paths: {} },
    strict_transport_security: { enabled: false, include_subdomains: false, preload: false },
    ...some,
  }) as Route;

export const upstreamOf = (instances: Instance[], some: Partial<Upstream> = {}): Upstream => ({
  protocol: 'http',
  instances,
  locations: {},
  files: [],
  app_root: '/app',
  ...some,
});

export const locationWith = (some: Partial<Location>): Location => ({
  root: null,
  index: [],
  rules: {},
  allow: true,
  scripts: true,
  passthru: true,
  expires: '-1s',
  headers: {},
  request_buffering: { enabled: true, max_request_size: '250m' },
  ...some,
});

let version = 0;

/** Each is newer than the one before. */
export const environmentOf = (instances: Instance[], some: Partial<EdgeEnvironment> = {}): EdgeEnvironment => ({
  cluster: 'project-main',
  version: ++version,
  state: 'open',
  deployment: 'first',
  restrict_robots: false,
  http_access: { is_enabled: true, addresses: [], basic_auth: {} },
  routes: [upstreamRoute('app.test')],
  upstreams: { 'app:http': upstreamOf(instances) },
  ...some,
});

/** By port. */
const edges = new Map<number, Edge>();

export interface TestEdge extends AsyncDisposable {
  edge: Edge;
  table: Table;
  port: number;
  records: RequestRecord[];
  wakes: string[];
  stderr: string[];
}

export async function openTestEdge(
  environments: EdgeEnvironment[],
  limits: Partial<EdgeLimits> = {},
  some: Partial<EdgeOptions> = {},
): Promise<TestEdge> {
  const table = openTable();
  const records: RequestRecord[] = [];
  const wakes: string[] = [];
  const stderr: string[] = [];
  for (const environment of environments) table.put(environment);
  const edge = openEdge({
    table,
    onRecord: (record) => records.push(record),
    onWake: (cluster) => wakes.push(cluster),
    onStderr: (_cluster, _instance, text) => stderr.push(text),
    trustedProxies: [],
    routerName: 'router-1',
    limits,
    ...some,
  });
  edge.server.listen(0, '127.0.0.1');
  await once(edge.server, 'listening');
  const address = edge.server.address();
  if (typeof address !== 'object' || !address) throw new Error('not listening');
  edges.set(address.port, edge);
  return { edge, table, port: address.port, records, wakes, stderr, [Symbol.asyncDispose]: () => edge.close(0) };
}

/** How many requests have reached it so far, whatever became of them. */
export const arrivals = ({ edge, records }: TestEdge) => edge.outstanding() + records.length;

const stepMs = 10;

/** Until it is disposed of, time passes only while this process runs: where the machine stood still, so did the clock by which the edge limits things. */
export function clockOfTurns(): Disposable {
  vi.useFakeTimers({ toFake: ['performance'] });
  const clock = setInterval(() => vi.advanceTimersByTime(stepMs), stepMs);
  return {
    [Symbol.dispose]() {
      clearInterval(clock);
      vi.useRealTimers();
    },
  };
}

export interface Client {
  socket: Socket;
  /** All that came, as Latin-1. */
  text(): string;
  say(bytes: string | Buffer): void;
  /** Waits until the pattern is there, or the connection has ended. */
  heard(pattern: RegExp): Promise<string>;
  closed(): Promise<string>;
}

export async function openClient(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  const heard = async (pattern: RegExp) => {
    while (!pattern.test(text) && !socket.closed) await sleep(2);
    return text;
  };
  return { socket, text: () => text, say: (bytes) => void socket.write(bytes, 'latin1'), heard, closed: () => heard(/(?!)/) };
}

/** A process that stood still meanwhile has heard nothing, which is not the same as that nothing was said: so it listens again and again. */
const silentLooks = 10;

/** All that the edge answers to these bytes until it closes, or has answered all that was asked and falls silent; not beginning is not silence. */
export async function answerTo(port: number, bytes: string, silentMs = 150): Promise<string> {
  const outstanding = () => edges.get(port)?.outstanding() ?? 0;
  const ofOthers = outstanding();
  const client = await openClient(port);
  client.say(bytes);
  while (client.text() === '' && !client.socket.destroyed) await sleep(2);
  for (let before = -1, quietLooks = 0; quietLooks < silentLooks && !client.socket.destroyed;) {
    const isQuiet = before === client.text().length && outstanding() <= ofOthers;
    quietLooks = isQuiet ? quietLooks + 1 : 0;
    before = client.text().length;
    await sleep(silentMs / silentLooks);
  }
  client.socket.destroy();
  return client.text();
}

export const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
