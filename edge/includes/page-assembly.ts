/**
 * A page on its way to the client, with what it includes put into it. It stands between the two: whoever answers the page writes to `page`, a visit of its own, and
 * what comes of it goes to the client. So everything else works as it does without includes; the cache keeps pages as the application made them, and parts by
 * themselves. Parts are fetched one after another. Of the page itself no more is read meanwhile than is bounded, but enough that a program that answers one
 * request at a time has usually said all of the page, and is free for its parts.
 */
import type { EdgeLimits } from '../limits.ts';
import type { Attendant, ReplyBody, Visit } from '../client/visit.ts';
import { DirectiveScanner, type Token } from './directive-scanner.ts';
import { Include, type Included } from './include.ts';
import { askedAsWhole } from './included-request.ts';
import { InnerVisit, type ReplyTaker } from './inner-visit.ts';
import { PageDirectives, type IncludeOrder } from './page-directives.ts';
import { isPage, linesOfPage } from './page-heads.ts';
import { PageMemory } from './page-memory.ts';

/** What all pages of the process have to themselves. */
export interface PagesAhead {
  bytes: number;
}

export interface AssemblyOptions {
  limits: EdgeLimits;
  ahead: PagesAhead;
  serve(part: Visit): void;
}

export class PageAssembly implements Attendant, ReplyTaker {
  readonly page: InnerVisit;
  readonly #client: Visit;
  readonly #options: AssemblyOptions;
  readonly #scanner = new DirectiveScanner();
  readonly #directives: PageDirectives;
  #include: Include | undefined;
  /** It is no page, and passes as it is. */
  #isPassing = false;
  #isWhole = false;
  #trailers = '';
  #isProceeding = false;
  #hasRoom = true;
  /** Whoever writes the page was told to wait. */
  #isPageWaiting = false;
  #aheadBytes = 0;
  #deadline = 0;

  constructor(client: Visit, options: AssemblyOptions) {
    const { method, body } = client;
    const { depth, memory } = client instanceof InnerVisit ? client : { depth: 0, memory: new PageMemory(options.limits) };
    const asked = isForPartOfPage(client) ? client : askedAsWhole(client);
    this.#client = client;
    this.#options = options;
    this.page = new InnerVisit({ outer: client, method, asked, body, isPage: true, depth, memory }, this);
    const target = client.query === '' ? client.path : `${client.path}?${client.query}`;
    this.#directives = new PageDirectives({ request: this.page, requestId: client.requestId, target }, memory);
    client.attendant = this;
  }

  inform(status: number, lines: string) {
    this.#client.inform(status, lines);
  }

