/**
 * Fair turns (turns.ts) for connections that were taken over, such as WebSockets. Each piece that either side says takes of the environment's share. When
 * that is spent, the system is told to read from none of the environment's tunnels: what arrives waits in the kernel and takes no time of others, be it of
 * thousands at once. They are then read from again a few at a time, in order. Each side also waits for room at the other one.
 */
import type { Turns } from './turns.ts';

type Wait = 'room' | 'turn';

/** Whoever is read from: a client or an instance. */
interface Source {
  pause(): void;
  resume(): void;
}

/** One of the two that talk through a tunnel. */
export class TunnelSide {
  readonly cluster: string;
  isOver = false;
  /** The turn in which it may say a piece that is counted already. */
  countedTurn: number | undefined;
  readonly #turns: TunnelTurns;
  readonly #source: Source;
  readonly #waits = new Set<Wait>();

  constructor(turns: TunnelTurns, cluster: string, source: Source) {
    this.#turns = turns;
    this.cluster = cluster;
    this.#source = source;
    turns.join(this);
  }

  /** For each piece that was passed on. */
  onPiece(hasRoom: boolean) {
    if (!hasRoom) this.waitFor('room');
    this.#turns.count(this);
  }

  waitFor(wait: Wait) {
    this.#waits.add(wait);
    if (this.#waits.size === 1) this.#source.pause();
  }

  /** It is read from again once there is nothing else to wait for. */
  goOnWithout(wait: Wait) {
    if (this.#waits.delete(wait) && this.#waits.size === 0) this.#source.resume();
  }

  close() {
    this.isOver = true;
    this.#turns.leave(this);
  }
}

export class TunnelTurns {
  readonly #turns: Turns;
  /** By cluster, those that do not wait for a turn. */
  readonly #joined = new Map<string, Set<TunnelSide>>();

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  join(side: TunnelSide) {
    const sides = this.#joined.get(side.cluster) ?? new Set();
    this.#joined.set(side.cluster, sides.add(side));
  }

  leave(side: TunnelSide) {
    const sides = this.#joined.get(side.cluster);
    if (sides?.delete(side) && sides.size === 0) this.#joined.delete(side.cluster);
  }

  count(side: TunnelSide) {
    const isCounted = side.countedTurn === this.#turns.number;
    side.countedTurn = undefined;
    if (!isCounted && !this.#turns.mayStart(side.cluster, 'piece')) this.#haveAllWait(side.cluster);
  }

  #haveAllWait(cluster: string) {
    const sides = this.#joined.get(cluster) ?? [];
    this.#joined.delete(cluster);
    for (const side of sides) {
      side.waitFor('turn');
      this.#turns.wait(cluster, 'piece', () => this.#goOn(side));
    }
  }

  #goOn(side: TunnelSide) {
    if (side.isOver) return;
    this.join(side);
    side.countedTurn = this.#turns.number;
    side.goOnWithout('turn');
  }
}
