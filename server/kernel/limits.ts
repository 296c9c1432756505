/**
 * How much is done at once. It is enough to count within this process: what several processes share is decided by the database, by locks on files, or by
 * there being one process that has the machine; and what a killed process held is free.
 *
 * What parties share, so that none of them has all of it, is in fair-limit.ts.
 */

/** Waits until there is room, in the order of those who came, and then does the work. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

/** So many at once. */
export function limit(most: number): Limit {
  const waiting: (() => void)[] = [];
  let free = most;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

interface Waiting {
  /** Whoever waits stops waiting when it is aborted; the work is not interrupted. */
  signal?: AbortSignal;
  /** Called once, where somebody else is in the way. */
  onWait?: () => void;
}

export interface OneAtATime {
  /** In the order of those who came. */
  run<T>(name: string, work: () => Promise<T>, waiting?: Waiting): Promise<T>;
  /** Undefined where somebody else is at it, or waits. */
  ifFree<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Resolves when those who are at it now, and those who wait, have ended. */
  over(): Promise<void>;
}

/** One after the other for one name, side by side for others. */
export function oneAtATime(): OneAtATime {
  /** By name: resolves when the last of those who came has ended. */
  const ends = new Map<string, Promise<void>>();

  const run: OneAtATime['run'] = async (name, work, { signal, onWait } = {}) => {
    signal?.throwIfAborted();
    const before = ends.get(name);
    if (before) onWait?.();
    const { promise: end, resolve } = Promise.withResolvers<void>();
    ends.set(name, end);
    const leave = () => {
      if (ends.get(name) === end) ends.delete(name);
      resolve();
    };
    if (before)
      await unlessAborted(before, signal).catch((reason: unknown) => {
        // Those behind it still wait for those before it.
        void before.then(leave);
        throw reason;
      });
    try {
      return await work();
    } finally {
      leave();
    }
  };

  return {
    run,
    ifFree: async (name, work) => (ends.has(name) ? undefined : run(name, work)),
    over: async () => void (await Promise.all(ends.values())),
  };
}

async function unlessAborted(waited: Promise<void>, signal: AbortSignal | undefined) {
  if (!signal) return waited;
  const aborted = Promise.withResolvers<void>();
  const stop = () => aborted.resolve();
  signal.addEventListener('abort', stop, { once: true });
  await Promise.race([waited, aborted.promise]);
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
}

/** The work for each item, so many at once. What fails, or is aborted, ends it. */
export async function forEachAtMost<T>(
  most: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) {
      signal?.throwIfAborted();
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: most }, worker));
}

export interface Tally {
  of(name: string): number;
  /** One more of each; answers what to call when it has ended, and calling that twice is calling it once. */
  add(...names: readonly string[]): () => void;
}

/** For whoever refuses what is too much, and lets nobody wait: how many are under way, by name. */
export function tally(): Tally {
  const counts = new Map<string, number>();
  const change = (name: string, by: 1 | -1) => {
    const count = (counts.get(name) ?? 0) + by;
    if (count > 0) counts.set(name, count);
    else counts.delete(name);
  };
  return {
    of: (name) => counts.get(name) ?? 0,
    add: (...names) => {
      for (const name of names) change(name, 1);
      let isUnderWay = true;
      return () => {
        if (!isUnderWay) return;
        isUnderWay = false;
        for (const name of names) change(name, -1);
      };
    },
  };
}
