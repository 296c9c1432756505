/** One after the other for one name, side by side for others. */
export class Turns {
  #last = new Map<string, Promise<unknown>>();

  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(name, mine);
    const leave = () => {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    };
    mine.then(leave, leave);
    return mine;
  }

  /** Whatever has begun is over when this returns. */
  async over() {
    await Promise.allSettled(this.#last.values());
  }
}
