/**
 * A request on its way to an instance and the reply on its way back. It is tried on another instance only while nothing was sent; or when a
 * connection that had been kept turns out to be closed, and saying the request twice does no harm. Neither body is ever held as a whole: whoever
 * is slow makes the other wait.
 */
import type { Store } from '../cache/cache.ts';
import type { RequestWriter } from './request-writer.ts';
import type { EdgeHeaders } from '../edge-headers.ts';
import { Attempts } from './choose-instance.ts';
import type { RunningInstance } from './instances.ts';
import type { EdgeLimits } from '../limits.ts';
import { platformCluster } from '../routing/table.ts';
import { dropNamed, type ReplyHead } from './reply-head.ts';
import { stickyLine } from './sticky-cookie.ts';
import type { ReplySink } from './reply-reader.ts';
import type { BodySink } from '../client/request-body.ts';
import type { UpstreamConnection, UpstreamUser } from './upstream-connection.ts';
import type { Attendant, ReplyBody, Visit } from '../client/visit.ts';

export type Failure = 'unavailable' | 'bad-reply' | 'timeout' | 'too-large';

export interface Order {
  instances: readonly RunningInstance[];
  isSticky: boolean;
  bodyBytesMax: number;
  store: Store | undefined;
  limits: EdgeLimits;
  openWriter(sink: ReplySink): RequestWriter;
  edgeHeaders: EdgeHeaders;
  /** No reply has begun. `isUnsent`: no instance has seen any of it. */
  onFailure(failure: Failure, note: string, isUnsent: boolean): void;
}

/** A request that cannot be said twice uses a kept connection only if that was in use just now; otherwise it opens one. */
const freshMs = 1000;
/** Where the queue of an instance's socket has no room, the request asks again after so long. */
const crowdedMs = 10;
/** Up to here a copy is cheaper than anything else. */
const copiedBytesMax = 8 * 1024;
/** Nobody waits for the client to read these: 103 comes once or twice, 102 now and then. */
const interimRepliesMax = 32;
const sayableTwice = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

export class Delivery implements Attendant, BodySink, ReplySink, UpstreamUser {
  readonly #visit: Visit;
  readonly #order: Order;
  readonly #isCollected: boolean;
  #writer: RequestWriter;
  readonly #attempts: Attempts;
  /** Works on the request, with its connection. */
  #instance: RunningInstance | undefined;
  #connection: UpstreamConnection | undefined;
  #queueing: NodeJS.Timeout | undefined;
  #startedConnecting = 0;
  #hasSent = false;
  #keepsConnection = true;
  #keepSeconds: number | undefined;
  #isTunnel = false;
  #interims = 0;
  #store: Store | undefined;
  #deadline = 0;

  /** `isCollected`: the writer has the body already. */
  constructor(visit: Visit, order: Order, isCollected = false) {
    this.#visit = visit;
    this.#order = order;
    this.#isCollected = isCollected;
    this.#store = order.store;
    this.#attempts = new Attempts(order.instances, order.isSticky);
    this.#writer = order.openWriter(this);
  }

  get reader() {
    return this.#writer.reader;
  }

  start(mustBeNew = false) {
    const visit = this.#visit;
    const now = performance.now();
    const { instances, limits } = this.#order;
    const instance = this.#attempts.next(visit, now);
    if (!instance) return this.#fail('unavailable', instances.length === 0 ? 'no instance' : 'no instance answers');
    visit.attendant = this;
    visit.instance = instance.id;
    instance.outstanding++;
    this.#instance = instance;
    const isRepeatable = this.#isRepeatable();
    const kept = mustBeNew ? undefined : instance.takeIdle(isRepeatable ? Infinity : freshMs);
    const connection = kept ?? instance.connect();
    this.#connection = connection;
    connection.user = this;
    this.#startedConnecting = now;
    this.#deadline = now + limits.connectSeconds * 1000;
    if (kept) {
      visit.connectMs ??= 0;
      this.#send(connection);
    }
  }

