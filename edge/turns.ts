/**
 * Fair turns. Each time around the event loop an environment has a share of work that it may start; what is beyond waits for the next time, and what
 * arrived for others comes before it. A flood of one environment is then a queue of its own, not a wall before everybody.
 */

/** What each kind of work takes of a share: about as much of the processor's time. */
const costs = { request: 4, piece: 1 };
export type Work = keyof typeof costs;

/** Enough to work in batches, which is what makes a request cheap; little enough that one time around stays short. */
const share = 64;
/** While several are visited: dearer, but a time around is a quarter as long, and each waits for a few of them. */
const shareAmongOthers = 16;
/** Visitors of a quiet neighbour are seconds apart. */
const sharedMilliseconds = 2000;

interface Waiting {
  cost: number;
  start(): void;
}

interface Queue {
  turn: number;
  spent: number;
  waiting: Waiting[];
}

export class Turns {
  readonly #queues = new Map<string, Queue>();
  #turn = 0;
  #lastCluster = '';
  #sharedUntil = 0;
  #share = share;
  #isScheduled = false;

  /** How many times around there have been. */
  get number() {
    return this.#turn;
  }

  /** True: it counts, and may start now. False: it has to `wait`. */
  mayStart(cluster: string, work: Work): boolean {
    if (cluster !== this.#lastCluster) this.#noteShared(cluster);
    const queue = this.#queueOf(cluster);
    if (queue.turn !== this.#turn) [queue.turn, queue.spent] = [this.#turn, 0];
    this.#schedule();
    if (queue.waiting.length > 0 || queue.spent >= this.#share) return false;
    queue.spent += costs[work];
    return true;
  }

  /** `start` is called in a later turn, after what waits already. */
  wait(cluster: string, work: Work, start: () => void) {
    this.#queueOf(cluster).waiting.push({ cost: costs[work], start });
    this.#schedule();
  }

  #noteShared(cluster: string) {
    this.#lastCluster = cluster;
    this.#sharedUntil = performance.now() + sharedMilliseconds;
  }

  #queueOf(cluster: string): Queue {
    const known = this.#queues.get(cluster);
    if (known) return known;
    const queue = { turn: this.#turn, spent: 0, waiting: [] };
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
    this.#share = this.#sharedUntil > performance.now() ? shareAmongOthers : share;
    for (const [cluster, queue] of this.#queues) {
      if (queue.waiting.length > 0) this.#startSome(queue);
      else if (queue.turn < this.#turn - 1) this.#queues.delete(cluster);
    }
  }

  #startSome(queue: Queue) {
    let [count, spent] = [0, 0];
    for (; count < queue.waiting.length && spent < this.#share; count++) spent += queue.waiting[count]?.cost ?? 0;
    [queue.turn, queue.spent] = [this.#turn, spent];
    this.#schedule();
    for (const { start } of queue.waiting.splice(0, count)) start();
  }
}
