/**
 * How long the machine stood still. Where a time is promised it is the program that promises it: meanwhile a few bytes are brought to the disk again and
 * again, and what that takes beyond a moment is the machine's. On one that has nothing else to do it is nothing.
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

export function watchStalls() {
  const over = new AbortController();
  const stalls: Stalls = { sumMilliseconds: 0, longestMilliseconds: 0 };
  const watch = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-stalls-'));
    const file = await open(join(folder, 'bytes'), 'w');
    while (!over.signal.aborted) {
      const since = performance.now();
      await sleep(pauseMilliseconds);
      await file.write('x', 0);
      await file.datasync();
      const stall = Math.max(0, performance.now() - since - pauseMilliseconds - momentMilliseconds);
      stalls.sumMilliseconds += stall;
      stalls.longestMilliseconds = Math.max(stalls.longestMilliseconds, stall);
    }
    await file.close();
    await rm(folder, { recursive: true });
  };
  const watching = watch();
  return {
    stalls,
    async stop(): Promise<Stalls> {
      over.abort();
      await watching;
      return stalls;
    },
  };
}

/** How long something takes where the machine does not stand still. */
export async function unstalledMilliseconds(work: () => Promise<unknown>): Promise<number> {
  const watching = watchStalls();
  const since = performance.now();
  let until = since;
  try {
    await work();
    until = performance.now();
  } finally {
    await watching.stop();
  }
  return until - since - watching.stalls.sumMilliseconds;
}
