/**
 * What takes the lines of logs, seen from here. A sink is asked with one batch at a time, and says what became of it; trying again is not its concern
 * (deliver.ts). It knows neither where lines come from nor how far they have come.
 */
import { OutboundFault } from '../outbound/faults.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { LogRecord, RecordContext } from './log-record.ts';

export interface LogSink {
  /** Never throws for what the other side does. An aborted signal ends it, with any answer. */
  send(records: readonly LogRecord[], context: RecordContext, signal: AbortSignal): Promise<Answer>;
}

/** What an answer is about, so that the owner is shown which setting to look at. */
export type Concern = 'address' | 'credential' | 'certificate' | 'index';

/** What became of a batch. `why` is for its owner, and holds no secret. */
export type Answer =
  /** The sink has it; so many of its records it did not want. */
  | { is: 'taken'; refused?: number; why?: string }
  /** It may take it another time. `waitSeconds` is what the sink asked for. */
  | { is: 'later'; why: string; about: Concern; waitSeconds?: number }
  /** It may take it in smaller parts. */
  | { is: 'too-large'; why: string }
  /** It will never take it. */
  | { is: 'refused'; why: string };

/** The way out, with its checks. */
export type SinkNetwork = Outbound;

/** What it means that nothing came back. */
export const unanswered = (error: unknown): Extract<Answer, { is: 'later' }> => ({
  is: 'later',
  why: error instanceof Error ? error.message : String(error),
  about: error instanceof OutboundFault && error.reason === 'untrusted' ? 'certificate' : 'address',
});
