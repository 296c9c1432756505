/** Packs repositories, one after the other: each push leaves a pack or loose objects, and Git knows when there are enough of them to act. */
import { tryGit } from './command.ts';

const tidySecondsMax = 30 * 60;
const waitingMax = 1000;

export function openPacker(path: (projectId: string) => string) {
  const waiting = new Set<string>();
  const stop = new AbortController();
  let working: Promise<void> | undefined;

  const work = async () => {
    for (const projectId of waiting) {
      waiting.delete(projectId);
      if (stop.signal.aborted) break;
      const settings = { 'gc.auto': '2000', 'gc.autoPackLimit': '50', 'gc.autoDetach': 'false' };
      /** Failures are ignored: the repository may be gone by now, and what could not be tidied is tidied after another push. */
      await tryGit(path(projectId), ['gc', '--auto', '--quiet'], { settings, secondsMax: tidySecondsMax, signal: stop.signal }).catch(
        () => undefined,
      );
    }
    working = undefined;
  };

  return {
    tidy(projectId: string) {
      if (waiting.size < waitingMax) waiting.add(projectId);
      working ??= work();
    },
    close: async () => {
      stop.abort();
      await working;
    },
  };
}
