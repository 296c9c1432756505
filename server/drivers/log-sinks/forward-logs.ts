/**
 * Sends the lines of an environment's logs to a sink, as they come: each log in its order, each line at least once, also over a kill of this process.
 * One batch is under way at a time, and nothing is read ahead of it, so a slow sink slows nothing but itself. While it is down lines wait where they
 * are, in the logs, and nothing of them is kept in memory; what the logs are too short for is lost, and that is counted, told to the owner and said in its
 * place among the lines.
 *
 * The first time it begins with what comes, unless it is told to begin with what is there; a log that appears later is sent from its beginning.
 */
import { limit } from '../../kernel/limits.ts';
import { listLogs, logFile } from '../logs/log-folders.ts';
import { collectBatch, commitBatch, type Batch, type Followed } from './collect-batch.ts';
import { delivery, type DeliveryEvent, type DeliveryOptions, type Later, type TakenLines } from './deliver.ts';
import { followServices, type Following } from './follow-services.ts';
import type { LogRecord, RecordContext } from './log-record.ts';
import type { LogSink } from './log-sink.ts';
import { beginning, endOfTail, type TailPosition } from './log-tail.ts';
import { openPositions, type Positions } from './positions.ts';
import { redacted } from './redact.ts';

export interface ForwardingOptions {
  /** The folder of the environment's logs. */
  logs: string;
  /** The file that keeps how far they were sent. */
  positions: string;
  sink: LogSink;
  context: RecordContext;
  /** Apps and workers whose lines are not sent. */
  excludedServices: readonly string[];
  /** Whether lines are rid of what tells who somebody is. */
  isRedacted: boolean;
  /** Whether lines that are there the first time are sent, too. */
  isFromBeginning?: boolean;
  tell(event: ForwardingEvent): void;
  firstPauseSeconds?: number;
  onSent?(records: number): void;
  /** Does the work when there is room for one more batch, in memory and under way, among all that are forwarded. */
  place?: Place;
}

export type Place = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export type ForwardingEvent = DeliveryEvent | { is: 'lost'; log: string; bytes: number };

export interface Forwarding {
  /** Since it was opened. */
  readonly progress: Readonly<Progress>;
  /** Settles when nothing is under way; what was not acknowledged is sent again next time. */
  close(): Promise<void>;
}

export interface Progress {
  sentRecords: number;
  refusedRecords: number;
  /** At least so much. */
  lostBytes: number;
  /** Why lines wait, if they do. */
  trouble: string | undefined;
}

const usualFirstPauseSeconds = 1;
/** A sink that is just taking a batch may say so, or the batch would be sent again next time. */
const lastBatchMilliseconds = 2000;

export async function forwardLogs(options: ForwardingOptions): Promise<Forwarding> {
  const { logs, positions: file, isFromBeginning = false } = options;
  const positions = await openPositions(file, async () => (isFromBeginning ? new Map() : endsOf(logs)));
  const [ending, cutting] = [new AbortController(), new AbortController()];
  const progress: Progress = { sentRecords: 0, refusedRecords: 0, lostBytes: 0, trouble: undefined };
  const tell = (event: ForwardingEvent) => {
    noteIn(progress, event);
    options.tell(event);
  };
  const sendNext = sending({ ...options, tell }, positions, progress, { signal: ending.signal, cut: cutting.signal });
  const services = followServices({ logs, excluded: new Set(options.excludedServices), positions, sendNext });
  const end = async () => {
    ending.abort();
    const timer = setTimeout(() => cutting.abort(), lastBatchMilliseconds).unref();
    await services.close();
    clearTimeout(timer);
    await positions.save();
  };
  let ended: Promise<void> | undefined;
  // Whoever closes it twice must not write down again how far it had come: another may have gone on from there.
  return { progress, close: () => (ended ??= end()) };
}

/** Sends what is new in the logs of one service, as much as goes at once. Only the batch that is being sent is in memory. */
function sending(
  options: ForwardingOptions,
  positions: Positions,
  progress: Progress,
  ends: Pick<DeliveryOptions, 'signal' | 'cut'>,
): Following['sendNext'] {
  const { signal } = ends;
  const { tell, isRedacted, firstPauseSeconds = usualFirstPauseSeconds, place = (work) => work() } = options;
  const { attempt, pause } = delivery({ ...options, ...ends, firstPauseSeconds });
  const oneAtATime = limit(1);

  const sendBatch = async (batch: Batch) => {
    const records = isRedacted ? batch.records.map(withoutPersons) : batch.records;
    const taken = records.length === 0 ? nothingTaken : await attempt(records);
    if (taken.is === 'later') return taken;
    progress.sentRecords += taken.records;
    options.onSent?.(taken.records);
    positions.count(taken.bytes);
    for (const { log, bytes } of batch.lost) tell({ is: 'lost', log, bytes });
    return commitBatch(batch, positions).then(() => 'sent' as const, notWrittenDown);
  };
  const sendOnce = (followed: Followed) =>
    place(async () => {
      const batch = await collectBatch(followed, positions).catch(() => undefined);
      return batch ? sendBatch(batch) : 'nothing';
    }, signal);
  const sendUntilTaken = async (followed: Followed): Promise<boolean> => {
    for (;;) {
      signal.throwIfAborted();
      const outcome = await sendOnce(followed);
      if (typeof outcome === 'string') return outcome === 'sent';
      await pause(outcome);
    }
  };
  return (followed) =>
    oneAtATime(() => sendUntilTaken(followed)).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return false;
    });
}

/** The lines were sent, and this process goes on after them. Until it can be written down how far, a kill would have them sent again. */
const notWrittenDown = (error: unknown): Later => ({
  is: 'later',
  why: `How far lines were sent cannot be written down: ${String(error)}`,
  about: 'address',
});

function noteIn(progress: Progress, event: ForwardingEvent) {
  if (event.is === 'trouble') progress.trouble = event.why;
  else if (event.is === 'recovered') progress.trouble = undefined;
  else if (event.is === 'refused') progress.refusedRecords += event.records;
  else progress.lostBytes += event.bytes;
}

const nothingTaken: TakenLines = { is: 'taken', records: 0, bytes: 0 };

const withoutPersons = (record: LogRecord): LogRecord => ({ ...record, message: redacted(record.message) });

async function endsOf(logs: string): Promise<Map<string, TailPosition>> {
  const ends = new Map<string, TailPosition>();
  for (const { app, name } of await listLogs(logs)) {
    const end = await endOfTail(logFile(logs, app, name), beginning);
    if (end) ends.set(`${app}/${name}`, end);
  }
  return ends;
}
