/**
 * Looks at a file again and again while it grows, and hardly while it does not: the kernel tells when it begins to. Being told of every single change
 * would cost more than looking now and then, so while it grows nobody listens. What the kernel cannot tell is found out a little later.
 */
import { watch, type FSWatcher } from 'node:fs';

const lookMilliseconds = 250;
/** After so many looks without anything new, watching is left to the kernel. */
const quietLooksMax = 8;
const anywayMilliseconds = 10_000;
/** How often to look where the kernel watches no more files. */
const unwatchedMilliseconds = 1000;

export interface Looking {
  /** Settles when a look that is under way has ended. */
  close(): Promise<void>;
}

/** `look` answers whether there was something new. It is never called twice at once, and must not throw. */
export function keepLooking(path: string, look: () => Promise<boolean>): Looking {
  let watcher: FSWatcher | undefined;
  let isTold = false;
  let isClosed = false;
  let wake = () => {};

  const tell = () => {
    isTold = true;
    wake();
  };
  const unwatch = () => {
    watcher?.close();
    watcher = undefined;
    isTold = false;
  };
  const wait = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      if (isClosed || isTold) return resolve();
      const timer = setTimeout(resolve, milliseconds).unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    for (let quietLooks = 0; ;) {
      if (isClosed) return;
      quietLooks = (await look()) ? 0 : quietLooks + 1;
      if (quietLooks < quietLooksMax) {
        unwatch();
        await wait(lookMilliseconds);
      } else if (!watcher) {
        // One more look: nobody tells of what came before the watcher was there.
        watcher = watched(path, tell);
        if (!watcher) await wait(unwatchedMilliseconds);
      } else {
        await wait(anywayMilliseconds);
        if (isTold) quietLooks = 0;
      }
    }
  };
  const running = run();

  return {
    async close() {
      isClosed = true;
      unwatch();
      wake();
      await running;
    },
  };
}

function watched(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on('error', onChange);
  } catch {
    return undefined;
  }
}