  onConnected() {
    this.#visit.connectMs = performance.now() - this.#startedConnecting;
    if (this.#connection) this.#send(this.#connection);
  }

  #send(connection: UpstreamConnection) {
    const visit = this.#visit;
    this.#hasSent = true;
    this.#expectHead();
    this.#writer.start(connection.out);
    if (!visit.body.isExpected || this.#isCollected) return;
    if (visit.head.expectsContinue && visit.body.bytes === 0) visit.inform(100, '');
    visit.body.flowTo(this);
    visit.connection.mindReading();
  }

  #expectHead() {
    const now = performance.now();
    const { firstByteSeconds, totalSeconds } = this.#order.limits;
    this.#deadline = Math.min(now + firstByteSeconds * 1000, this.#visit.startedAt + this.#visit.heldMs + totalSeconds * 1000);
  }

  onBody(chunk: Buffer): boolean {
    if (!this.#connection) return true;
    if (this.#visit.body.bytes > this.#order.bodyBytesMax) {
      this.#letGo();
      this.#fail('too-large', 'the body is larger than the location allows');
      return true;
    }
    if (this.#visit.status === 0) this.#expectHead();
    return this.#writer.body(this.#connection.out, chunk);
  }

  onBodyEnd(trailers: readonly string[]) {
    if (this.#connection) this.#writer.end(this.#connection.out, trailers);
  }

  onInstanceRoom() {
    if (this.#isTunnel) this.#visit.connection.resume();
    else this.#visit.connection.onBodyRoom(this.#visit);
  }

  onHead(head: ReplyHead) {
    // More of a reply that was refused is not for the client, which has been answered by then.
    if (!this.#connection) return;
    const visit = this.#visit;
    if (head.status < 200) return this.#onInterim(head);
    visit.firstByteMs = performance.now() - visit.startedAt;
    this.#keepsConnection = head.keepAlive && visit.body.isWhole;
    this.#keepSeconds = head.keepAliveSeconds;
    const { lines, dropped } = this.#order.edgeHeaders;
    if (dropped) dropNamed(head, dropped);
    if (this.#store && !this.#store.begin(head.status, head)) this.#store = undefined;
    visit.begin(head.status, head.reason, head.passed + lines + this.#stickyLine(), bodyOf(visit, head));
    this.#progress();
  }

  /** Tells the client which instance answered, unless its cookie says so already. A reply that goes into the cache, for many clients, does not say it. */
  #stickyLine(): string {
    const { head, scheme } = this.#visit;
    const mark = this.#instance?.mark;
    return this.#order.isSticky && mark !== undefined && mark !== head.stickyTo && !this.#store ? stickyLine(mark, scheme) : '';
  }

  #onInterim(head: ReplyHead) {
    const visit = this.#visit;
    if (head.status !== 101) {
      if (this.#interims++ >= interimRepliesMax) this.onBadReply('it does not come to the point');
      else if (head.status !== 100) visit.inform(head.status, head.passed);
      return;
    }
    const connection = this.#connection;
    if (visit.upgrade === undefined || !connection) return this.onBadReply('it changes the protocol unasked');
    visit.firstByteMs = performance.now() - visit.startedAt;
    this.#isTunnel = true;
    visit.keepAlive = false;
    const upgrade = `Upgrade: ${head.upgrade ?? visit.upgrade}\r\nConnection: Upgrade\r\n`;
    visit.beginTunnel(head.passed + this.#order.edgeHeaders.lines + this.#stickyLine() + upgrade);
    this.#progress();
    visit.connection.takeOver((chunk) => {
      this.#progress();
      if (!connection.out.write(chunk.length <= copiedBytesMax ? chunk.toString('latin1') : chunk)) visit.connection.pause();
    });
  }

  onReplyBody(piece: Buffer | string) {
    if (!this.#connection) return;
    this.#progress();
    this.#store?.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : Buffer.from(piece));
    if (!this.#pass(piece)) this.#connection?.pause();
  }

  #pass(bytes: Buffer | string): boolean {
    if (typeof bytes === 'string') return this.#visit.write(bytes);
    if (bytes.length <= copiedBytesMax) return this.#visit.write(bytes.toString('latin1'));
    const lent = this.#connection?.keepBuffer();
    return this.#visit.write(lent ? bytes : Buffer.from(bytes), lent);
  }

  onReplyEnd(trailers: string) {
    const connection = this.#connection;
    if (!connection) return;
    this.#store?.end();
    this.#store = undefined;
    const keeps = this.#keepsConnection && !this.#isTunnel && this.#visit.body.isWhole;
    this.#forgetConnection();
    if (keeps) connection.release(this.#keepSeconds);
    else connection.destroy();
    this.#visit.end(trailers);
  }

  onBadReply(reason: string) {
    this.#letGo();
    this.#fail('bad-reply', reason);
  }

  onLost(reason: string) {
    const connection = this.#connection;
    const instance = this.#instance;
    if (!connection || !instance) return;
    const { timesUsed, hasReceived, isCrowded } = connection;
    this.#letGo();
    if (isCrowded && !this.#hasSent && this.#attempts.mayQueue(this.#order.limits.connectSeconds)) {
      this.#queueing = setTimeout(() => this.start(true), crowdedMs);
    } else if (!this.#hasSent) {
      this.#attempts.failedAt(instance);
      this.start(true);
    } else if (timesUsed > 0 && !hasReceived && this.#isRepeatable()) this.#again();
    else this.#fail('bad-reply', reason);
  }

  /** The connection was closed while it was kept, so the instance never saw the request: it goes on a new one. */
  #again() {
    this.#hasSent = false;
    this.#writer = this.#order.openWriter(this);
    this.start(true);
  }

  #isRepeatable() {
    const { method, body } = this.#visit;
    return sayableTwice.has(method) && !body.isExpected;
  }

  onClientRoom() {
    this.#connection?.resume();
  }

  onAbort() {
    clearTimeout(this.#queueing);
    this.#letGo();
    this.#store?.abort();
    this.#store = undefined;
  }

  onTick(now: number) {
    if (this.#deadline === 0 || now < this.#deadline) return;
    if (!this.#hasSent) return this.onLost('connecting takes too long');
    this.#letGo();
    if (this.#isTunnel) this.#visit.end();
    else this.#fail('timeout', this.#visit.status === 0 ? 'the instance takes too long to answer' : 'nothing moved for too long');
  }

  #progress() {
    const { idleSeconds, platformIdleSeconds } = this.#order.limits;
    const isPlatform = this.#visit.environment?.cluster === platformCluster;
    this.#deadline = performance.now() + (isPlatform ? platformIdleSeconds : idleSeconds) * 1000;
  }

  #fail(failure: Failure, note: string) {
    if (this.#visit.isOver) return;
    this.#store?.abort();
    this.#store = undefined;
    if (this.#visit.status === 0) this.#order.onFailure(failure, note, !this.#hasSent);
    else this.#visit.breakOff(note);
  }

  #letGo() {
    const connection = this.#connection;
    this.#forgetConnection();
    connection?.destroy();
  }

  #forgetConnection() {
    const connection = this.#connection;
    if (!connection) return;
    this.#connection = undefined;
    this.#deadline = 0;
    connection.user = undefined;
    this.#instance?.leave();
    this.#instance = undefined;
  }
}

function bodyOf({ method }: Visit, { status, contentLength }: ReplyHead): ReplyBody {
  if (method === 'HEAD' || status === 304) return { kind: 'none', length: contentLength };
  if (status === 204) return { kind: 'none' };
  return contentLength === undefined ? { kind: 'stream' } : { kind: 'length', length: contentLength };
}
