/**
 * Fair turns. Each time around the event loop an environment has a share of what may be done; what is beyond waits for the next time, and what arrived
 * for others comes before it. A flood of one environment is then a queue of its own, not a wall before everybody.
 */

export interface Shares {
  /** The share of an owner that is alone: enough to work in batches, which makes a request cheap, and few enough that one time around stays short. */
  alone: number;
  /** The share while several owners are visited: a request costs more, but one time around is shorter, and everybody waits for only a few of them. */
  amongOthers: number;
}

/** Visitors of a quiet neighbour are seconds apart. */
const amongOthersMilliseconds = 2000;

interface Queue {
  turn: number;
  done: number;
  waiting: (() => void)[];
}

export class Turns {
  readonly #shares: Shares;
  readonly #queues = new Map<string, Queue>();
  #turn = 0;
  #lastOwner = '';
  /** The owners before the last one, and until when they were there; those that are gone for longest come first. */
  readonly #others = new Map<string, number>();
  #share: number;
  #isScheduled = false;

  constructor(shares: Shares) {
    this.#shares = shares;
    this.#share = shares.alone;
  }

  /** How many times around there have been. */
  get number() {
    return this.#turn;
  }

  /** True: it counts, and may be done now. False: the share is spent, and it has to `wait`. */
  mayGo(owner: string): boolean {
    if (owner !== this.#lastOwner) this.#noteOthers(owner);
    const queue = this.#queueOf(owner);
    if (queue.turn !== this.#turn) [queue.turn, queue.done] = [this.#turn, 0];
    this.#schedule();
    if (queue.waiting.length > 0 || queue.done >= this.#share) return false;
    queue.done++;
    return true;
  }

  /** `go` is called in a later turn, after those that wait already. */
  wait(owner: string, go: () => void) {
    this.#queueOf(owner).waiting.push(go);
    this.#schedule();
  }

  /** The owner is not there any more, or what it did turned out to be for another one. */
  forget(owner: string) {
    if (owner === this.#lastOwner) this.#lastOwner = '';
    else this.#others.delete(owner);
    this.#chooseShare();
  }

  #noteOthers(owner: string) {
    if (this.#lastOwner !== '') this.#others.set(this.#lastOwner, performance.now());
    this.#others.delete(owner);
    this.#lastOwner = owner;
    this.#chooseShare();
  }

  #chooseShare() {
    if (this.#others.size > 0) this.#forgetOld(performance.now() - amongOthersMilliseconds);
    const owners = this.#others.size + (this.#lastOwner === '' ? 0 : 1);
    this.#share = owners > 1 ? this.#shares.amongOthers : this.#shares.alone;
  }

  #forgetOld(before: number) {
    for (const [owner, until] of this.#others) {
      if (until >= before) return;
      this.#others.delete(owner);
    }
  }

  #queueOf(owner: string): Queue {
    const known = this.#queues.get(owner);
    if (known) return known;
    const queue = { turn: this.#turn, done: 0, waiting: [] };
    this.#queues.set(owner, queue);
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
    this.#chooseShare();
    for (const [owner, queue] of this.#queues) {
      if (queue.waiting.length > 0) this.#letSomeGo(queue);
      else if (queue.turn < this.#turn - 1) this.#queues.delete(owner);
    }
  }

  #letSomeGo(queue: Queue) {
    const some = queue.waiting.splice(0, this.#share);
    [queue.turn, queue.done] = [this.#turn, some.length];
    this.#schedule();
    for (const go of some) go();
  }
}
