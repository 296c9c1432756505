import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openPoolVolumes } from './btrfs/btrfs.ts';
import { openCopyVolumes } from './copy/copy.ts';
import { scratchFolder } from './test-disk.ts';
import type { Volumes } from './volumes.ts';

/** In CI everything must run. */
const runsAsRoot = process.getuid?.() === 0 || process.env['CI'] === 'true';

const bytesMax = 64 * 1024 ** 2;
const files = Array.from({ length: 40 }, (_, n) => `folder/file-${n}`);
const contents = (name: string) => name.repeat(100);
const aliveMillisecondsMax = 150;
/** Which moments they are is left to chance: where none of them was in the middle of something, there are more, so many times as many at most. */
const chancesMax = 10;

test('killed at 8 random moments, plain copies are whole or absent', { timeout: 400_000 }, async () => {
  const folder = await scratchFolder();
  const leftovers = await interrupt('copy', folder, join(folder, 'scratch'), await openCopyVolumes(folder), 8);
  expect(leftovers).toBeGreaterThan(0);
  await rm(folder, { recursive: true });
});

test.skipIf(!runsAsRoot)(
  'killed at 50 random moments, volumes on a pool are whole or absent, and the pool goes on (takes root)',
  async () => {
    const folder = await scratchFolder();
    const volumes = await openPoolVolumes(folder, () => {});
    try {
      const leftovers = await interrupt('pool', folder, join(folder, 'pool', 'scratch'), volumes, 50);
      expect(leftovers).toBeGreaterThan(0);
    } finally {
      await volumes.unmount();
    }
    await rm(folder, { recursive: true });
  },
  400_000,
);

/** How many things the kills left half done: were it none, no kill came in the middle of anything, and nothing was tested. */
async function interrupt(way: 'pool' | 'copy', folder: string, scratch: string, volumes: Volumes, kills: number) {
  const base = await volumes.create('base', bytesMax);
  await mkdir(join(base.path, 'folder'));
  for (const file of files) await writeFile(join(base.path, file), contents(file), { flush: way === 'pool' && file === files.at(-1) });
  let leftovers = 0;
  for (let kill = 0; kill < kills || (leftovers === 0 && kill < chancesMax * kills); kill += 1) {
    const is = await runAndKill(way, folder, `k${kill}`);
    const names = (await volumes.list()).map(({ name }) => name);
    for (const name of is) expect(names).toContain(name);
    for (const name of names.filter((found) => !found.includes('created'))) await expectWhole(volumes, name);
    leftovers += (await readdir(scratch)).length;
    await volumes.removeLeftovers(new Set(['base', ...is]));
    expect((await volumes.list()).map(({ name }) => name)).toEqual(['base', ...is].toSorted());
    expect(await readdir(scratch)).toEqual([]);
    await volumes.removeLeftovers(new Set(['base']));
  }
  return leftovers;
}

async function expectWhole(volumes: Volumes, name: string) {
  const { path = '' } = (await volumes.volume(name)) ?? {};
  expect((await readdir(join(path, 'folder'))).length).toBe(files.length);
  for (const file of files) expect(await readFile(join(path, file), 'utf8')).toBe(contents(file));
}

/** What must exist afterwards. Whatever was begun and not said to be done may or may not. */
async function runAndKill(way: string, folder: string, prefix: string) {
  const program = join(import.meta.dirname, 'interrupted-loop.ts');
  const child = spawn(process.execPath, [program, way, folder, prefix], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const is = new Set<string>();
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const [word, name = ''] = line.split(' ');
    if (word === 'ready') resolve();
    else if (word === 'is') is.add(name);
    else is.delete(name);
  });
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]);
  await Promise.race([ready, ended]);
  await sleep(Math.random() * aliveMillisecondsMax);
  child.kill('SIGKILL');
  const [[, signal]] = await ended;
  expect(signal).toBe('SIGKILL');
  await orphansEnded(child.pid ?? 0);
  return is;
}

/** What it had started, as `cp`, goes on without it to its end, and may be slow. */
async function orphansEnded(group: number) {
  const isOrphan = async (pid: string) => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(itsGroup) === group && state !== 'Z';
  };
  const orphans = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    return (await Promise.all(pids.map(isOrphan))).filter(Boolean).length;
  };
  await expect.poll(orphans, { timeout: 60_000 }).toBe(0);
}
