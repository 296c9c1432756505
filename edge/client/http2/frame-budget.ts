/** How much of what costs the edge work, and brings nobody anything, a connection may do: so much at once, and so much again as time passes. */
export interface Allowance {
  atOnce: number;
  perSecond: number;
}

/** Streams that end before their reply: by the client's will, or because of what it sent. A browser gives up a page full of images at once. */
export const resetAllowance: Allowance = { atOnce: 1000, perSecond: 33 };
/** Frames that only want an answer, or hold nothing. */
export const idleFrameAllowance: Allowance = { atOnce: 1000, perSecond: 100 };

export class FrameBudget {
  readonly #allowance: Allowance;
  #left: number;
  #since = performance.now();

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
    this.#left = allowance.atOnce;
  }

  /** False: it is spent. */
  take(): boolean {
    if (this.#left < 1) this.#refill();
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  #refill() {
    const now = performance.now();
    const { atOnce, perSecond } = this.#allowance;
    this.#left = Math.min(atOnce, this.#left + ((now - this.#since) / 1000) * perSecond);
    this.#since = now;
  }
}
