/**
 * Brings a batch to a sink. A sink that takes nothing now is asked again after a pause, which grows; the batch is forgotten meanwhile and read again, so that sinks
 * that are down cost no memory. What was too large goes in smaller parts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf, type LogRecord, type RecordContext } from './log-record.ts';
import type { Answer, LogSink } from './log-sink.ts';

/** What the owner of a sink wants to know. */
export type DeliveryEvent =
  /** Lines wait; told once, until it has recovered. */
  | { is: 'trouble'; why: string }
  | { is: 'recovered' }
  /** The sink will never take these. */
  | { is: 'refused'; records: number; why: string };

export interface DeliveryOptions {
  sink: LogSink;
  context: RecordContext;
  /** Ends pauses, and keeps further attempts from being made. */
  signal: AbortSignal;
  /** Ends what is under way, too, a moment later. */
  cut: AbortSignal;
  tell(event: DeliveryEvent): void;
  /** The pause after the first failure, which doubles with each further one. */
  firstPauseSeconds: number;
}

export type Later = Extract<Answer, { is: 'later' }>;

/** What the sink took: so many records, and so many bytes of lines. Of a batch of which it took a part, nobody knows which, so bytes are those of an average line. */
export interface TakenLines {
  is: 'taken';
  records: number;
  bytes: number;
}

export interface Delivery {
  /** Answers what the sink took, or that it takes nothing now. Throws when the signal is aborted. */
  attempt(records: readonly LogRecord[]): Promise<TakenLines | Later>;
  /** Until the next attempt is worth it. Throws when the signal is aborted. */
  pause(answer: Later): Promise<void>;
}

const pauseSecondsMax = 60;
const askedSecondsMax = 300;

export function delivery({ sink, context, signal, cut, tell, firstPauseSeconds }: DeliveryOptions): Delivery {
  let failures = 0;
  const pause = async ({ why, waitSeconds }: Later) => {
    if (failures === 0) tell({ is: 'trouble', why });
    const usual = Math.min(firstPauseSeconds * 2 ** failures, pauseSecondsMax);
    failures += 1;
    // Spread out, so that not everybody comes back in the same moment.
    const seconds = waitSeconds === undefined ? usual * (0.75 + Math.random() / 2) : Math.min(waitSeconds, askedSecondsMax);
    await sleep(seconds * 1000, undefined, { signal, ref: false });
  };
  const answered = () => {
    if (failures > 0) tell({ is: 'recovered' });
    failures = 0;
  };
  const refuse = (records: number, why: string) => {
    if (records > 0) tell({ is: 'refused', records, why });
  };

  const attempt: Delivery['attempt'] = async (records) => {
    signal.throwIfAborted();
    const answer = await sink.send(records, context, cut);
    cut.throwIfAborted();
    if (answer.is === 'later') return answer;
    answered();
    if (answer.is === 'too-large' && records.length > 1) {
      const half = Math.ceil(records.length / 2);
      return both(await insist(records.slice(0, half)), await insist(records.slice(half)));
    }
    const refused = answer.is === 'taken' ? Math.min(answer.refused ?? 0, records.length) : records.length;
    refuse(refused, answer.why ?? '');
    return taken(records, records.length - refused);
  };
  /** A part is kept until the sink has it: reading the batch again would send the other part again, too, perhaps for ever. */
  const insist = async (records: readonly LogRecord[]): Promise<TakenLines> => {
    for (;;) {
      const answer = await attempt(records);
      if (answer.is === 'taken') return answer;
      await pause(answer);
    }
  };
  return { attempt, pause };
}

const taken = (all: readonly LogRecord[], records: number): TakenLines => ({
  is: 'taken',
  records,
  bytes: records === 0 ? 0 : Math.round((bytesOf(all) * records) / all.length),
});

const both = (one: TakenLines, other: TakenLines): TakenLines => ({
  is: 'taken',
  records: one.records + other.records,
  bytes: one.bytes + other.bytes,
});
