import { setTimeout as sleep } from 'node:timers/promises';

const pollMilliseconds = 5;

/** Waits until something is so, but not for ever. */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>, secondsMax: number, report = () => '') {
  const deadline = performance.now() + secondsMax * 1000;
  for (;;) {
    // Before the look: one that took all the time there was is not the last.
    const isLast = performance.now() > deadline;
    if (await isSo()) return;
    if (isLast) throw new Error(`Waited ${secondsMax} seconds in vain: ${what}.\n${report()}`);
    await sleep(pollMilliseconds);
  }
}