  begin(status: number, reason: string, lines: string, body: ReplyBody) {
    this.#tellClientsVisit();
    this.#isPassing = !isPage(status, lines);
    if (this.#isPassing) this.#client.begin(status, reason, lines, body);
    else this.#client.begin(status, reason, linesOfPage(lines), { kind: body.kind === 'none' ? 'none' : 'stream' });
  }

  take(bytes: Buffer): boolean {
    if (this.#isPassing) this.#write(bytes);
    else this.#scanner.push(bytes);
    this.#proceed();
    this.#isPageWaiting = !this.#wantsMore;
    return this.#wantsMore;
  }

  end(trailers: string) {
    this.#isWhole = true;
    if (this.#isPassing) this.#trailers = trailers;
    this.#proceed();
  }

  breakOff() {
    if (this.#client.isOver) return;
    const note = this.page.note ?? 'nothing moved for too long';
    this.#tellClientsVisit();
    this.onAbort();
    this.#client.breakOff(note);
  }

  onAbort() {
    this.#include?.abandon();
    this.#include = undefined;
    this.page.abandon();
    this.#countAhead(0);
  }

  onClientRoom() {
    this.#hasRoom = true;
    this.#deadline = 0;
    this.#include?.visit.attendant?.onClientRoom?.();
    this.#proceed();
  }

  onTick(now: number) {
    this.page.attendant?.onTick?.(now);
    this.#include?.visit.attendant?.onTick?.(now);
    if (this.#deadline !== 0 && now > this.#deadline) this.breakOff();
  }

  /** Meets what has come of the page, up to the next include, or until the client has no room. */
  #proceed() {
    if (this.#isProceeding) return;
    this.#isProceeding = true;
    while (this.#mayProceed) {
      const token = this.#scanner.next();
      if (!token) break;
      this.#meet(token);
    }
    this.#isProceeding = false;
    this.#countAhead(this.#client.isOver ? 0 : this.#scanner.waitingBytes);
    if (this.#mayProceed && this.#isWhole) this.#finish();
    else if (this.#isPageWaiting && this.#wantsMore) {
      this.#isPageWaiting = false;
      this.page.attendant?.onClientRoom?.();
    }
  }

  get #mayProceed() {
    return this.#hasRoom && !this.#include && !this.#client.isOver;
  }

  get #wantsMore(): boolean {
    const { ahead, limits } = this.#options;
    if (!this.#include || !this.#hasRoom) return this.#hasRoom;
    return this.#aheadBytes < limits.pageAheadBytesMax && ahead.bytes < limits.pagesAheadBytesMax;
  }

  #countAhead(bytes: number) {
    this.#options.ahead.bytes += bytes - this.#aheadBytes;
    this.#aheadBytes = bytes;
  }

  #meet(token: Token) {
    if (token.kind === 'text') {
      if (this.#directives.shows(token.bytes)) this.#write(token.bytes);
      return;
    }
    const obeyed = token.kind === 'directive' ? this.#directives.obey(token.source) : this.#directives.error;
    if (typeof obeyed === 'string') this.#write(obeyed);
    else this.#startInclude(obeyed);
  }

  #startInclude(order: IncludeOrder) {
    const { depth, memory } = this.page;
    if (depth >= memory.depthMax || !memory.takeInclude()) {
      this.page.note ??= `${order.place.path} is not included: there are too many includes, or too deep ones`;
      this.#write(this.#directives.errorText);
      return;
    }
    this.#include = new Include(this.page, order, {
      onBytes: (bytes) => this.#write(bytes),
      onEnd: (included) => this.#onIncluded(order, included),
    });
    this.#options.serve(this.#include.visit);
  }

  #onIncluded({ stub, variable }: IncludeOrder, included: Included) {
    this.#include = undefined;
    if (variable !== undefined) {
      if (included.kind === 'kept') this.page.memory.keep('variable', variable, included.text);
    } else if (included.kind !== 'kept' && included.bytes === 0 && stub !== undefined) {
      this.#scanner.putBack(Buffer.from(this.page.memory.get('block', stub) ?? '', 'latin1'));
    } else if (included.kind === 'failed') this.#write(this.#directives.errorText);
    this.#proceed();
  }

  #finish() {
    const rest = this.#scanner.last();
    if (rest) this.#meet(rest);
    this.#tellClientsVisit();
    this.#client.end(this.#trailers);
  }

  #write(bytes: Buffer | string): boolean {
    if (bytes.length > 0 && !this.#client.write(bytes)) {
      this.#hasRoom = false;
      this.#deadline = performance.now() + this.#options.limits.idleSeconds * 1000;
    }
    return this.#hasRoom;
  }

  /** The client's visit is the one that is in the logs. */
  #tellClientsVisit() {
    const { instance, cache, connectMs, firstByteMs, note, startedAt } = this.page;
    const client = this.#client;
    client.instance = instance;
    client.cache = cache;
    client.connectMs = connectMs;
    client.firstByteMs = firstByteMs === null ? null : firstByteMs + startedAt - client.startedAt;
    client.note = note;
  }
}

/**
 * What browsers want for a page, such as a picture, is no page itself: they may ask for parts of it, or whether it has changed. Who does not say so could be
 * told of a page that it has not changed, although what it includes has.
 */
const isForPartOfPage = ({ headers }: Visit) => partsOfPages.has(headers['sec-fetch-dest'] ?? '');
const partsOfPages = new Set([
  'audio',
  'font',
  'image',
  'manifest',
  'script',
  'style',
  'track',
  'video',
  'worker',
  'sharedworker',
  'serviceworker',
]);
