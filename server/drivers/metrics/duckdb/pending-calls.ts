/** What a process has asked of the store, until it is answered. */
import { callBytesMax, frameOf } from './frames.ts';
import type { Call, CallName, Reply } from './protocol.ts';

/** Whatever kills the store each time is given up. */
const attemptsMax = 3;

export class NotStored extends Error {
  readonly isNoRoom: boolean;
  constructor(message: string, isNoRoom: boolean) {
    super(message);
    this.isNoRoom = isNoRoom;
  }
}

export type Answered = Exclude<Reply, { kind: 'ready' }>;

interface Pending {
  frame: Buffer;
  attempts: number;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class PendingCalls {
  readonly #calls = new Map<number, Pending>();
  #lastId = 0;

  get count() {
    return this.#calls.size;
  }

  /** Throws where it is too long to be said. */
  add(name: CallName, argument: Call['argument']): { id: number; answer: Promise<unknown> } {
    this.#lastId += 1;
    const id = this.#lastId;
    const frame = frameOf({ kind: 'call', id, name, argument } satisfies Call, callBytesMax);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.set(id, { frame, attempts: 0, resolve, reject });
    return { id, answer: promise };
  }

  /** What is to be said for it, once more. */
  attempt(id: number): Buffer {
    const call = this.#calls.get(id);
    if (!call) return Buffer.alloc(0);
    call.attempts += 1;
    return call.frame;
  }

  ids(): number[] {
    return [...this.#calls.keys()];
  }

  settle(reply: Answered) {
    const call = this.#calls.get(reply.id);
    this.#calls.delete(reply.id);
    if (reply.kind === 'answer') call?.resolve(reply.answer);
    else call?.reject(new NotStored(reply.message, reply.isNoRoom));
  }

  /** Of those that the store ended with, what was tried often enough. */
  giveUp() {
    this.#reject('The store ended each time that it was asked.', ({ attempts }) => attempts >= attemptsMax);
  }

  close() {
    this.#reject('The store is closed.', () => true);
  }

  #reject(message: string, isIt: (call: Pending) => boolean) {
    for (const [id, call] of this.#calls) {
      if (!isIt(call)) continue;
      this.#calls.delete(id);
      call.reject(new NotStored(message, false));
    }
  }
}
