/**
 * Fair turns. Each time around the event loop an environment may start so many requests; those beyond wait for the next time, and what arrived for
 * others comes before them. A flood of one environment is then a queue of its own, not a wall before everybody.
 */
import type { Visit } from './visit.ts';

/** Enough to work in batches, which is what makes a request cheap; few enough that one time around stays short. */
const startsPerTurnMax = 16;
/** While several are visited: dearer, but a time around is a quarter as long, and each waits for a few of them. */
const startsPerSharedTurnMax = 4;
/** Visitors of a quiet neighbour are seconds apart. */
const sharedMilliseconds = 2000;

interface Queue {
  turn: number;
  started: number;
  waiting: Visit[];
}

export class Turns {
  readonly #start: (visit: Visit) => void;
  readonly #queues = new Map<string, Queue>();
  #turn = 0;
  #lastCluster = '';
  #sharedUntil = 0;
  #startsMax = startsPerTurnMax;
  #isScheduled = false;

  constructor(start: (visit: Visit) => void) {
    this.#start = start;
  }

  take(cluster: string, visit: Visit) {
    if (cluster !== this.#lastCluster) this.#noteShared(cluster);
    const queue = this.#queueOf(cluster);
    if (queue.turn !== this.#turn) [queue.turn, queue.started] = [this.#turn, 0];
    this.#schedule();
    if (queue.started < this.#startsMax && queue.waiting.length === 0) {
      queue.started++;
      this.#start(visit);
    } else queue.waiting.push(visit);
  }

  #noteShared(cluster: string) {
    this.#lastCluster = cluster;
    this.#sharedUntil = performance.now() + sharedMilliseconds;
  }

  #queueOf(cluster: string): Queue {
    const known = this.#queues.get(cluster);
    if (known) return known;
    const queue = { turn: this.#turn, started: 0, waiting: [] };
    this.#queues.set(cluster, queue);
    return queue;
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn() {
    this.#isScheduled = false;
    this.#turn++;
    this.#startsMax = this.#sharedUntil > performance.now() ? startsPerSharedTurnMax : startsPerTurnMax;
    for (const [cluster, queue] of this.#queues) {
      if (queue.waiting.length > 0) this.#startSome(queue);
      else if (queue.turn < this.#turn - 1) this.#queues.delete(cluster);
    }
  }

  #startSome(queue: Queue) {
    queue.turn = this.#turn;
    queue.started = this.#startsMax;
    this.#schedule();
    for (const visit of queue.waiting.splice(0, this.#startsMax)) if (!visit.isOver) this.#start(visit);
  }
}
