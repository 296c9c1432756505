/**
 * The writing half of a socket. What is written while events are being handled goes out together when all of them have been: the other sides then
 * wake once for many messages, which halves what a small request costs. Pieces for one socket leave in one system call.
 */
import type { Socket } from 'node:net';
import { giveBack } from './buffers.ts';
import { writeNow } from './write-now.ts';

/** Past this, whoever writes is asked to wait. */
export const unsentBytesMax = 256 * 1024;

let due: Outgoing[] = [];

function sendAll() {
  const now = due;
  due = [];
  for (const outgoing of now) outgoing.send();
}

export class Outgoing {
  readonly socket: Socket;
  /** Since the beginning, as handed to `write`. */
  bytes = 0;
  #pieces: (string | Buffer)[] = [];
  #lent: Buffer[] = [];
  #unsentBytes = 0;
  /** Of texts that the kernel did not take at once. */
  #laterBytes = 0;
  #isDue = false;
  #isEnding = false;
  #isFull = false;
  readonly #onRoom: () => void;

  /** `onRoom` is called when there is room again after `write` said that there is none. */
  constructor(socket: Socket, onRoom: () => void) {
    this.socket = socket;
    this.#onRoom = onRoom;
    socket.on('drain', () => this.#tellRoom());
  }

  /** A string is Latin-1. False: wait for `onRoom`. */
  write(piece: string | Buffer): boolean {
    const pieces = this.#pieces;
    const last = pieces.length - 1;
    const before = pieces[last];
    if (typeof piece === 'string' && typeof before === 'string') pieces[last] = before + piece;
    else pieces.push(piece);
    this.bytes += piece.length;
    this.#unsentBytes += piece.length;
    this.#becomeDue();
    if (this.#unsentBytes + this.bytesInSocket < unsentBytesMax) return true;
    this.#isFull = true;
    return false;
  }

  /** Handed to the socket, and not yet taken by the kernel. */
  get bytesInSocket() {
    return this.#laterBytes + this.socket.writableLength;
  }

  /** `piece` is a part of `buffer`, which is given back when it is sent. */
  writeLent(piece: Buffer, buffer: Buffer): boolean {
    this.#lent.push(buffer);
    return this.write(piece);
  }

  /** After what is written. */
  end() {
    this.#isEnding = true;
    this.#becomeDue();
  }

  send() {
    this.#isDue = false;
    const { socket } = this;
    const pieces = this.#pieces;
    const only = pieces[0];
    if (socket.destroyed) {
      this.#pieces = [];
      return;
    }
    if (pieces.length === 1 && this.#lent.length === 0 && only !== undefined) {
      pieces.length = 0;
      this.#sendOne(only);
    } else if (pieces.length > 0) this.#sendTogether();
    this.#unsentBytes = 0;
    if (this.#isEnding) socket.end();
    else if (this.#isFull) this.#tellRoom();
  }

  #sendOne(piece: string | Buffer) {
    const isSent = typeof piece === 'string' && writeNow(this.socket, piece, (rest) => this.#awaitRest(piece.length, rest));
    if (!isSent) this.socket.write(piece, 'latin1');
  }

  #awaitRest(bytes: number, rest: Promise<void>) {
    this.#laterBytes += bytes;
    void rest.then(() => {
      this.#laterBytes -= bytes;
      if (!this.socket.destroyed) this.#tellRoom();
    });
  }

  #sendTogether() {
    const pieces = this.#pieces;
    const lent = this.#lent;
    this.#pieces = [];
    this.#lent = [];
    this.socket.cork();
    const last = pieces.pop();
    for (const piece of pieces) this.socket.write(piece, 'latin1');
    // Also called when it failed; the buffers of a socket that was destroyed under a write are left to the garbage collector.
    if (last !== undefined) {
      this.socket.write(last, 'latin1', (error) => {
        if (!error) lent.forEach(giveBack);
      });
    }
    this.socket.uncork();
  }

  #becomeDue() {
    if (this.#isDue) return;
    this.#isDue = true;
    if (due.length === 0) setImmediate(sendAll);
    due.push(this);
  }

  #tellRoom() {
    if (!this.#isFull || this.#unsentBytes + this.bytesInSocket >= unsentBytesMax) return;
    this.#isFull = false;
    this.#onRoom();
  }
}
