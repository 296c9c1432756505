/** What connections of every kind have in common with whoever accepts them. */
import type { TrustedProxies } from './client-identity.ts';
import type { EdgeLimits } from '../limits.ts';
import type { ReadingTurns } from './reading-turns.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { Visit } from './visit.ts';

/** Who has a place of a client's: a connection, or what is to become one. */
export interface Occupant {
  /** For a newer connection of the same address: this one has never asked for anything. */
  giveWay(): void;
  /** Milliseconds of `performance.now()`. */
  tick(now: number): void;
  /** Where nothing is asked, nothing is lost. */
  closeIfIdle(): void;
  destroy(): void;
}

/** Whoever accepted a connection: it serves what is asked there, and hears what becomes of it. */
export interface Acceptor {
  readonly limits: EdgeLimits;
  readonly readingTurns: ReadingTurns;
  readonly proxies: TrustedProxies;
  /** No connection stays open after the reply that is under way. */
  readonly isClosing: boolean;
  /** The first request on it has arrived. */
  onAsked(occupant: Occupant): void;
  serve(visit: Visit): void;
  onVisitOver(visit: Visit, record: RequestRecord): void;
  onClosed(occupant: Occupant): void;
}
