/**
 * What a clone costs, on a pool of our own: 5 GiB against `cp -a` of the same, 100 MiB against 5 GiB, and a PostgreSQL of 1 GiB under write load
 * from the checkpoint to the first query in its clone, where no acknowledged commit may be missing. Needs root and 15 GB of disk for a while.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../server/drivers/postgres/embedded.ts';
import { missingCommits, query, startWriteLoad } from '../server/drivers/volumes/acknowledged-commits.ts';
import { openPoolVolumes } from '../server/drivers/volumes/btrfs/btrfs.ts';
import { median } from './harness/platform.ts';

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const fileBytes = 16 * mebibyte;
const rounds = 15;
const bounds = { cloneMillisecondsMax: 100, timesFasterMin: 50, sizesRatioMax: 3, databaseSecondsMax: 3 };

const scratch = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
const volumes = await openPoolVolumes(join(scratch, 'volumes'), console.warn);
try {
  await benchFiles();
  await benchDatabase();
} finally {
  await volumes.unmount();
  await rm(scratch, { recursive: true });
}

function verdict(what: string, measured: string, isGood: boolean) {
  console.log(`${what.padEnd(44)} ${measured}: ${isGood ? 'ok' : 'TOO SLOW'}`);
  if (!isGood) process.exitCode = 1;
}

async function benchFiles() {
  await fill('small', 100 * mebibyte);
  const { path } = await fill('large', 5 * gibibyte);
  const times: Record<'small' | 'large', number[]> = { small: [], large: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const from of ['small', 'large'] as const) times[from].push(await timed(() => volumes.clone(from, `${from}-${round}`)));
  }
  const [small, large] = [median(times.small), median(times.large)];
  const target = await volumes.create('copied', 6 * gibibyte);
  const copied = await timed(async () => void execFileSync('cp', ['-a', '--reflink=never', '--', path, join(target.path, 'copy')]));
  verdict('clone of 5 GiB', `${large.toFixed(1)} ms (at most ${bounds.cloneMillisecondsMax})`, large <= bounds.cloneMillisecondsMax);
  const faster = copied / large;
  verdict(
    'cp -a of the same',
    `${copied.toFixed(0)} ms, ${faster.toFixed(0)} times (at least ${bounds.timesFasterMin})`,
    faster >= bounds.timesFasterMin,
  );
  const ratio = Math.max(large / small, small / large);
  verdict(
    'clone of 100 MiB',
    `${small.toFixed(1)} ms, ratio ${ratio.toFixed(2)} (at most ${bounds.sizesRatioMax})`,
    ratio <= bounds.sizesRatioMax,
  );
  await volumes.removeLeftovers(new Set());
}

async function benchDatabase() {
  const original = await volumes.create('database', 4 * gibibyte);
  const postgres = await openEmbeddedPostgres(original.path);
  try {
    await query(postgres.url, 'create table bulk as select n, repeat(md5(n::text), 30) as filler from generate_series(1, 1000000) n');
    const [{ bytes } = {}] = await query(postgres.url, 'select pg_database_size(current_database()) as bytes');
    const load = await startWriteLoad(postgres.url);
    const start = performance.now();
    await query(postgres.url, 'checkpoint');
    const checkpointed = performance.now();
    const before = load.acknowledged();
    const clone = await volumes.clone('database', 'database-clone');
    const cloned = performance.now();
    const second = await openEmbeddedPostgres(clone.path);
    await query(second.url, 'select 1');
    const answered = performance.now();
    await load.stop();
    const missing = await missingCommits(second.url, before);
    await second.stop();
    const seconds = (answered - checkpointed) / 1000;
    const parts = `clone ${(cloned - checkpointed).toFixed(0)} ms, start ${(answered - cloned).toFixed(0)} ms; checkpoint before it ${(checkpointed - start).toFixed(0)} ms`;
    verdict(
      `PostgreSQL of ${(Number(bytes) / gibibyte).toFixed(2)} GiB, clone to query`,
      `${seconds.toFixed(2)} s (at most ${bounds.databaseSecondsMax}; ${parts}), ${missing.length} of ${before.length} commits missing`,
      seconds <= bounds.databaseSecondsMax && missing.length === 0,
    );
  } finally {
    await postgres.stop();
  }
}

/** Of bytes that cannot be made smaller. */
async function fill(name: string, bytes: number) {
  const volume = await volumes.create(name, 2 * bytes);
  const block = randomBytes(fileBytes);
  for (let n = 0; n < bytes / fileBytes; n += 1) {
    const file = await open(join(volume.path, `file-${n}`), 'w');
    await file.writeFile(block);
    await file.close();
  }
  execFileSync('sync', ['--file-system', '--', volume.path]);
  return volume;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
