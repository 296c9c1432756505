import { setTimeout as sleep } from 'node:timers/promises';

const pollMillisecondsMin = 5;
const pollMillisecondsMax = 50;
/** What is waited for long is looked at less often: many looks are requests, which take from the platform what it needs to get there. */
const shareOfWait = 0.02;

/** Waits until something is so, but not for ever. */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>, secondsMax: number, report = () => '') {
  const begun = performance.now();
  for (;;) {
    // Before the look: one that took all the time there was is not the last.
    const waited = performance.now() - begun;
    if (await isSo()) return;
    if (waited > secondsMax * 1000) throw new Error(`Waited ${secondsMax} seconds in vain: ${what}.\n${report()}`);
    await sleep(Math.min(Math.max(waited * shareOfWait, pollMillisecondsMin), pollMillisecondsMax));
  }
}
