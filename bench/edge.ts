/**
 * What a request through the edge costs, against nginx and Caddy as Debian has them, turn by turn in one run, all in front of the same program:
 * processor time for each reply of 100 bytes and of 1 MiB, memory for each idle connection, and how much a neighbour's requests suffer when an
 * environment is flooded. And what recording every request costs, against an edge that records none; with EDGE_BENCH=recording that alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request, Agent } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { batchesIn } from '../edge/logs/batch-frames.ts';
import { requestsIn } from '../edge/logs/request-batch.ts';
import { freePort } from '../edge/testing/ports.ts';
import { median } from './harness/platform.ts';
import { nginxForward, openBench, processorSeconds, residentBytes, type Proxy } from './harness/proxies.ts';
import { ensurePrograms } from './harness/programs.ts';

const rounds = 3;
const warmSeconds = 3;
const runSeconds = 4;
const bounds = { smallMax: 2.5, largeMax: 1.2, caddyMax: 1, neighbourMax: 2, recordingMax: 1.05 };
/** The difference is small, so it is measured in many short turns beside each other. */
const recordingRounds = 10;
const idleConnections = 4000;
const idleWarmConnections = 500;
const neighbourSeconds = 8;
const neighbourPauseMs = 4;
const floodConnections = 200;

const programs = ensurePrograms({ nginx: 'nginx-light', caddy: 'caddy', wrk: 'wrk' });

async function load(port: number, host: string, path: string, connections: number, seconds: number) {
  const url = `http://127.0.0.1:${port}${path}`;
  const child = spawn(programs.wrk, ['-t1', `-c${connections}`, `-d${seconds}`, '--latency', '-H', `Host: ${host}`, url]);
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  await once(child, 'close');
  if (/Socket errors|Non-2xx/.test(text)) throw new Error(`${url}: ${text}`);
  const milliseconds = /99%\s+([\d.]+)(us|ms|s)/.exec(text);
  const unit = { us: 0.001, ms: 1, s: 1000 }[milliseconds?.[2] ?? 'ms'] ?? 1;
  return {
    requests: Number(/(\d+) requests in/.exec(text)?.[1]),
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
    p99: Number(milliseconds?.[1]) * unit,
  };
}

async function measure({ port, child }: Proxy, path: string, connections: number) {
  const before = processorSeconds(child);
  const result = await load(port, 'app-0.test', path, connections, runSeconds);
  return { microseconds: ((processorSeconds(child) - before) * 1e6) / result.requests, ...result };
}

async function compare(proxies: Proxy[], path: string, connections: number) {
  const results = new Map(proxies.map(({ name }) => [name, [] as Awaited<ReturnType<typeof measure>>[]]));
  for (const { port } of proxies) await load(port, 'app-0.test', path, connections, warmSeconds);
  for (let round = 0; round < rounds; round++)
    for (const proxy of proxies) results.get(proxy.name)?.push(await measure(proxy, path, connections));
  return new Map(
    [...results].map(([name, list]) => [
      name,
      {
        microseconds: median(list.map(({ microseconds }) => microseconds)),
        perSecond: median(list.map(({ perSecond }) => perSecond)),
        p99: median(list.map(({ p99 }) => p99)),
      },
    ]),
  );
}

function verdict(what: string, measured: string, isGood: boolean) {
  console.log(`${what.padEnd(44)} ${measured}: ${isGood ? 'ok' : 'TOO SLOW'}`);
  if (!isGood) process.exitCode = 1;
}

async function table(what: string, proxies: Proxy[], path: string, connections: number, max: number) {
  const results = await compare(proxies, path, connections);
  const cost = (name: string) => results.get(name)?.microseconds ?? Number.NaN;
  for (const [name, { microseconds, perSecond, p99 }] of results) {
    const ratio = (microseconds / cost('nginx')).toFixed(2);
    console.log(
      `${what} ${name.padEnd(6)} ${microseconds.toFixed(1).padStart(8)} us of processor each, ${ratio} of nginx; ${perSecond.toFixed(0)}/s, p99 ${p99.toFixed(1)} ms`,
    );
  }
  const nginx = cost('edge') / cost('nginx');
  verdict(`${what} edge / nginx`, `${nginx.toFixed(2)} (at most ${max})`, nginx <= max);
  return { nginx, caddy: cost('edge') / cost('caddy') };
}

async function idleMemory(proxy: Proxy) {
  for (const socket of await openIdle(proxy, idleWarmConnections)) socket.destroy();
  await sleep(1000);
  const before = residentBytes(proxy.child);
  const sockets = await openIdle(proxy, idleConnections);
  await sleep(1000);
  console.log(
    `an idle connection takes of ${proxy.name.padEnd(6)} ${((residentBytes(proxy.child) - before) / idleConnections / 1024).toFixed(1)} KiB`,
  );
  for (const socket of sockets) socket.destroy();
  await sleep(300);
}

/** Opens idle connections, each of which has had a reply. */
async function openIdle({ port }: Proxy, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened++) {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: app-0.test\r\n\r\n');
    await once(socket, 'data');
  }
  return sockets;
}

