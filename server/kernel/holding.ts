/**
 * One at a time, by name, or a few. It is enough to agree within this process: the runtime lets only one process run containers, and what a
 * killed process held is free.
 */
interface Held {
  count: number;
  freed: PromiseWithResolvers<void>;
}

interface Manner {
  atOnce?: number;
  /** Called once, when others are in the way. */
  onWait?: () => void;
}

const held = new Map<string, Held>();

/** Waits until the name is free; stops waiting when told. */
export async function holding<T>(
  name: string,
  signal: AbortSignal,
  work: () => Promise<T>,
  { atOnce = 1, onWait }: Manner = {},
): Promise<T> {
  for (let others = held.get(name), first = true; others && others.count >= atOnce; others = held.get(name), first = false) {
    if (first) onWait?.();
    await either(others.freed.promise, signal);
  }
  signal.throwIfAborted();
  return hold(name, work);
}

/** Undefined where somebody else holds it. */
export const ifFree = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> =>
  held.has(name) ? undefined : hold(name, work);

async function hold<T>(name: string, work: () => Promise<T>): Promise<T> {
  const mine = held.get(name) ?? { count: 0, freed: Promise.withResolvers<void>() };
  held.set(name, mine);
  mine.count += 1;
  try {
    return await work();
  } finally {
    mine.count -= 1;
    mine.freed.resolve();
    mine.freed = Promise.withResolvers();
    if (mine.count === 0) held.delete(name);
  }
}

async function either(promise: Promise<void>, signal: AbortSignal) {
  const aborted = Promise.withResolvers<void>();
  const stop = () => aborted.resolve();
  signal.addEventListener('abort', stop, { once: true });
  if (!signal.aborted) await Promise.race([promise, aborted.promise]);
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
}
