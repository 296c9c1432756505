/**
 * The writing half of a socket. What is written while events are being handled goes out together when all of them have been: the other sides then
 * wake once for many messages, which halves what a small request costs. Pieces for one socket leave in one system call.
 */
import type { Socket } from 'node:net';
import { giveBack } from './buffers.ts';
import { writeNow } from './write-now.ts';

/** Past this, whoever writes is asked to wait. */
export const unsentBytesMax = 256 * 1024;

export interface Sender {
  send(): void;
}

let due: Sender[] = [];

function sendAll() {
  const now = due;
  due = [];
  for (const sender of now) sender.send();
}

/** Has it send when all events have been handled. */
export function sendWithOthers(sender: Sender) {
  if (due.length === 0) setImmediate(sendAll);
  due.push(sender);
}

export class Outgoing {
  readonly socket: Socket;
  /** How many bytes were handed to `write` so far. */
  bytes = 0;
  /** What is unsent, as long as it is text alone; else it is in `#pieces`. */
  #text = '';
  #pieces: (string | Buffer)[] = [];
  #lent: Buffer[] = [];
  #unsentBytes = 0;
  /** How many bytes of text are under way: nothing else is written until they are sent. */
  #laterBytes = 0;
  /** How many bytes were with the socket when `hasMoved` was asked last. */
  #bytesSeen = 0;
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
    if (typeof piece === 'string' && this.#pieces.length === 0) this.#text += piece;
    else this.#addPiece(piece);
    this.bytes += piece.length;
    this.#unsentBytes += piece.length;
    this.#becomeDue();
    if (this.#unsentBytes + this.bytesInSocket < unsentBytesMax) return true;
    this.#isFull = true;
    return false;
  }

  #addPiece(piece: string | Buffer) {
    const pieces = this.#pieces;
    if (this.#text !== '') pieces.push(this.#text);
    this.#text = '';
    const last = pieces.length - 1;
    const before = pieces[last];
    if (typeof piece === 'string' && typeof before === 'string') pieces[last] = before + piece;
    else pieces.push(piece);
  }

  /** Handed to the socket, and not yet taken by the kernel. */
  get bytesInSocket() {
    return this.#laterBytes + this.socket.writableLength;
  }

  /** Whether something is still to be taken by the kernel. */
  get hasUnsent() {
    return this.#unsentBytes + this.bytesInSocket > 0;
  }

  /** Whether the socket has sent some of its bytes since this was asked last. */
  hasMoved(): boolean {
    const before = this.#bytesSeen;
    this.#bytesSeen = this.bytesInSocket;
    return this.#bytesSeen > 0 && this.#bytesSeen !== before;
  }

  /** `piece` is a part of `buffer`, which is given back when it is sent. */
  writeLent(piece: Buffer, buffer: Buffer): boolean {
    this.#lent.push(buffer);
    return this.write(piece);
  }

  /** Ends the socket after all that was written. */
  end() {
    this.#isEnding = true;
    this.#becomeDue();
  }

  send() {
    this.#isDue = false;
    const { socket } = this;
    if (this.#laterBytes > 0) return;
    const text = this.#text;
    this.#text = '';
    if (socket.destroyed) {
      this.#pieces = [];
      return;
    }
    if (text !== '') this.#sendText(text);
    else if (this.#pieces.length > 0) this.#sendPieces();
    this.#unsentBytes = 0;
    if (this.#laterBytes > 0) return;
    if (this.#isEnding && !socket.writableEnded) socket.end();
    else if (this.#isFull) this.#tellRoom();
  }

  #sendText(text: string) {
    const written = writeNow(this.socket, text, this.#onSent);
    if (written === 'under-way') this.#laterBytes = text.length;
    else if (written === 'refused') this.socket.write(text, 'latin1');
  }

  readonly #onSent = () => {
    this.#laterBytes = 0;
    if (this.socket.destroyed) return;
    if (this.#unsentBytes > 0 || this.#isEnding) this.send();
    this.#tellRoom();
  };

  #sendPieces() {
    const pieces = this.#pieces;
    const lent = this.#lent;
    this.#pieces = [];
    this.#lent = [];
    const last = pieces.pop();
    if (pieces.length === 0 && lent.length === 0 && last !== undefined) return void this.socket.write(last, 'latin1');
    this.socket.cork();
    for (const piece of pieces) this.socket.write(piece, 'latin1');
    // The callback also comes after a failure; the buffers of a socket that was destroyed under a write are left to the garbage collector.
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
    sendWithOthers(this);
  }

  #tellRoom() {
    if (!this.#isFull || this.#unsentBytes + this.bytesInSocket >= unsentBytesMax) return;
    this.#isFull = false;
    this.#onRoom();
  }
}
