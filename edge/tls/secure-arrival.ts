/** A connection whose client has still to finish the handshake. It has a place like any other, and a bound to its time. */
import type { Socket } from 'node:net';
import type { Occupant } from '../client/acceptor.ts';

export class SecureArrival implements Occupant {
  readonly #socket: Socket;
  readonly #deadline: number;

  constructor(socket: Socket, secondsMax: number, onGone: (arrival: SecureArrival) => void) {
    this.#socket = socket;
    this.#deadline = performance.now() + secondsMax * 1000;
    socket.on('error', () => socket.destroy());
    socket.once('close', () => onGone(this));
  }

  /** The connection is closed without a word: before the handshake is done, nothing can be said to the client. */
  giveWay() {
    this.destroy();
  }

  tick(now: number) {
    if (now > this.#deadline) this.destroy();
  }

  closeIfIdle() {
    this.destroy();
  }

  destroy() {
    this.#socket.destroy();
  }
}
