/** A place of backups that is away, or is another installation's, is told of from the start on, not only when the next backup fails. */
import type { Reconciler } from '../../kernel/reconciler.ts';

export const lookAtPlaces: Reconciler = {
  name: 'look at the places of backups',
  everySeconds: 3600,
  usesMachine: true,
  isSlow: true,
  run: async ({ blobs, log }, signal) => {
    const stopped = new Promise<[]>((resolve) => signal.addEventListener('abort', () => resolve([]), { once: true }));
    // A platform that is being stopped does not wait for a place that does not answer.
    for (const { name, problem } of await Promise.race([blobs.places(), stopped]))
      if (problem !== undefined) log.error({ place: name }, `backups cannot be kept there: ${problem}`);
  },
};
