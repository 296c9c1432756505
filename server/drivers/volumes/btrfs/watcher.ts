import { commandSecondsMax } from '../../command.ts';

const watchMilliseconds = 100;

/** Runs one round at a time. A failure is reported once, until a round works again. */
export function startWatcher(round: () => Promise<void>, warn: (sentence: string) => void) {
  let current = Promise.resolve();
  let isBusy = false;
  let isFailing = false;
  const look = async () => {
    try {
      await round();
      isFailing = false;
    } catch (error) {
      if (!isFailing) warn(`The pool of volumes cannot be looked after: ${String(error)}`);
      isFailing = true;
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    current = look();
  }, watchMilliseconds);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.race([current, new Promise((give) => setTimeout(give, commandSecondsMax * 1000).unref())]);
    },
  };
}
