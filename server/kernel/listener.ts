/**
 * What a room hears of the machine, where a reconciler would have to look: begun in the one process that has the machine, as soon as that is open, and ended
 * with the platform.
 */
import type { Platform } from '../platform.ts';

export interface Listener {
  name: string;
  /** Listens until the signal is aborted, and then waits for what it began. */
  listen(platform: Platform, signal: AbortSignal): Promise<void>;
}

export function startListeners(listeners: readonly Listener[], platform: Platform, machineOpened: Promise<unknown>) {
  const stop = new AbortController();
  let listening: Promise<void>[] = [];
  const start = async ({ name, listen }: Listener) => {
    try {
      await listen(platform, stop.signal);
    } catch (error) {
      platform.log.error({ error, listener: name }, 'a listener of the machine ended; what it would have heard waits for the next start');
    }
  };
  void machineOpened.then(() => {
    if (!stop.signal.aborted) listening = listeners.map(start);
  });
  return {
    close: async () => {
      stop.abort();
      await Promise.all(listening);
    },
  };
}