/** One request after another with a pause between, as a visitor's browser. */
async function neighbourP99(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const end = performance.now() + neighbourSeconds * 1000;
  while (performance.now() < end) {
    const begin = performance.now();
    const asked = request({ port, host: '127.0.0.1', agent, headers: { host: 'app-1.test' } }).end();
    const [reply] = await once(asked, 'response');
    reply.resume();
    await once(reply, 'end');
    times.push(performance.now() - begin);
    await sleep(neighbourPauseMs);
  }
  agent.destroy();
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

/** The machine is as busy in both: the flood goes to the same program, once past the proxy and once through it. */
async function flood({ name, port }: Proxy, appPort: number) {
  const alone = await neighbourP99(port);
  const beside = load(appPort, 'app-0.test', '/', floodConnections, neighbourSeconds + 1);
  const busy = await neighbourP99(port);
  await beside;
  const through = load(port, 'app-0.test', '/', floodConnections, neighbourSeconds + 1);
  const flooded = await neighbourP99(port);
  await through;
  console.log(
    `a neighbour's p99 at ${name}: alone ${alone.toFixed(2)} ms, on a busy machine ${busy.toFixed(2)} ms, beside a flood of ${floodConnections} ${flooded.toFixed(2)} ms`,
  );
  return flooded / busy;
}

/** Takes turns, so that what else the machine does touches both alike; the turn of each that was disturbed least counts. */
async function recordingCost(plain: Proxy, recording: Proxy, told: () => number) {
  for (const { port } of [plain, recording]) await load(port, 'app-0.test', '/', 32, warmSeconds);
  await sleep(toldMilliseconds);
  const before = told();
  const costs = new Map<Proxy, number[]>([plain, recording].map((proxy) => [proxy, []]));
  let asked = 0;
  for (let round = 0; round < recordingRounds; round++)
    // Whoever comes first changes from turn to turn.
    for (const proxy of round % 2 === 0 ? [plain, recording] : [recording, plain]) {
      const { microseconds, requests } = await measure(proxy, '/', 32);
      costs.get(proxy)?.push(microseconds);
      if (proxy === recording) asked += requests;
    }
  await sleep(toldMilliseconds);
  const shown = (proxy: Proxy) => `${least(costs.get(proxy)).toFixed(1)} us (median ${median(costs.get(proxy) ?? []).toFixed(1)})`;
  console.log(
    `of processor each, without records ${shown(plain)}, with ${shown(recording)}; ${asked} requests, ${told() - before} told, with those under way at the end of a turn`,
  );
  const ratio = least(costs.get(recording)) / least(costs.get(plain));
  verdict('with records / without', `${ratio.toFixed(3)} (at most ${bounds.recordingMax})`, ratio <= bounds.recordingMax);
}

const least = (numbers: number[] = []) => Math.min(...numbers);
/** By then a request that has ended is told. */
const toldMilliseconds = 1500;

/** Counts what an edge tells, as the platform reads it. */
async function openReader(address: string) {
  let told = 0;
  const server = createServer((socket) => {
    const read = async () => {
      for await (const batch of batchesIn(socket)) told += requestsIn(batch).length;
    };
    read().catch((error: unknown) => console.error(error));
  }).listen(address);
  await once(server, 'listening');
  return { told: () => told, close: () => server.close() };
}

await using bench = await openBench(programs.nginx);
const [appPort = 0, otherPort = 0, nginxPort = 0, caddyPort = 0, edgePort = 0, recordingPort = 0] = await Promise.all(
  Array.from({ length: 6 }, freePort),
);
await bench.startApp('app', appPort);
await bench.startApp('other', otherPort);
const forward = (host: string, to: number) => nginxForward(host, to, `127.0.0.1:${nginxPort}`);
const nginx = await bench.startNginx(
  'nginx',
  nginxPort,
  `access_log ${bench.scratch}/access.log; ${forward('app-0.test', appPort)} ${forward('app-1.test', otherPort)}`,
);
await writeFile(
  join(bench.scratch, 'Caddyfile'),
  `{\n admin off\n auto_https off\n}\n${[appPort, otherPort].map((port, index) => `http://app-${index}.test:${caddyPort} {\n reverse_proxy 127.0.0.1:${port}\n}\n`).join('')}`,
);
const caddy = await bench.start(caddyPort, programs.caddy, ['run', '--config', join(bench.scratch, 'Caddyfile'), '--adapter', 'caddyfile']);
const edgeProgram = join(import.meta.dirname, 'harness', 'edge-process.ts');
const startEdge = (port: number, ...more: string[]) =>
  bench.start(port, process.execPath, [
    edgeProgram,
    String(port),
    join(bench.scratch, `logs-${port}`),
    String(appPort),
    String(otherPort),
    ...more,
  ]);
const edge = await startEdge(edgePort);
const reader = await openReader(join(bench.scratch, 'records'));
const recordingEdge = await startEdge(recordingPort, `records=${join(bench.scratch, 'records')}`);
const proxies: Proxy[] = [
  { name: 'nginx', port: nginxPort, child: nginx },
  { name: 'caddy', port: caddyPort, child: caddy },
  { name: 'edge', port: edgePort, child: edge },
];
if (process.env['EDGE_BENCH'] !== 'recording') await compareAll();
await recordingCost(
  { name: 'edge', port: edgePort, child: edge },
  { name: 'recording', port: recordingPort, child: recordingEdge },
  reader.told,
);
reader.close();

async function compareAll() {
  for (const proxy of proxies) await idleMemory(proxy);
  const small = await table('100 bytes', proxies, '/', 32, bounds.smallMax);
  verdict('100 bytes edge / Caddy', `${small.caddy.toFixed(2)} (at most ${bounds.caddyMax})`, small.caddy <= bounds.caddyMax);
  await table('1 MiB', proxies, '/large', 8, bounds.largeMax);
  for (const proxy of proxies) {
    const ratio = await flood(proxy, appPort);
    if (proxy.name === 'edge')
      verdict('a neighbour beside a flood / without', `${ratio.toFixed(2)} (at most ${bounds.neighbourMax})`, ratio <= bounds.neighbourMax);
  }
}
