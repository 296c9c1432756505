/**
 * Requests to what goes on running wait for a moment. The edge is told so for a few seconds at a time, and again while it is needed: whoever is killed
 * meanwhile leaves nobody waiting, even if the platform does not come back. A hold that ended too early is no hold, and whoever needed it is told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import { allInstancesOf } from '../stack/containers.ts';
import type { Deployed } from '../queries.ts';
import { clusterOf } from '../stack/relationships.ts';
import { holdAtEdge, tellEdge } from './traffic.ts';

/** Requests under way that take longer than this go on during the hold; new requests wait for as long, too. */
const drainSecondsMax = 3;
/** How long requests wait at most if the process that holds them is killed. */
export const holdSeconds = 10;
/** Short enough for several attempts to renew a hold; long enough for most holds to be over before the first attempt. */
const renewSeconds = 2;

export async function whileHeld<T>(machine: Machine, deployed: Deployed, work: () => Promise<T>): Promise<T> {
  const { stack, generations } = deployed;
  const hold = openHold(machine, deployed);
  try {
    await hold.begin();
    const names = allInstancesOf(stack, generations).map(({ name }) => name);
    await Promise.all(names.map((name) => machine.edge.drain(clusterOf(stack), name, drainSecondsMax)));
    const done = await work();
    hold.check();
    return done;
  } finally {
    await hold.end();
    await tellEdge(machine, deployed, 'open');
  }
}

function openHold(machine: Machine, deployed: Deployed) {
  const over = new AbortController();
  let until = Infinity;
  let isLate = false;
  let renewing = Promise.resolve();

  const tell = async () => {
    const next = Date.now() + holdSeconds * 1000;
    await holdAtEdge(machine, deployed, next);
    isLate ||= Date.now() >= until;
    until = next;
  };
  /** An edge that does not answer is asked again; `check` says whether the hold had ended by then. */
  const renew = async () => {
    while (!over.signal.aborted) {
      await sleep(renewSeconds * 1000, undefined, { signal: over.signal }).catch(() => {});
      if (!over.signal.aborted) await tell().catch(() => {});
    }
  };

  return {
    async begin() {
      await tell();
      renewing = renew();
    },
    check() {
      if (isLate || Date.now() >= until)
        throw new Problem('unavailable', 'Requests could not be kept waiting for as long as the copies took; try again.');
    },
    /** After this, the edge is told nothing more of the hold. */
    async end() {
      over.abort();
      await renewing;
    },
  };
}
