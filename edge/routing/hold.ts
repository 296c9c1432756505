/**
 * Requests that wait: their environment is being replaced, or it sleeps. None of them has been sent anywhere, so any method may wait; what of a body
 * has not arrived stays with the client. They go on in the order in which they came. Their number, their bytes and their time are bounded.
 */
import type { EdgeLimits } from '../limits.ts';
import { waitingBytesMax } from '../client/request-body.ts';
import type { EdgeEnvironment } from './table.ts';
import type { Visit } from '../client/visit.ts';

export interface HoldOptions {
  limits: EdgeLimits;
  /** The environment as it is now; undefined: there is none. */
  find(cluster: string): EdgeEnvironment | undefined;
  onWake(cluster: string): void;
  /** Has the request look anew where it goes. */
  goOn(visit: Visit): void;
  onTooLong(visit: Visit): void;
}

/** Whether requests have to wait now: a hold may have an end of its own. */
export const mustWait = ({ state, holds_until = Infinity }: EdgeEnvironment): boolean =>
  state === 'sleeping' || (state === 'holding' && Date.now() < holds_until);

interface Held {
  visit: Visit;
  since: number;
  bytes: number;
}

export class Hold {
  readonly #options: HoldOptions;
  readonly #held = new Map<string, Set<Held>>();
  /** Environments that were asked to wake, and that the table has not changed since. */
  readonly #waking = new Set<string>();
  #requests = 0;
  #bytes = 0;

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** Clusters that somebody waits for. */
  get clusters() {
    return [...this.#held.keys()];
  }

  /** False: too many wait already. */
  wait(visit: Visit, { cluster, state }: EdgeEnvironment): boolean {
    const { limits } = this.#options;
    const waiting = this.#held.get(cluster) ?? new Set<Held>();
    const bytes = bytesOf(visit);
    if (waiting.size >= limits.heldRequestsPerEnvironmentMax || this.#requests >= limits.heldRequestsMax) return false;
    if (this.#bytes + bytes > limits.heldBytesMax) return false;
    const held: Held = { visit, since: performance.now(), bytes };
    this.#held.set(cluster, waiting.add(held));
    this.#requests++;
    this.#bytes += bytes;
    visit.attendant = { onAbort: () => this.#forget(cluster, held) };
    if (state === 'sleeping') this.#wake(cluster);
    return true;
  }

  /** Requests that waited for the environment look again, unless it is now in another state in which they would have to wait: they would only lose their place. */
  onChange(cluster: string, environment: EdgeEnvironment | undefined) {
    this.#waking.delete(cluster);
    const waiting = this.#held.get(cluster);
    if (!waiting) return;
    if (environment?.state === 'sleeping') this.#wake(cluster);
    if (!environment || !mustWait(environment)) this.#letGo(cluster, waiting);
  }

  tick(now: number) {
    const { limits, find } = this.#options;
    const earliest = now - limits.heldSeconds * 1000;
    for (const [cluster, waiting] of this.#held) {
      const environment = find(cluster);
      if (environment && !mustWait(environment)) this.#letGo(cluster, waiting);
      for (const held of waiting) {
        if (held.since > earliest) break;
        this.#forget(cluster, held);
        this.#options.onTooLong(held.visit);
      }
    }
  }

  #letGo(cluster: string, waiting: ReadonlySet<Held>) {
    // A copy, so that a request that must wait again is not met a second time.
    const leaving = [...waiting];
    for (const held of leaving) {
      this.#forget(cluster, held);
      this.#options.goOn(held.visit);
    }
  }

  #wake(cluster: string) {
    if (this.#waking.has(cluster)) return;
    this.#waking.add(cluster);
    this.#options.onWake(cluster);
  }

  #forget(cluster: string, held: Held) {
    const waiting = this.#held.get(cluster);
    if (!waiting?.delete(held)) return;
    if (waiting.size === 0) this.#held.delete(cluster);
    this.#requests--;
    this.#bytes -= held.bytes;
    held.visit.heldMs += performance.now() - held.since;
    held.visit.attendant = undefined;
  }
}

/** A body that is not whole counts with as much as may still arrive of it. */
function bytesOf({ rawHeaders, path, query, body }: Visit): number {
  const headBytes = rawHeaders.reduce((sum, text) => sum + text.length, path.length + query.length);
  return headBytes + (body.isExpected && !body.isWhole ? Math.max(body.waitingBytes, waitingBytesMax) : body.waitingBytes);
}
