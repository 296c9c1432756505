/**
 * A connection to an instance, used by one request after another. It reads into a buffer that all share; only while a large body comes does it have
 * one of its own, which travels on to the client without a copy.
 */
import { connect, type LookupFunction, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { borrowBuffer, giveBack, scratch } from '../client/buffers.ts';
import type { EdgeLimits } from '../limits.ts';
import type { Instance } from '../routing/table.ts';
import { Outgoing } from '../client/outgoing.ts';
import type { ReplyReader } from './reply-reader.ts';
import { Reader, type ReadingTurns } from '../client/reading-turns.ts';
import { SocketReading } from '../client/socket-reading.ts';
import { connectToSocketAt } from './unix-socket.ts';

/** How a target outside the platform is connected to: whether by TLS, and who looks up its name. */
export interface Secure {
  isTls: boolean;
  lookup: LookupFunction;
}

/** What a connection leads to. It keeps connections that are idle, and hears what becomes of them. */
export interface ConnectionKeeper {
  readonly cluster: string;
  readonly address: Instance['address'];
  readonly secure: Secure | undefined;
  /** The first bytes came, so the program has accepted it. */
  heard(connection: UpstreamConnection): void;
  putIdle(connection: UpstreamConnection): void;
  forget(connection: UpstreamConnection): void;
}

export interface UpstreamUser {
  onConnected(): void;
  onInstanceRoom(): void;
  /** Closed or failed before the reply was over. */
  onLost(reason: string): void;
  reader: ReplyReader;
}

/** While so much comes at once, and so much is still to come, a connection reads into a buffer of its own; an idle connection has none. */
const largeBytes = 16 * 1024;
/** Up to this size, reading a reply as text is cheaper than views and searches of bytes. */
const textBytesMax = 8 * 1024;

export class UpstreamConnection {
  readonly socket: Socket;
  readonly out: Outgoing;
  /** In milliseconds of the monotonic clock. */
  readonly openedAt = performance.now();
  /** How many requests it has carried before this one. */
  timesUsed = 0;
  /** Whether anything came since the request was sent. */
  hasReceived = false;
  /** The queue of the instance's Unix socket is full; with TCP the kernel would wait by itself. */
  isCrowded = false;
  user: UpstreamUser | undefined;
  #usableUntil = 0;
  #idleSince = 0;
  #problem = '';
  #hasEnded = false;
  #own: Buffer | undefined;
  /** What was read last is on its way out in `#own`. */
  #isOwnKept = false;
  #lastBytes = 0;
  /** Undefined until it is connected. */
  #reading: SocketReading | undefined;
  #reader: Reader | undefined;
  readonly #keeper: ConnectionKeeper;
  readonly #limits: EdgeLimits;

  constructor(keeper: ConnectionKeeper, limits: EdgeLimits, turns: ReadingTurns) {
    this.#keeper = keeper;
    this.#limits = limits;
    this.socket = this.#open();
    this.out = new Outgoing(this.socket, () => this.user?.onInstanceRoom());
    const event = keeper.secure?.isTls ? 'secureConnect' : 'connect';
    this.socket.once(event, () => this.#onConnected(turns));
    this.socket.on('end', () => this.#onEnd());
    this.socket.on('error', (error) => {
      this.#problem = error.message;
      this.isCrowded = 'code' in error && error.code === 'EAGAIN';
    });
    this.socket.on('close', () => this.#onClose());
  }

  #open(): Socket {
    const { address, secure } = this.#keeper;
    const onread = { buffer: () => this.#bufferToReadInto(), callback: (count: number, buffer: Uint8Array) => this.#onRead(count, buffer) };
    if ('socket' in address) return connectToSocketAt(address.socket, onread);
    if (!secure) return connect({ ...address, noDelay: true, onread });
    if (!secure.isTls) return connect({ ...address, noDelay: true, lookup: secure.lookup, onread });
    const socket = connectSecurely({ ...address, lookup: secure.lookup, servername: address.host, ALPNProtocols: ['http/1.1'] });
    socket.on('data', (chunk: Buffer) => {
      this.#reader?.onRead();
      this.#receive(chunk);
    });
    return socket;
  }

  #onConnected(turns: ReadingTurns) {
    this.#reading = new SocketReading(this.socket);
    this.#reader = new Reader(turns, this.#reading);
    this.#reader.belongTo(this.#keeper.cluster);
    this.user?.onConnected();
  }

  isUsable(now: number, idleMsMax: number) {
    return !this.socket.destroyed && now < this.#usableUntil && now - this.#idleSince < idleMsMax;
  }

  /** After a reply that was whole. `keepSeconds` is what the application announced. */
  release(keepSeconds: number | undefined) {
    this.user = undefined;
    this.timesUsed++;
    this.hasReceived = false;
    this.#dropOwn();
    if (this.socket.destroyed || this.#hasEnded) return this.destroy();
    this.#idleSince = performance.now();
    const seconds = Number.isFinite(keepSeconds)
      ? Math.min(this.#limits.idleConnectionSeconds, (keepSeconds ?? 0) - 1)
      : this.#limits.idleConnectionSeconds;
    this.#usableUntil = Math.min(this.#idleSince + seconds * 1000, this.openedAt + this.#limits.connectionSeconds * 1000);
    if (this.#idleSince >= this.#usableUntil) return this.destroy();
    this.resume();
    this.#keeper.putIdle(this);
  }

  pause() {
    this.#reading?.pause();
  }

  resume() {
    this.#reading?.resume();
  }

  destroy() {
    this.user = undefined;
    this.#dropOwn();
    this.socket.destroy();
  }

  /** The buffer that holds these bytes, if whoever got them may keep it until they are sent. */
  keepBuffer(): Buffer | undefined {
    if (!this.#own || this.#isOwnKept) return undefined;
    this.#isOwnKept = true;
    return this.#own;
  }

  #bufferToReadInto(): Buffer {
    const isLarge = this.#lastBytes > largeBytes && (this.user?.reader.bytesLeft ?? 0) > largeBytes;
    if (this.#isOwnKept) {
      this.#isOwnKept = false;
      this.#own = undefined;
    }
    if (!isLarge) {
      this.#dropOwn();
      return scratch;
    }
    return (this.#own ??= borrowBuffer());
  }

  #dropOwn() {
    if (this.#own && !this.#isOwnKept) giveBack(this.#own);
    this.#own = undefined;
    this.#isOwnKept = false;
  }

  #onRead(count: number, buffer: Uint8Array): boolean {
    this.#reader?.onRead();
    this.#lastBytes = count;
    const reader = this.user?.reader;
    if (count <= textBytesMax && buffer === scratch && reader?.takesText && reader.readText) {
      this.#hear();
      reader.readText(scratch.toString('latin1', 0, count));
    } else this.#receive(Buffer.from(buffer.buffer, buffer.byteOffset, count));
    return true;
  }

  #receive(bytes: Buffer) {
    // Nothing was asked on this connection, so what comes answers nothing.
    if (!this.user) return this.destroy();
    this.#hear();
    this.user.reader.read(bytes);
  }

  #hear() {
    if (!this.hasReceived && this.timesUsed === 0) this.#keeper.heard(this);
    this.hasReceived = true;
  }

  #onEnd() {
    this.#hasEnded = true;
    const { user } = this;
    if (!user) return this.destroy();
    if (!user.reader.end()) this.#lose('the instance closed the connection');
  }

  #onClose() {
    this.#reader?.close();
    this.#keeper.forget(this);
    this.#lose(this.#problem || 'the connection was closed');
  }

  #lose(reason: string) {
    const { user } = this;
    this.destroy();
    user?.onLost(reason);
  }
}
