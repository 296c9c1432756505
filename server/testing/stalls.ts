/**
 * How long the machine stood still. Where a time is promised it is the program that promises it: meanwhile the least of work is done again and again, and
 * what that takes beyond a moment is time that others took. On a machine that has nothing else to do it is nothing.
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pauseMilliseconds = 50;
const momentMilliseconds = 20;

export interface Stalls {
  sumMilliseconds: number;
  longestMilliseconds: number;
}

/** Work that shows whether the machine moves. */
interface Probe {
  once(): Promise<unknown>;
  close?(): Promise<void>;
}

/** A watch over the disk, unless the work that is watched needs something else of the machine. Times are milliseconds since the epoch. */
export function watchStalls(openProbe: () => Promise<Probe> = openDiskProbe) {
  const over = new AbortController();
  const stalls: { from: number; to: number }[] = [];
  const watch = async () => {
    const probe = await openProbe();
    while (!over.signal.aborted) {
      const due = Date.now() + pauseMilliseconds + momentMilliseconds;
      await sleep(pauseMilliseconds);
      await probe.once();
      const now = Date.now();
      if (now > due) stalls.push({ from: due, to: now });
    }
    await probe.close?.();
  };
  const watching = watch();
  const between = (from: number, to: number): Stalls => {
    const within = stalls.map((stall) => Math.max(0, Math.min(stall.to, to) - Math.max(stall.from, from)));
    return { sumMilliseconds: within.reduce((sum, each) => sum + each, 0), longestMilliseconds: Math.max(0, ...within) };
  };
  return {
    between,
    async stop(): Promise<Stalls> {
      over.abort();
      await watching;
      return between(0, Infinity);
    },
  };
}

/** Brings a few bytes to the disk. */
async function openDiskProbe(): Promise<Probe> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-stalls-'));
  const file = await open(join(folder, 'bytes'), 'w');
  return {
    once: async () => {
      await file.write('x', 0);
      await file.datasync();
    },
    close: async () => {
      await file.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** How long something takes where the machine does not stand still. */
export async function unstalledMilliseconds(work: () => Promise<unknown>): Promise<number> {
  const watching = watchStalls();
  const since = Date.now();
  let until = since;
  try {
    await work();
    until = Date.now();
  } finally {
    await watching.stop();
  }
  return until - since - watching.between(since, until).sumMilliseconds;
}
