/** Which part of a page is shown: `if`, `elif`, `else` and `endif`, one inside of another. */

interface Branch {
  isShown: boolean;
  /** One of its parts was shown already. */
  wasShown: boolean;
}

const depthMax = 32;

export class Branches {
  /** Only the last one can be hidden: what is opened inside of a hidden one is merely counted. */
  readonly #open: Branch[] = [];
  #openInHidden = 0;

  get isShown() {
    return this.#open.at(-1)?.isShown ?? true;
  }

  /** False: it stands too deep. It is hidden then, up to its end. */
  open(condition: () => boolean): boolean {
    const isTooDeep = this.isShown && this.#open.length >= depthMax;
    if (!this.isShown || isTooDeep) this.#openInHidden++;
    else {
      const isTrue = condition();
      this.#open.push({ isShown: isTrue, wasShown: isTrue });
    }
    return !isTooDeep;
  }

  /** For `elif`, and for `else`, whose condition always holds. False: there is no `if` before it. */
  turn(condition: () => boolean): boolean {
    const branch = this.#open.at(-1);
    if (!branch || this.#openInHidden > 0) return branch !== undefined;
    branch.isShown = !branch.wasShown && condition();
    branch.wasShown ||= branch.isShown;
    return true;
  }

  /** False: there is nothing to end. */
  close(): boolean {
    if (this.#openInHidden === 0) return this.#open.pop() !== undefined;
    this.#openInHidden--;
    return true;
  }
}
