/**
 * Sends what waits in a lane, one after the other, and stores what became of it. What was sent and not yet stored when the process is killed is sent again, so a
 * receiver gets everything at least once, in order; each delivery has an id by which it can tell.
 */
import type { DeliveryKind, Sent } from '../../kernel/delivery.ts';
import { countDelivery } from '../../kernel/own-instruments.ts';
import type { Platform } from '../../platform.ts';
import { advanceLane, finishDeliveries, nextWaiting, storeAttempts, type Attempt, type Lane, type Waiting } from './lanes.ts';
import { purposeOf } from './record-delivery.ts';

export interface Sender {
  platform: Platform;
  kinds: ReadonlyMap<string, DeliveryKind>;
  holder: string;
}

/** What is read at once; a lane that has more reads again. */
const batchMax = { deliveries: 200, bytes: 1024 * 1024 };
/** What was sent is stored at least this often, so that a kill repeats little. */
const storeMilliseconds = 200;
/** No attempt takes longer, whatever its kind does. */
const attemptSecondsMax = 60;
/** A receiver that fails for so long gets nothing any more that was meant for it before. */
export const giveUpSeconds = 24 * 60 * 60;
const pauseSeconds = { first: 5, factor: 4, max: 60 * 60 };

/** Returns when nothing is left, when the receiver has to be left alone for a while, or when the signal is aborted. Throws LaneLost. */
export async function sendLane(sender: Sender, lane: Lane, signal: AbortSignal): Promise<void> {
  let { head, failures } = lane;
  for (let isBehind = true; isBehind && !signal.aborted;) {
    const batch = await nextWaiting(sender.platform.db, lane.order_key, batchMax);
    // What waited went with its project, or there never was more.
    if (batch.length === 0) return store(sender, { ...lane, head: later(head, after(lane.tail)), failures: 0 }, [], []);
    const attempts = await attemptInOrder(sender, batch, signal);
    const last = attempts.at(-1);
    if (!last) return;
    const isFailing = last.outcome === 'failed';
    failures = isFailing ? failures + 1 : 0;
    head = headAfter(
      head,
      attempts.filter(({ ends }) => ends !== undefined).map(({ waiting }) => waiting),
    );
    const now = { ...lane, head, failures };
    await store(sender, now, attempts, []);
    if (isFailing && last.ends === 'failed') await giveUpTooOld(sender, now, signal);
    isBehind = !isFailing && BigInt(head) <= BigInt(lane.tail);
  }
}

/** Those behind one that was given up would have to wait for as long, for the same receiver. */
async function giveUpTooOld(sender: Sender, lane: Lane, signal: AbortSignal): Promise<void> {
  for (let { head } = lane; !signal.aborted;) {
    const tooOld = beginning(await nextWaiting(sender.platform.db, lane.order_key, batchMax), isTooOld);
    if (tooOld.length === 0) return;
    head = headAfter(head, tooOld);
    await store(sender, { ...lane, head }, [], tooOld);
  }
}

const headAfter = (head: string, ended: readonly Waiting[]) =>
  ended.reduce((furthest, { position }) => later(furthest, after(position)), head);
const after = (position: string) => String(BigInt(position) + 1n);
const later = (one: string, other: string) => (BigInt(one) > BigInt(other) ? one : other);
const isTooOld = ({ ageSeconds }: Waiting) => ageSeconds > giveUpSeconds;

function beginning<T>(list: readonly T[], belongs: (one: T) => boolean): T[] {
  const end = list.findIndex((one) => !belongs(one));
  return list.slice(0, end === -1 ? list.length : end);
}

/** Until one fails and has to wait, or it is time to store. */
async function attemptInOrder(sender: Sender, batch: readonly Waiting[], signal: AbortSignal): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const begun = performance.now();
  const readings: Readings = new Map();
  for (const waiting of batch) {
    const attempt = await attemptOne(sender, waiting, readings, signal);
    if (attempt) attempts.push(attempt);
    if (attempt?.outcome === 'failed' || signal.aborted || performance.now() - begun > storeMilliseconds) break;
  }
  return attempts;
}

