import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  answered,
  metricsConformance,
  questionAbout,
  testStart,
  transactionAt,
  type MetricsBounds,
  type MetricsUnderTest,
} from './conformance.ts';
import { openDuckdbMetrics } from './duckdb/open-duckdb-metrics.ts';
import { openStore, storeDefaults } from './duckdb/store.ts';
import { openOutgoing } from './outgoing.ts';

async function openInScratch({ summedUp = false, recordsMax = 1e6 }: MetricsBounds): Promise<MetricsUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-metrics-'));
  const metrics = openDuckdbMetrics({
    folder,
    recordsMax,
    exactRecordsMax: summedUp ? 0 : 1e6,
    blockRecordsMin: 1,
    runRecords: 1000,
    freeBytesMin: 0,
    tidyMilliseconds: summedUp ? 50 : 10_000,
    collectMilliseconds: 10,
    memoryBytes: 2e8,
  });
  return {
    metrics,
    kill: () => process.kill(metrics.pid() ?? 0, 'SIGKILL'),
    remove: async () => {
      await metrics.close();
      await rm(folder, { recursive: true });
    },
  };
}

metricsConformance('DuckDB', openInScratch);

const runsAsRoot = process.getuid?.() === 0 || process.env['CI'] === 'true';
const scratchFolder = () => mkdtemp(join(tmpdir(), 'offshoot-metrics-'));

test('what is older than its kind is kept for is removed, with its sums; what is handed in twice, or put in order, stays what it was', async () => {
  const folder = await scratchFolder();
  const start = testStart();
  const store = await openStore({ ...storeDefaults, folder, freeBytesMin: 0, runRecords: 1, blockRecordsMin: 1, memoryBytes: 2e8 });
  const records = [transactionAt(start * 1000), transactionAt((start + 7000) * 1000)];
  expect(await store.append({ writer: 'test', sequence: 1, kind: 'transactions', records })).toBe(2);
  // Handed in again, as after a kill before it was acknowledged.
  expect(await store.append({ writer: 'test', sequence: 1, kind: 'transactions', records })).toBe(2);
  const sample = { ...records[0]!, service: 'app', seconds: 1, mount: '', diskUsed: 1, diskLimit: 1, inodesUsed: 1, inodesLimit: 1 };
  await store.append({ writer: 'test', sequence: 2, kind: 'mounts', records: [sample] });
  await store.tidy(start + 86_400 * 2);
  const question = questionAbout(start, { to: start + 7200 });
  expect(answered(await store.breakdown(question)).rows[0]?.total_requests).toBe(2);
  const days = async () => (await readdir(folder)).filter((name) => /\d$|duckdb$/.test(name)).toSorted();
  expect((await days()).length).toBe(5);
  await store.tidy(start + 86_400 * 31);
  expect((await days()).every((name) => /^(transactions|rollups)-/.test(name))).toBe(true);
  await store.tidy(start + 86_400 * 58);
  expect(await days()).toEqual([]);
  expect(answered(await store.breakdown(question)).rows).toEqual([]);
  await store.close();
  await rm(folder, { recursive: true });
});

test('while the store takes nothing, what does not fit is dropped and counted, and the rest is handed over once', async () => {
  const taken: number[] = [];
  const gate = Promise.withResolvers<void>();
  const outgoing = openOutgoing({ waitingMax: 5, batchMax: 2, collectMilliseconds: 1 }, async (_kind, sequence, records) => {
    await gate.promise;
    taken.push(sequence);
    return { stored: records.length };
  });
  const many = (count: number) => Array.from({ length: count }, () => transactionAt(Date.now()));
  outgoing.append('transactions', many(4));
  outgoing.append('transactions', many(4));
  expect(outgoing.tallies().transactions).toEqual({ stored: 0, waiting: 5, dropped: 3 });
  gate.resolve();
  await outgoing.settled();
  expect(outgoing.tallies().transactions).toEqual({ stored: 5, waiting: 0, dropped: 3 });
  expect(taken).toEqual([1, 2, 3]);
});

test.skipIf(!runsAsRoot)(
  'a full disk: records wait, what does not fit is dropped and counted, what is there can be read, and room is used at once (takes root)',
  async () => {
    const folder = await scratchFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]);
    const start = testStart();
    const metrics = openDuckdbMetrics({ folder, freeBytesMin: 0, waitingMax: 3000, collectMilliseconds: 1, memoryBytes: 2e8 });
    try {
      const append = (count: number) =>
        metrics.append(
          'transactions',
          Array.from({ length: count }, () => transactionAt(start * 1000)),
        );
      append(100);
      await metrics.settled();
      const ballast = join(folder, 'ballast');
      expect(() => writeFileSync(ballast, Buffer.alloc(32e6))).toThrow(/ENOSPC/);
      append(2000);
      await expect.poll(() => metrics.status().trouble).toBeTruthy();
      append(2000);
      expect(metrics.status().kinds.transactions).toEqual({ stored: 100, waiting: 3000, dropped: 1000 });
      const requests = async () => answered(await metrics.breakdown(questionAbout(start))).rows[0]?.total_requests;
      expect(await requests()).toBe(100);
      await rm(ballast);
      await metrics.settled();
      expect(metrics.status()).toMatchObject({ trouble: undefined, kinds: { transactions: { stored: 3100, waiting: 0, dropped: 1000 } } });
      expect(await requests()).toBe(3100);
    } finally {
      await metrics.close();
      execFileSync('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true });
    }
  },
);
