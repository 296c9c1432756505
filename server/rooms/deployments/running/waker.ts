/**
 * Hears who visits what sleeps, from the edge and from other processes, and has it woken at once, many at a time. Seeing to it that the edge is listened
 * to is the part that must stay true, and so it is a reconciler: the machine may become ours, or its edge another one, at any time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Edge } from '../../../drivers/edge/edge.ts';
import { nudge, type Reconciler } from '../../../kernel/reconciler.ts';
import { stateOf } from '../../../kernel/state-of.ts';
import type { Platform } from '../../../platform.ts';
import { hasDeployments } from './kept-stacks.ts';
import { keepStacksRunning } from './reconcilers.ts';
import { wakeAt } from './wake.ts';

const againMilliseconds = 1000;

/** What is being woken, by cluster. */
const wakingIn = stateOf<Platform, Map<string, Promise<void>>>(() => new Map());
/** The edges that are listened to. */
const heardIn = stateOf<Platform, Set<Edge>>(() => new Set());

export const wakeWhenVisited: Reconciler = {
  name: 'wake previews that are visited',
  everySeconds: 2,
  usesMachine: true,
  run: async (platform, signal) => {
    if (!(await hasDeployments(platform.db))) return;
    const { edge } = await platform.machine();
    const [waking, heard] = [wakingIn(platform), heardIn(platform)];
    if (heard.has(edge) || signal.aborted) return;
    heard.add(edge);
    const wake = (cluster: string | undefined) => {
      if (cluster !== undefined && !waking.has(cluster)) waking.set(cluster, wakeAnyway(platform, cluster, signal));
    };
    const stops = [edge.onWake(wake), platform.notices.on('wake', wake)];
    signal.addEventListener('abort', () => {
      stops.forEach((stop) => stop());
      heard.delete(edge);
    });
    // The machine has just become ours: what another left half awake is not to wait for the next regular look.
    await nudge(platform.db, keepStacksRunning);
  },
  close: async (platform) => {
    await Promise.all(wakingIn(platform).values());
  },
};

/**
 * The edge asks once, so it is tried until it is no longer asleep. One that does not start is awake all the same: what keeps stacks running tries it
 * again.
 */
async function wakeAnyway(platform: Platform, cluster: string, signal: AbortSignal) {
  try {
    for (let isDone = false; !isDone && !signal.aborted;) isDone = await wakeOrSayWhyNot(platform, cluster, signal);
  } finally {
    wakingIn(platform).delete(cluster);
  }
}

async function wakeOrSayWhyNot(platform: Platform, cluster: string, signal: AbortSignal): Promise<boolean> {
  try {
    await wakeAt(platform, cluster, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) platform.log.warn({ cluster, error }, 'an environment that is asked for could not be woken');
    await sleep(againMilliseconds, undefined, { signal }).catch(() => {});
    return false;
  }
}
