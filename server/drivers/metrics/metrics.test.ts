import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
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
import { columnsOf, inTransaction, numbersIn, openDatabase } from './duckdb/database.ts';
import { callBytesMax, frameOf } from './duckdb/frames.ts';
import { openDuckdbMetrics } from './duckdb/open-duckdb-metrics.ts';
import { socketIn } from './duckdb/protocol.ts';
import { openStore, storeDefaults } from './duckdb/store.ts';
import { openOutgoing, outgoingDefaults } from './outgoing.ts';

const scratchFolder = () => mkdtemp(join(tmpdir(), 'offshoot-metrics-'));

async function openInScratch({ summedUp = false, recordsMax = 1e6 }: MetricsBounds): Promise<MetricsUnderTest> {
  const folder = await scratchFolder();
  const options = {
    folder,
    recordsMax,
    exactRecordsMax: summedUp ? 0 : 1e6,
    blockRecordsMin: 1,
    runRecords: 1000,
    freeBytesMin: 0,
    tidyMilliseconds: summedUp ? 50 : 10_000,
    collectMilliseconds: 10,
    memoryBytes: 2e8,
  };
  const metrics = openDuckdbMetrics(options);
  return {
    metrics,
    openAnother: () => openDuckdbMetrics(options),
    kill: () => process.kill(metrics.pid() ?? 0, 'SIGKILL'),
    remove: async () => {
      await metrics.close();
      await rm(folder, { recursive: true });
    },
  };
}

metricsConformance('DuckDB', openInScratch);

test('a question sees one moment of the store, whatever is put in order while it is answered', async () => {
  const folder = await scratchFolder();
  const database = await openDatabase(folder, { memoryBytes: 2e8, threads: 1, spillBytes: 1e8 });
  const { writer } = database;
  await writer.run('create table recent as select 1 as record');
  await writer.run('create table records (record integer)');
  const found = await database.reading(60_000, async (connection) => {
    const count = async (table: string) =>
      numbersIn(await columnsOf(connection, `select count(*)::double as count from ${table}`), 'count')[0];
    const before = [await count('recent'), await count('records')];
    await inTransaction(writer, async () => {
      await writer.run('insert into records select * from recent');
      await writer.run('delete from recent');
    });
    return { before, after: [await count('recent'), await count('records')] };
  });
  expect(found).toEqual({ before: [1, 0], after: [1, 0] });
  database.close();
  await rm(folder, { recursive: true });
});

/** Says this to the store, as a process that is not one of ours; resolves when it is let go. */
async function sayToStore(folder: string, bytes: Buffer) {
  const socket = connect(socketIn(folder)).on('error', () => {});
  socket.resume().write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
}

const scratchOptions = (folder: string) => ({ folder, freeBytesMin: 0, collectMilliseconds: 1, memoryBytes: 2e8 });

test('who says what cannot be understood, or too much at once, is let go, and others notice nothing', async () => {
  const folder = await scratchFolder();
  const metrics = openDuckdbMetrics(scratchOptions(folder));
  const start = testStart();
  metrics.append('transactions', [transactionAt(start * 1000)]);
  await metrics.settled();
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const pid = metrics.pid();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(callBytesMax + 1);
  const whole = (message: unknown) => frameOf(message, callBytesMax);
  const hostile = [
    length,
    Buffer.from('GET / HTTP/1.1'),
    Buffer.concat([Buffer.from([0, 0, 0, 5]), Buffer.from('hello')]),
    whole(7),
    whole({ kind: 'call', id: 1, name: 'close' }),
  ];
  await Promise.all(hostile.map((bytes) => sayToStore(folder, bytes)));
  // Asks on and on, and takes no answer: far more than the machine keeps of either on the way.
  const flooding = connect(socketIn(folder))
    .on('error', () => {})
    .pause();
  for (let id = 0; id < 20_000; id += 1) flooding.write(whole({ kind: 'call', id, name: 'breakdown', argument: questionAbout(start) }));
  flooding.write(whole({ kind: 'call', id: 1, name: 'append', argument: undefined }));
  expect(answered(await metrics.breakdown(questionAbout(start))).rows[0]?.total_requests).toBe(1);
  expect(metrics.pid()).toBe(pid);
  expect(flooding.writableLength).toBeGreaterThan(0);
  flooding.destroy();
  await metrics.close();
  await rm(folder, { recursive: true });
});

test('a process that is killed while it hands something over and does so again has it counted once; those who start the store at once share one, which ends without them', async () => {
  const folder = await scratchFolder();
  const opened = Array.from({ length: 3 }, () => openDuckdbMetrics({ ...scratchOptions(folder), lingerMilliseconds: 100 }));
  const start = testStart();
  await Promise.all(opened.map((metrics) => metrics.breakdown(questionAbout(start))));
  const pids = new Set(opened.map((metrics) => metrics.pid()));
  expect(pids.size).toBe(1);
  const batch = { writer: 'killed', sequence: 1, kind: 'transactions', records: [transactionAt(start * 1000)] };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const killed = connect(socketIn(folder));
    await once(killed, 'data');
    await new Promise<void>((resolve) =>
      killed.write(frameOf({ kind: 'call', id: 1, name: 'append', argument: batch }, callBytesMax), () => resolve()),
    );
    killed.destroy();
  }
  const requests = async () => answered(await opened[0]!.breakdown(questionAbout(start))).rows[0]?.total_requests;
  await expect.poll(requests).toBe(1);
  await Promise.all(opened.slice(1).map((metrics) => metrics.close()));
  expect(await requests()).toBe(1);
  await opened[0]!.close();
  await expect.poll(() => existsSync(`/proc/${[...pids][0]}`)).toBe(false);
  await rm(folder, { recursive: true });
});

const runsAsRoot = process.getuid?.() === 0 || process.env['CI'] === 'true';

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

test('what a store had still to do when it ended is done after the next start, although nobody asks for that day', async () => {
  const folder = await scratchFolder();
  const start = testStart();
  const options = { ...storeDefaults, folder, freeBytesMin: 0, blockRecordsMin: 1, memoryBytes: 2e8 };
  const ended = await openStore(options);
  await ended.append({ writer: 'test', sequence: 1, kind: 'transactions', records: [transactionAt(start * 1000)] });
  await ended.close();
  const summedUp = async () => (await readdir(folder)).filter((name) => name.startsWith('rollups-'));
  expect(await summedUp()).toEqual([]);
  const next = await openStore(options);
  await next.tidy(start + 86_400 * 2);
  expect(await summedUp()).toHaveLength(1);
  expect(answered(await next.breakdown(questionAbout(start))).rows[0]?.total_requests).toBe(1);
  await next.close();
  await rm(folder, { recursive: true });
});

test('while the store takes nothing, what does not fit is dropped and counted, and the rest is handed over once', async () => {
  const taken: number[] = [];
  const gate = Promise.withResolvers<void>();
  const outgoing = openOutgoing(
    { ...outgoingDefaults, waitingMax: 5, batchMax: 2, collectMilliseconds: 1 },
    async (_kind, sequence, records) => {
      await gate.promise;
      taken.push(sequence);
      return { stored: records.length };
    },
  );
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
