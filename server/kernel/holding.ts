/**
 * One at a time, by name. It is enough to agree within this process: the runtime lets only one process run containers, and what a
 * killed process held is free. Places that several have at once, and that are shared, are in fair-places.ts.
 */
interface Manner {
  /** Called once, when somebody else is in the way. */
  onWait?: () => void;
}

/** By name: when it is free again. */
const held = new Map<string, Promise<void>>();

/** Waits until the name is free; stops waiting when told. */
export async function holding<T>(name: string, signal: AbortSignal, work: () => Promise<T>, { onWait }: Manner = {}): Promise<T> {
  for (let freed = held.get(name), first = true; freed; freed = held.get(name), first = false) {
    if (first) onWait?.();
    await either(freed, signal);
  }
  signal.throwIfAborted();
  return hold(name, work);
}

/** Undefined where somebody else holds it. */
export const ifFree = async <T>(name: string, work: () => Promise<T>): Promise<T | undefined> =>
  held.has(name) ? undefined : hold(name, work);

async function hold<T>(name: string, work: () => Promise<T>): Promise<T> {
  const freed = Promise.withResolvers<void>();
  held.set(name, freed.promise);
  try {
    return await work();
  } finally {
    held.delete(name);
    freed.resolve();
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
