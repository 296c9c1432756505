/**
 * 200 previews of a volume with 20,000 small files, on a pool of our own: how long clones, writes, and removals of files and clones take, and how long a neighbour
 * waits meanwhile for what it writes to be on the disk. btrfs works off what was removed later, in the background, so each step includes a commit, and
 * the last one waits until the kernel is done. Needs root and 2 GB of disk for a while.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openPoolVolumes } from '../server/drivers/volumes/btrfs/btrfs.ts';
import { median } from './harness/platform.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const run = promisify(execFile);
const [files, filesPerFolder, previews, busyPreviews] = [20_000, 200, 200, 20];
const folders = files / filesPerFolder;
const gibibyte = 2 ** 30;
const bounds = { clonesRatioMax: 3, stepSecondsMax: 15, waitSecondsMax: 2 };
const cleanedSecondsMax = 600;
const ticksPerSecond = 100;

const threadsBefore = new Set(kernelThreads());
const scratch = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
const volumes = await openPoolVolumes(join(scratch, 'volumes'), console.warn);
const root = join(volumes.folder, '..');
const ownThreads = kernelThreads().filter((pid) => !threadsBefore.has(pid));
try {
  const site = await volumes.create('site', gibibyte);
  const neighbour = await startNeighbour((await volumes.create('neighbour', gibibyte)).path);
  await step('20,000 files are written', neighbour, async () => writeSite(site.path));
  const clones: number[] = [];
  await step(`${previews} clones are made`, neighbour, async () => {
    for (let n = 0; n < previews; n += 1) clones.push(1000 * (await timed(() => volumes.clone('site', `preview-${n}`))));
  });
  const [first, last] = [median(clones.slice(0, 20)), median(clones.slice(-20))];
  note({
    what: 'a clone, with 20 and with 200 of them',
    measured: `${first.toFixed(0)} and ${last.toFixed(0)} ms`,
    target: `${bounds.clonesRatioMax} times at most`,
    isMet: last <= bounds.clonesRatioMax * first,
  });
  const busy = Array.from({ length: busyPreviews }, (_, n) => join(volumes.folder, `preview-${n * (previews / busyPreviews)}`, 'data'));
  await step('100 files are written anew in each of 20 clones', neighbour, async () => {
    for (const path of busy) for (let n = 0; n < files; n += files / 100) writeSmall(path, n);
  });
  await step('2,000 files of the original are written anew', neighbour, async () => {
    for (let n = 0; n < files; n += 10) writeSmall(site.path, n);
  });
  await step('2,000 files are removed in each of 20 clones', neighbour, async () => {
    for (const path of busy) for (let n = 0; n < folders; n += 10) rmSync(join(path, String(n)), { recursive: true });
  });
  await step('limits are looked after, once', neighbour, () => volumes.keepLimits());
  await step('one clone is removed', neighbour, () => removed(1, 2));
  await step('50 clones are removed', neighbour, () => removed(2, 52));
  await neighbour.stop();
  note({ what: 'processor time of the pool’s kernel threads', measured: `${secondsOf(ownThreads).toFixed(1)} s` });
  note({ what: 'memory of btrfs in the kernel, whole machine', measured: `${(kernelBytes() / 2 ** 20).toFixed(0)} MiB` });
} finally {
  await volumes.unmount();
  await rm(scratch, { recursive: true });
}
printTable();

async function removed(from: number, to: number) {
  for (let n = from; n < to; n += 1) await volumes.remove(`preview-${n}`);
  await run('btrfs', ['filesystem', 'sync', root]);
  await run('btrfs', ['subvolume', 'sync', '-s', '1', root], { timeout: cleanedSecondsMax * 1000 });
}

/** With the commit that it leads to. What waits for the kernel's cleaner is bounded by what the neighbour feels of it. */
async function step(what: string, neighbour: Neighbour, work: () => Promise<unknown>) {
  neighbour.forget();
  const seconds = await timed(work);
  const committed = await timed(() => run('btrfs', ['filesystem', 'sync', root]));
  const { waits } = neighbour;
  const [worst, usual] = [Math.max(0, ...waits), waits.length > 0 ? median(waits) : 0];
  note({
    what,
    measured: `${seconds.toFixed(2)} s and ${committed.toFixed(2)} s to commit; a neighbour’s fsync ${(1000 * usual).toFixed(0)} ms, at worst ${(1000 * worst).toFixed(0)} ms`,
    target: `commit ${bounds.stepSecondsMax} s, fsync ${bounds.waitSecondsMax} s`,
    isMet: committed <= bounds.stepSecondsMax && worst <= bounds.waitSecondsMax,
  });
}

function writeSite(path: string) {
  for (let n = 0; n < folders; n += 1) mkdirSync(join(path, String(n)));
  for (let n = 0; n < files; n += 1) writeSmall(path, n);
}

/** From 512 bytes to 8 KiB. */
function writeSmall(path: string, n: number) {
  writeFileSync(join(path, String(Math.floor(n / filesPerFolder)), `file-${n}`), randomBytes(512 * (1 + (n % 16))));
}

interface Neighbour {
  waits: number[];
  forget(): void;
  stop(): Promise<void>;
}

/** In a process of its own: this one is busy. */
async function startNeighbour(path: string): Promise<Neighbour> {
  const waits: number[] = [];
  const program = `import { open } from 'node:fs/promises'; const file = await open(process.argv[1], 'w');
    for (;;) { await file.write(Buffer.alloc(4096, 1), 0, 4096, 0); const began = performance.now(); await file.sync();
      console.log((performance.now() - began) / 1000); await new Promise((done) => setTimeout(done, 20)); }`;
  const child = execFile(process.execPath, ['--input-type=module', '-e', program, join(path, 'file')]);
  child.stdout?.setEncoding('utf8').on('data', (text: string) => waits.push(...text.trim().split('\n').map(Number)));
  while (waits.length === 0) await sleep(10);
  return {
    waits,
    forget: () => void waits.splice(0),
    stop: async () => {
      child.kill('SIGKILL');
      await new Promise((ended) => child.once('exit', ended));
    },
  };
}

function kernelThreads(): string[] {
  const isOfBtrfs = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('btrfs-');
    } catch {
      return false;
    }
  };
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOfBtrfs(name));
}

function secondsOf(pids: readonly string[]): number {
  const ticks = pids.map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, value) => sum + value, 0) / ticksPerSecond;
}

function kernelBytes(): number {
  const caches = readFileSync('/proc/slabinfo', 'utf8').matchAll(/^btrfs_\S+\s+\d+\s+(\d+)\s+(\d+)/gm);
  return [...caches].reduce((sum, [, objects, bytes]) => sum + Number(objects) * Number(bytes), 0);
}
