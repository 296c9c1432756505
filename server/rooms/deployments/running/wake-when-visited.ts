/**
 * Hears who visits what sleeps, from the edge and from other processes, and has it woken at once, many at a time.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Listener } from '../../../kernel/listener.ts';
import type { Platform } from '../../../platform.ts';
import { wakeAt } from './wake.ts';

const againMilliseconds = 1000;

export const wakeWhenVisited: Listener = {
  name: 'wake previews that are visited',
  listen: async (platform, signal) => {
    const { edge } = await platform.machine();
    /** The wakings under way, by cluster. */
    const waking = new Map<string, Promise<void>>();
    const wake = (cluster: string | undefined) => {
      if (cluster === undefined || waking.has(cluster)) return;
      waking.set(
        cluster,
        wakeAnyway(platform, cluster, signal).finally(() => waking.delete(cluster)),
      );
    };
    const stops = [edge.onWake(wake), platform.notices.on('wake', wake)];
    if (!signal.aborted) await once(signal, 'abort');
    stops.forEach((stop) => stop());
    await Promise.all(waking.values());
  },
};

/**
 * The edge asks only once, so waking is tried until the environment is no longer asleep. An environment that does not start counts as awake: what keeps stacks
 * running tries it again.
 */
async function wakeAnyway(platform: Platform, cluster: string, signal: AbortSignal) {
  for (let isDone = false; !isDone && !signal.aborted;) isDone = await wakeOrSayWhyNot(platform, cluster, signal);
}

async function wakeOrSayWhyNot(platform: Platform, cluster: string, signal: AbortSignal): Promise<boolean> {
  try {
    await wakeAt(platform, cluster, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) platform.log.warn({ cluster, error }, 'an environment that somebody asked for could not be woken');
    await sleep(againMilliseconds, undefined, { signal }).catch(() => {});
    return false;
  }
}
