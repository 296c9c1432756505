/** What a page includes, on its way into it: a request like any other, but one that no log sees. */
import type { IncludeOrder } from './page-directives.ts';
import { askedFromPage } from './included-request.ts';
import { InnerVisit, type ReplyTaker } from './inner-visit.ts';
import { isEncoded } from './page-heads.ts';

/** What a variable may hold. */
const variableBytesMax = 32 * 1024;

export type Included = { kind: 'shown'; bytes: number } | { kind: 'kept'; text: string } | { kind: 'failed'; bytes: number };

export interface IncludeEvents {
  /** False: the client has no room. */
  onBytes(bytes: Buffer): boolean;
  /** Once. */
  onEnd(included: Included): void;
}

export class Include implements ReplyTaker {
  readonly order: IncludeOrder;
  readonly visit: InnerVisit;
  readonly #page: InnerVisit;
  readonly #events: IncludeEvents;
  readonly #kept: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  constructor(page: InnerVisit, order: IncludeOrder, events: IncludeEvents) {
    const { depth, memory } = page;
    this.order = order;
    this.#page = page;
    this.#events = events;
    this.visit = new InnerVisit(
      { outer: page, method: 'GET', asked: askedFromPage(page, order.place), isPage: false, depth: depth + 1, memory },
      this,
    );
  }

  inform() {}

  begin(status: number, _reason: string, lines: string) {
    if (status < 200 || status > 299) this.#fail(`answered ${status}`);
    else if (isEncoded(lines)) this.#fail('is compressed, although nobody asked for that');
  }

  take(bytes: Buffer): boolean {
    if (this.#isOver) return true;
    this.#bytes += bytes.length;
    if (!this.visit.memory.takeIncluded(bytes.length)) this.#fail('is too much for one page');
    else if (this.order.variable === undefined) return this.#events.onBytes(bytes);
    else if (this.#bytes > variableBytesMax) this.#fail('is too long for a variable');
    else this.#kept.push(bytes);
    return true;
  }

  end() {
    this.#finish(
      this.order.variable === undefined
        ? { kind: 'shown', bytes: this.#bytes }
        : { kind: 'kept', text: Buffer.concat(this.#kept).toString('latin1') },
    );
  }

  breakOff() {
    this.#fail(this.visit.note ?? 'took too long');
  }

  /** The client left. */
  abandon() {
    this.#isOver = true;
    this.visit.abandon();
  }

  #fail(reason: string) {
    this.visit.note ??= `what is included from ${this.order.place.path} ${reason}`;
    // Later, as whoever writes the reply is still at it.
    queueMicrotask(() => this.visit.abandon());
    this.#finish({ kind: 'failed', bytes: this.#bytes });
  }

  #finish(included: Included) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#page.note ??= this.visit.note;
    this.#events.onEnd(included);
  }
}
