/**
 * What it takes to send logs elsewhere: lines for each second of a processor, written and compressed by each sink alone, and through the whole engine, from files on disk with their times to
 * acknowledged batches. The other side answers at once and costs nothing. The anchor is gzip alone, at the same level, over the same lines as they stand in the log.
 */
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { forwardLogs } from '../server/drivers/log-sinks/forward-logs.ts';
import type { LogRecord } from '../server/drivers/log-sinks/log-record.ts';
import type { SinkNetwork } from '../server/drivers/log-sinks/log-sink.ts';
import { openSink, type SinkSettings } from '../server/drivers/log-sinks/open-sink.ts';
import { redacted } from '../server/drivers/log-sinks/redact.ts';
import { ensureLogs, logFile } from '../server/drivers/logs/log-folders.ts';
import { note, printTable } from './harness/verdicts.ts';

const secondsEach = Number(process.env['LOG_SINKS_BENCH_SECONDS'] ?? 2);
const linesPerBatch = 2000;
const linesOfEngine = 60_000;
/** What one environment may write for its sink to keep up, with a fifth of a processor. */
const engineMin = 100_000;

const lineOf = (nth: number) =>
  `192.0.2.${nth % 250} - - [09/Nov/2026:10:00:${String(nth % 60).padStart(2, '0')} +0000] "GET /products/${nth * 7919} HTTP/1.1" 200 ${nth % 9000} "-" "Mozilla/5.0 (X11; Linux x86_64)" 0.012 ${nth.toString(16).padStart(16, '0')}`;

/** Takes everything, at no cost. */
const takingAll = () =>
  new Duplex({
    read: () => {},
    write: (_, __, done) => done(),
    final(done) {
      this.push(null);
      done();
    },
  }) as Socket;
const network: SinkNetwork = {
  request: async ({ url: asked }) => ({ status: 200, headers: {}, body: Buffer.alloc(0), url: asked }),
  open: async () => Promise.reject(new Error('not needed')),
  connect: async () => takingAll(),
  openDatagrams: async () => ({ send: async () => {}, close: () => {} }),
};
const url = 'https://logs.example.org/in';
const ofSyslog = {
  type: 'syslog',
  host: 'logs.example.org',
  port: 6514,
  facility: 1,
  message_format: 'rfc5424',
  auth_mode: 'prefix',
} as const;
const sinks: readonly SinkSettings[] = [
  { type: 'httplog', url, tls_verify: true },
  { type: 'otlplog', url, tls_verify: true },
  { type: 'newrelic', url, license_key: 'key', tls_verify: true },
  { type: 'splunk', url, index: 'main', token: 'token', tls_verify: true },
  { type: 'sumologic', url, tls_verify: true },
  { ...ofSyslog, protocol: 'tls', tls_verify: true },
];

const context = { project: 'bench', environment: 'main', extra: { team: 'blue' } };
const records = Array.from({ length: linesPerBatch }, (_, nth): LogRecord => ({
  time: 1.8e12 + nth,
  service: 'app',
  log: 'access',
  message: lineOf(nth),
}));
const raw = Buffer.from(records.map(({ message }) => `${message}\n`).join(''));
const never = new AbortController().signal;

/** Lines for each second of processor time, of all threads. */
async function rateOf(work: () => unknown): Promise<number> {
  for (let warm = 0; warm < 5; warm++) await work();
  const before = process.cpuUsage();
  const end = performance.now() + secondsEach * 1000;
  let lines = 0;
  for (; performance.now() < end; lines += linesPerBatch) await work();
  return lines / secondsOf(process.cpuUsage(before));
}

const secondsOf = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6;
const told = (rate: number) => `${Math.round(rate).toLocaleString('en')} lines per CPU second`;

const anchor = await rateOf(() => promisify(gzip)(raw, { level: constants.Z_BEST_SPEED }));
note({ what: `the anchor: gzip of lines of ${Math.round(raw.length / linesPerBatch)} bytes`, measured: told(anchor) });
for (const settings of sinks) {
  const sink = openSink(settings, network);
  const rate = await rateOf(() => sink.send(records, context, never));
  note({ what: settings.type, measured: `${told(rate)}, ${(rate / anchor).toFixed(2)} of the anchor` });
}
note({ what: 'redaction alone', measured: told(await rateOf(() => records.map(({ message }) => redacted(message)))) });

/** From the files to the last acknowledged line. */
async function rateOfEngine(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
  const logs = join(folder, 'logs');
  await ensureLogs(logs, ['app']);
  const sink = openSink({ type: 'httplog', url, tls_verify: true }, network);
  const options = {
    logs,
    positions: join(folder, 'positions.json'),
    sink,
    context,
    excludedServices: [],
    isRedacted: false,
    tell: () => {},
  };
  const forwarding = await forwardLogs(options);
  const text = Array.from({ length: linesOfEngine }, (_, nth) => `${lineOf(nth)}\n`).join('');
  await appendFile(logFile(logs, 'app', 'access'), text);
  const before = process.cpuUsage();
  while (forwarding.progress.sentRecords < linesOfEngine) await sleep(20);
  const rate = linesOfEngine / secondsOf(process.cpuUsage(before));
  await forwarding.close();
  await rm(folder, { recursive: true, force: true });
  return rate;
}

const engine = await rateOfEngine();
note({
  what: 'the whole engine, httplog',
  measured: told(engine),
  target: `at least ${engineMin.toLocaleString('en')}`,
  isMet: engine >= engineMin,
});
note({ what: 'so 20,000 lines a second take', measured: `${((20_000 / engine) * 100).toFixed(0)} % of a processor` });
printTable();
