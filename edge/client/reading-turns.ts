/**
 * Fair turns (turns.ts) in being read from. Whatever is read takes of a share: of the environment that it is for, or of the client's address as long as
 * nobody knows what that will ask for. When the share is spent, the system is told to read from no socket of that owner: what arrives waits in the kernel
 * and takes no time of others, be it on thousands at once. They are then read from again a few at a time, in order.
 */
import { Turns, type Shares } from './turns.ts';

/** In pieces, each of which is what the system reads at once. */
const shares: Shares = { alone: 128, amongOthers: 16 };

export interface Source {
  awaitTurn(): void;
  takeTurn(): void;
}

/** A socket that is read from, and the owner whose share that takes of. */
export class Reader {
  readonly #turns: ReadingTurns;
  readonly #source: Source;
  #isOver = false;
  owner: string | undefined;
  isWaiting = false;
  /** The turn in which one read of it is already counted. */
  countedTurn: number | undefined;

  constructor(turns: ReadingTurns, source: Source) {
    this.#turns = turns;
    this.#source = source;
  }

  belongTo(owner: string) {
    if (owner === this.owner || this.#isOver) return;
    this.#turns.leave(this);
    this.owner = owner;
    if (!this.isWaiting) this.#turns.join(this, owner);
  }

  /** Each time that something was read. */
  onRead() {
    if (this.owner !== undefined) this.#turns.count(this, this.owner);
  }

  awaitTurn() {
    this.isWaiting = true;
    this.#source.awaitTurn();
  }

  takeTurn(turn: number) {
    this.isWaiting = false;
    if (this.owner === undefined) return;
    this.#turns.join(this, this.owner);
    this.countedTurn = turn;
    this.#source.takeTurn();
  }

  close() {
    this.#isOver = true;
    this.#turns.leave(this);
    this.owner = undefined;
  }
}

export class ReadingTurns {
  readonly #turns = new Turns(shares);
  /** The readers that do not wait for a turn, by owner. */
  readonly #joined = new Map<string, Set<Reader>>();

  join(reader: Reader, owner: string) {
    const readers = this.#joined.get(owner) ?? new Set();
    this.#joined.set(owner, readers.add(reader));
  }

  leave(reader: Reader) {
    const { owner } = reader;
    const readers = owner === undefined ? undefined : this.#joined.get(owner);
    if (owner === undefined || !readers?.delete(reader) || readers.size > 0) return;
    this.#joined.delete(owner);
    // Most clients ask for what others are asking for already: their address was an owner for one read, and must not count as a neighbour after it.
    this.#turns.forget(owner);
  }

  count(reader: Reader, owner: string) {
    const isCounted = reader.countedTurn === this.#turns.number;
    reader.countedTurn = undefined;
    if (!isCounted && !this.#turns.mayGo(owner)) this.#haveAllWait(owner);
  }

  #haveAllWait(owner: string) {
    const readers = this.#joined.get(owner) ?? [];
    this.#joined.delete(owner);
    for (const reader of readers) {
      reader.awaitTurn();
      this.#turns.wait(owner, () => reader.takeTurn(this.#turns.number));
    }
  }
}
