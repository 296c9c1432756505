/** The last streams that were closed, for frames that were on their way meanwhile. */
const remembered = 256;

export class RecentlyClosed {
  readonly #streams = new Int32Array(remembered);
  readonly #areOurs = new Uint8Array(remembered);
  #count = 0;

  /** `isOurs`: the client may not know yet that the stream is over, and go on sending. */
  add(stream: number, isOurs: boolean) {
    const place = this.#count++ % remembered;
    this.#streams[place] = stream;
    this.#areOurs[place] = isOurs ? 1 : 0;
  }

  has(stream: number): boolean {
    return this.#streams.includes(stream);
  }

  isOurs(stream: number): boolean {
    const place = this.#streams.lastIndexOf(stream);
    return place !== -1 && this.#areOurs[place] === 1;
  }
}
