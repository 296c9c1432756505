/** Logs on their way to a real collector of OpenTelemetry, which decides whether what is sent is OTLP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../edge/testing/ports.ts';
import { forwardLogs } from '../../server/drivers/log-sinks/forward-logs.ts';
import { openSink } from '../../server/drivers/log-sinks/open-sink.ts';
import { testNetwork } from '../../server/drivers/log-sinks/test-network.ts';
import { appendLog } from '../../server/drivers/logs/append-log.ts';
import { ensureLogs, logFile } from '../../server/drivers/logs/log-folders.ts';
import { openCollector } from './collector.ts';

const soonMilliseconds = 60_000;
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, nth) => `line ${from + nth} ✓`);

test('a collector gets every line in its order with what is said of it, also those that were written while it was away', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-otlp-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const logs = join(folder, 'logs');
  await ensureLogs(logs, ['shop']);
  const write = (lines: readonly string[], name: 'app' | 'error' = 'app') =>
    appendLog(logFile(logs, 'shop', name), lines.map((line) => `${line}\n`).join(''));
  const port = await freePort();
  const first = await openCollector(port);
  onTestFinished(() => first[Symbol.asyncDispose]());
  const forwarding = await forwardLogs({
    logs,
    positions: join(folder, 'positions'),
    sink: openSink({ type: 'otlplog', url: first.url, headers: { 'x-tenant': 'one' }, tls_verify: true }, testNetwork()),
    context: { project: 'p1', environment: 'main', extra: { team: 'blue' } },
    excludedServices: [],
    isRedacted: false,
    tell: () => {},
    firstPauseSeconds: 0.2,
  });
  onTestFinished(() => forwarding.close());

  await write(numbered(0, 100));
  await write(['something failed'], 'error');
  const bodies = (of: typeof first) => of.records().map(({ body }) => body);
  const lines = (of: typeof first) => bodies(of).filter((body) => body.startsWith('line'));
  await expect.poll(() => bodies(first).length, { timeout: soonMilliseconds }).toBe(101);
  expect(lines(first)).toEqual(numbered(0, 100));
  const failed = first.records().find(({ body }) => body === 'something failed');
  expect(failed).toMatchObject({ severity: expect.stringMatching(/^error$/i) });
  expect(Object.entries(failed?.attributes ?? {}).map(([, value]) => value)).toEqual(
    expect.arrayContaining(['shop', 'p1', 'main', 'blue', 'error.log']),
  );

  await first[Symbol.asyncDispose]();
  await write(numbered(100, 200));
  await using second = await openCollector(port);
  await expect.poll(() => lines(second).length, { timeout: soonMilliseconds }).toBeGreaterThanOrEqual(100);
  expect([...new Set(lines(second))]).toEqual(numbered(100, 200));
});
