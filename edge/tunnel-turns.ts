/**
 * Fair turns for connections that were taken over, such as WebSockets. Each time around the event loop so many pieces of an environment's clients are
 * passed on; whoever said more is not read from until it is his turn again. Thousands of them that talk without end are then a queue of their own, as
 * with requests (turns.ts).
 */

/** Few enough that one time around stays short. */
const piecesPerTurnMax = 16;

interface Queue {
  passed: number;
  waiting: (() => void)[];
}

export class TunnelTurns {
  readonly #queues = new Map<string, Queue>();
  #isScheduled = false;

  /** For each piece that was passed on. False: read no further until `goOn` is called. */
  mayReadOn(cluster: string, goOn: () => void): boolean {
    const queue = this.#queues.get(cluster) ?? { passed: 0, waiting: [] };
    this.#queues.set(cluster, queue);
    this.#schedule();
    queue.passed++;
    if (queue.passed < piecesPerTurnMax && queue.waiting.length === 0) return true;
    queue.waiting.push(goOn);
    return false;
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn() {
    this.#isScheduled = false;
    for (const [cluster, queue] of this.#queues) {
      queue.passed = 0;
      if (queue.waiting.length === 0) this.#queues.delete(cluster);
      else this.#schedule();
      for (const goOn of queue.waiting.splice(0, piecesPerTurnMax)) goOn();
    }
  }
}