/** Undefined where it was interrupted because this process ends, which says nothing about the receiver. */
async function attemptOne(sender: Sender, waiting: Waiting, readings: Readings, signal: AbortSignal): Promise<Attempt | undefined> {
  const [begunAt, begun, number] = [new Date(), performance.now(), waiting.attempts + 1];
  const sent = await sendOne(sender, waiting, number, readings, signal);
  if (signal.aborted && sent.outcome === 'failed') return undefined;
  const ends = sent.outcome === 'delivered' ? 'delivered' : sent.outcome === 'refused' || isTooOld(waiting) ? 'failed' : undefined;
  return { ...sent, waiting, number, begunAt, milliseconds: performance.now() - begun, ends };
}

/** What deliveries of each kind had to know, of those that are sent together; a lane leads to one receiver, so it is the same for all of a kind. */
type Readings = Map<string, Promise<unknown>>;

async function sendOne(
  { platform, kinds }: Sender,
  waiting: Waiting,
  attempt: number,
  readings: Readings,
  stop: AbortSignal,
): Promise<Sent> {
  const { id, kind } = waiting;
  const readOnce = <T>(read: () => Promise<T>): Promise<T> => {
    const reading = (readings.get(kind) as Promise<T> | undefined) ?? read();
    readings.set(kind, reading);
    return reading;
  };
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), attemptSecondsMax * 1000);
  const signal = AbortSignal.any([stop, limit.signal]);
  try {
    const found = kinds.get(kind);
    if (!found) throw new Error(`No room sends deliveries of the kind ${kind}`);
    return await Promise.race([found.send(platform, payloadOf(platform, waiting), { id, attempt, signal, readOnce }), whenAborted(signal)]);
  } catch (error) {
    if (limit.signal.aborted) return { outcome: 'failed', trouble: `There was no answer within ${attemptSecondsMax} seconds.` };
    if (!stop.aborted) platform.log.error({ err: error, delivery: id, kind }, 'a delivery could not be attempted; it is tried again');
    return { outcome: 'failed', trouble: 'The platform failed to send it.' };
  } finally {
    clearTimeout(timer);
  }
}

const whenAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

const payloadOf = ({ secrets }: Platform, { id, kind, payload_sealed }: Waiting): unknown =>
  JSON.parse(secrets.open(purposeOf(kind, id), payload_sealed ?? ''));

/** All of it or, where somebody else has the lane by now, nothing. */
async function store(sender: Sender, lane: Lane, attempts: readonly Attempt[], givenUp: readonly Waiting[]): Promise<void> {
  const { platform, kinds, holder } = sender;
  const forgets = (kind: string) => kinds.get(kind)?.forgetsPayload === true;
  const failed = [...attempts.filter(({ ends }) => ends === 'failed').map(({ waiting }) => waiting), ...givenUp];
  await platform.db.transaction().execute(async (tx) => {
    await advanceLane(tx, holder, lane, pauseOf(lane.failures, attempts.at(-1)?.retryAfterSeconds));
    await storeAttempts(tx, attempts, forgets);
    await finishDeliveries(tx, givenUp, 'failed', forgets);
    for (const waiting of failed) await kinds.get(waiting.kind)?.onFailed?.(tx, payloadOf(platform, waiting));
  });
  for (const { ends, waiting } of attempts) if (ends) countDelivery(platform, waiting.kind, ends);
  for (const { kind } of givenUp) countDelivery(platform, kind, 'failed');
}

/** How long a receiver is left alone that has failed so often in a row; it may say itself how long, within bounds. */
export function pauseOf(failures: number, asked = 0): number {
  if (failures === 0) return 0;
  return Math.min(Math.max(pauseSeconds.first * pauseSeconds.factor ** (failures - 1), asked), pauseSeconds.max);
}
